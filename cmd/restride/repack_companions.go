package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/internal/file"
	"github.com/restride/restride/internal/quote"
)

// Beside its weights a model's folder has what else loaders read: tokenizers, templates, processors
// and code. These files come along to another folder.

// companionTypes are the extensions of such files.
var companionTypes = []string{".json", ".jinja", ".txt", ".model", ".tiktoken", ".py", ".spm", ".vocab", ".md"}

// maxCompanion is the largest of them.
const maxCompanion = 64 << 20

// companions lists the files of a folder, or beside an index, that come along: all but weights,
// indexes and configurations, which repack writes itself.
func companions(c *checkpoint.Checkpoint) (paths []string, err error) {
	folder := filepath.Dir(c.Files[0].Path)
	if info, err := os.Stat(c.Path); err != nil || !info.IsDir() && c.Index == "" {
		return nil, quote.Error(err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, quote.Error(err)
	}
	own := []string{"config.json", "hf_quant_config.json", "quantize_config.json", "quant_config.json"}
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") || slices.Contains(own, name) || strings.HasSuffix(name, ".index.json") || !slices.Contains(companionTypes, filepath.Ext(name)) {
			continue
		}
		path := filepath.Join(folder, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() <= maxCompanion {
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// bring copies the companions into the output's folder, each completely or not at all.
func (r *repack) bring() error {
	for _, path := range r.companions {
		if err := copyFile(filepath.Join(r.output, filepath.Base(path)), path); err != nil {
			return err
		}
	}
	return nil
}

// textOf reads a small file.
func textOf(path string) ([]byte, error) {
	f, err := file.Open(path, maxCompanion)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Content()
}

func copyFile(to, from string) error {
	text, err := textOf(from)
	if err != nil {
		return err
	}
	if have, err := textOf(to); err == nil && bytes.Equal(have, text) {
		return nil
	}
	out, err := file.NewPending(to)
	if err != nil {
		return err
	}
	defer out.Discard()
	if _, err := io.Copy(out, bytes.NewReader(text)); err != nil {
		return quote.Error(err)
	}
	return out.Commit()
}
