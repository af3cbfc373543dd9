package main

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// guard rejects an output that would replace part of the source, or files of a folder that repack
// has not written.
func (r *repack) guard() error {
	if err := r.guardSource(); err != nil || !r.folder() {
		return err
	}
	for _, f := range r.mine() {
		if _, err := os.Stat(f.path); err == nil && !isOurs(f.path) {
			return foreign(f.path)
		}
	}
	for _, path := range r.described() {
		if _, err := os.Stat(path); err == nil && !hasOurs(r.output) {
			return foreign(path)
		}
	}
	return nil
}

func foreign(path string) error {
	return layout.Errorf(layout.ErrInvalid, "repack", "%s is there, and repack has not written it: name another folder, or remove it", quote.Path(path))
}

// described are the paths of the output's index and config.json, if it will have these, and of what
// comes along.
func (r *repack) described() (paths []string) {
	if len(r.files) > 1 && r.files[0].header.Format == checkpoint.Safetensors {
		paths = append(paths, filepath.Join(r.output, r.indexName()))
	}
	if r.source.Config != nil {
		paths = append(paths, filepath.Join(r.output, "config.json"))
	}
	for _, path := range r.companions {
		paths = append(paths, filepath.Join(r.output, filepath.Base(path)))
	}
	return paths
}

// guardSource refuses to write to the source, under any name.
func (r *repack) guardSource() error {
	in, out := []string{r.source.Path}, []string{r.output}
	for _, f := range r.source.Files {
		in = append(in, f.Path)
	}
	beside := filepath.Dir(r.source.Files[0].Path)
	if r.source.Index != "" {
		in = append(in, filepath.Join(beside, r.source.Index))
	}
	if r.source.Config != nil {
		in = append(in, filepath.Join(beside, "config.json"))
	}
	in = append(in, r.companions...)
	for _, f := range r.mine() {
		out = append(out, f.path, f.path+checkpoint.Partial)
	}
	if r.folder() {
		out = append(out, r.described()...)
	}
	sources, err := stats(in)
	if err != nil {
		return err
	}
	for _, path := range out {
		info, err := os.Stat(path)
		if err != nil {
			continue // errors are reported where it is made
		}
		for i, other := range sources {
			if os.SameFile(info, other) {
				return layout.Errorf(layout.ErrInvalid, "repack", "the output %s is a part of the source, %s: name another", quote.Path(path), quote.Path(in[i]))
			}
		}
	}
	return nil
}

func stats(paths []string) (all []fs.FileInfo, err error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, quote.Error(err)
		}
		all = append(all, info)
	}
	return all, nil
}

// isOurs reports whether repack has written a file of a folder, from any source.
func isOurs(path string) bool {
	f, err := checkpoint.OpenFile(path)
	if err != nil {
		return false
	}
	_, ok := f.Value(sourceKey)
	return f.Close() == nil && ok
}

// hasOurs reports whether a folder has such a file.
func hasOurs(folder string) bool {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if fileFormat(e.Name()) != 0 && isOurs(filepath.Join(folder, e.Name())) {
			return true
		}
	}
	return false
}
