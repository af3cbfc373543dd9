// Command ptxzip puts the kernels' PTX into one archive (see scripts/ptx.sh).
//
//	go run ./cuda/ptxzip build/ptx internal/cudakernels/ptx.zip
//
// It reads the files *.ptx of the folder, without comments and blank lines. An archive that
// holds these texts already is not written, as another version of Go may compress them
// differently; otherwise it prints the changes.
package main

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: ptxzip FOLDER ARCHIVE")
		os.Exit(2)
	}
	if err := update(os.Args[1], os.Args[2], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// update writes the archive if its texts differ from the folder's.
func update(folder, archive string, log io.Writer) error {
	built, err := texts(os.DirFS(folder))
	if err != nil {
		return err
	}
	if len(built) == 0 {
		return fmt.Errorf("%s: no file *.ptx", folder)
	}
	kept := map[string]string{}
	switch r, err := zip.OpenReader(archive); {
	case err == nil:
		defer r.Close()
		if kept, err = texts(r); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if maps.Equal(built, kept) {
		return nil
	}
	all := maps.Clone(built)
	maps.Copy(all, kept)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if built[name] != kept[name] {
			fmt.Fprintf(log, "%s: %s differs (%d bytes, was %d)\n", archive, name, len(built[name]), len(kept[name]))
		}
	}
	return write(archive, built)
}

// texts reads the files *.ptx.
func texts(from fs.FS) (map[string]string, error) {
	names, err := fs.Glob(from, "*.ptx")
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, name := range names {
		text, err := fs.ReadFile(from, name)
		if err != nil {
			return nil, err
		}
		var b strings.Builder
		for line := range strings.Lines(string(text)) {
			if code := strings.TrimSpace(line); code != "" && !strings.HasPrefix(code, "//") {
				b.WriteString(line)
			}
		}
		all[name] = b.String()
	}
	return all, nil
}

// write writes an archive: sorted, and without times.
func write(archive string, texts map[string]string) error {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		f, err := w.Create(name)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(f, texts[name]); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Clean(archive), b.Bytes(), 0o644)
}
