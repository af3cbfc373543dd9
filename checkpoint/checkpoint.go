package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

const (
	// indexSuffix is the suffix of an index, which maps tensors to files.
	indexSuffix = ".safetensors.index.json"
	// configName is the file beside the weights that describes the model.
	configName = "config.json"
	// maxFiles is the maximum number of files in one checkpoint.
	maxFiles = 10_000
)

// Checkpoint is a set of files that together hold a model's weights, or part of them.
type Checkpoint struct {
	Path    string // as passed to Open
	Files   []*File
	Tensors []*Tensor // of all files, with unique names
	// Index is the name of the index that lists the files; "": no index.
	Index string
	// Config is the config.json beside the files; nil: none. Numbers that only Python's json
	// writes, such as Infinity, are texts with a NUL before the word.
	Config json.RawMessage
	// Quantization is the file named QuantizationName beside the files, in which some
	// quantisers describe the weights apart from config.json; nil: none.
	Quantization     json.RawMessage
	QuantizationName string
	// Unlisted are the names of tensors that are in the files but not in their index. They
	// are not among Tensors.
	Unlisted []string

	// Missing are the names of pieces of a split safetensors file that are not there.
	Missing []string

	index  index
	byName map[string]*Tensor
}

// index maps tensors to files.
type index struct {
	files map[string]string // tensor to file
	names []string          // sorted names of the files
}

// quantizationNames are the files that describe quantised weights apart from config.json: of
// Model Optimizer, AutoGPTQ and AutoAWQ.
var quantizationNames = []string{"hf_quant_config.json", "quantize_config.json", "quant_config.json"}

// Open opens a file; all files that an index (NAME.safetensors.index.json) lists; all
// pieces of a split file (NAME-00001-of-00003.gguf or .safetensors, given any of them; beside
// an index, a piece alone); or the single one of these in a folder. Close closes the files.
func Open(path string) (*Checkpoint, error) {
	c := &Checkpoint{Path: path}
	main, err := c.find(path)
	if err == nil {
		err = c.open(main)
	}
	if err == nil {
		err = c.collect()
	}
	if err == nil {
		err = c.readConfigs(filepath.Dir(main))
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Close closes all files.
func (c *Checkpoint) Close() error {
	var all []error
	for _, f := range c.Files {
		all = append(all, f.Close())
	}
	return errors.Join(all...)
}

// Lookup returns the named tensor, or nil.
func (c *Checkpoint) Lookup(name string) *Tensor { return c.byName[name] }

// pieces matches the file names of a split file: of its name, the number of a piece and of
// all, and the extension.
var pieces = regexp.MustCompile(`^(.*[-_.])([0-9]+)-of-([0-9]+)(\.gguf|\.safetensors)$`)

// isFirst reports whether a file is not a later piece of a split file.
func isFirst(name string) bool {
	m := pieces.FindStringSubmatch(name)
	if m == nil {
		return true
	}
	n, err := strconv.Atoi(m[2])
	return err != nil || n == 1
}

// find returns the file to start with: path, or the one in the folder path.
func (c *Checkpoint) find(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", quote.Error(err)
	}
	if !info.IsDir() {
		return path, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return "", quote.Error(err)
	}
	var indexes, tensors, gguf, later []string
	for _, e := range entries {
		switch name := e.Name(); {
		case strings.HasSuffix(name, indexSuffix):
			indexes = append(indexes, name)
		case !isFirst(name):
			later = append(later, name)
		case strings.HasSuffix(name, ".safetensors"):
			tensors = append(tensors, name)
		case strings.HasSuffix(name, ".gguf"):
			gguf = append(gguf, name)
		}
	}
	if len(tensors)+len(gguf) == 0 {
		tensors = later[:min(1, len(later))] // open says which pieces are missing
	}
	for _, some := range [][]string{indexes, tensors, gguf} {
		switch len(some) {
		case 0:
		case 1:
			return filepath.Join(path, some[0]), nil
		default:
			return "", layout.Errorf(layout.ErrInvalid, "Open", "the folder %s has %d of a kind, %s and %s among them: name one", quote.Path(path), len(some), quote.Name(some[0]), quote.Name(some[1]))
		}
	}
	return "", layout.Errorf(layout.ErrInvalid, "Open", "the folder %s has no .safetensors or .gguf file", quote.Path(path))
}

// open opens the files of a checkpoint that starts with main.
func (c *Checkpoint) open(main string) error {
	names := []string{filepath.Base(main)}
	switch m := pieces.FindStringSubmatch(names[0]); {
	case strings.HasSuffix(names[0], indexSuffix):
		if err := c.readIndex(main); err != nil {
			return err
		}
		names = c.index.names
	case m != nil && (m[4] == ".gguf" || !hasIndex(filepath.Dir(main))):
		n, _ := strconv.Atoi(m[3])
		if i, _ := strconv.Atoi(m[2]); i < 1 || i > n || n > maxFiles {
			return layout.Errorf(layout.ErrInvalid, "Open", "%s is no piece of a file", quote.Path(main))
		}
		names = nil
		for i := range n {
			names = append(names, fmt.Sprintf("%s%0*d-of-%s%s", m[1], len(m[2]), i+1, m[3], m[4]))
		}
	}
	if len(names) > maxFiles {
		return layout.Errorf(layout.ErrUnsupported, "Open", "%s names %d files; at most %d", quote.Path(main), len(names), maxFiles)
	}
	for _, name := range names {
		f, err := OpenFile(filepath.Join(filepath.Dir(main), name))
		if c.Index == "" && strings.HasSuffix(name, ".safetensors") && len(names) > 1 && errors.Is(err, os.ErrNotExist) {
			c.Missing = append(c.Missing, name)
			continue
		}
		if err != nil {
			return err
		}
		c.Files = append(c.Files, f)
	}
	return nil
}

// hasIndex reports whether a folder has an index.
func hasIndex(folder string) bool {
	entries, err := os.ReadDir(folder)
	return err == nil && slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.HasSuffix(e.Name(), indexSuffix) })
}

// collect gathers the tensors: those listed by the index, or all.
func (c *Checkpoint) collect() error {
	c.byName = map[string]*Tensor{}
	for _, f := range c.Files {
		if f.Format != c.Files[0].Format {
			return layout.Errorf(layout.ErrInvalid, "Open", "%s is %v and %s is %v", quote.Path(c.Files[0].Path), c.Files[0].Format, quote.Path(f.Path), f.Format)
		}
		name := filepath.Base(f.Path)
		for _, t := range f.Tensors {
			if c.Index != "" && c.index.files[t.Name] != name {
				if _, listed := c.index.files[t.Name]; !listed {
					c.Unlisted = append(c.Unlisted, t.Name)
				}
				continue
			}
			if other := c.byName[t.Name]; other != nil {
				return layout.Errorf(layout.ErrInvalid, "Open", "tensor %s is in %s and in %s", quote.Name(t.Name), quote.Path(other.file.Path), quote.Path(f.Path))
			}
			c.byName[t.Name] = t
			c.Tensors = append(c.Tensors, t)
		}
	}
	if c.Index == "" {
		return nil
	}
	missing, first := 0, ""
	for name := range c.index.files {
		if c.byName[name] != nil {
			continue
		}
		if missing++; missing == 1 || name < first {
			first = name
		}
	}
	if missing > 0 {
		return layout.Errorf(layout.ErrInvalid, "Open", "%s: %s has no tensor %s (%d such)", quote.Name(c.Index), quote.Name(c.index.files[first]), quote.Name(first), missing)
	}
	return nil
}
