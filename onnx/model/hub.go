package model

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/restride/restride/internal/file"
)

// openConfined opens a file below a folder of models. Links on the way must stay below it, or in
// a hub's cache below the folder that holds its blobs and snapshots: there a model's files are
// links, snapshots/REVISION/NAME to ../../blobs/HASH.
func openConfined(dir, path string, limit int64) (*file.File, error) {
	path = filepath.FromSlash(path)
	if hub, within, ok := hubOf(dir); ok {
		dir, path = hub, filepath.Join(within, path)
	}
	root, err := file.OpenFolder(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return file.OpenIn(root, path, limit)
}

// hubOf returns the cache with a snapshot that contains dir, and dir's path in the cache.
func hubOf(dir string) (hub, within string, ok bool) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", "", false
	}
	for at := abs; filepath.Dir(at) != at; at = filepath.Dir(at) {
		if filepath.Base(filepath.Dir(at)) != "snapshots" {
			continue
		}
		hub = filepath.Dir(filepath.Dir(at))
		if info, err := os.Stat(filepath.Join(hub, "blobs")); err != nil || !info.IsDir() {
			continue
		}
		within, err = filepath.Rel(hub, abs)
		return hub, within, err == nil
	}
	return "", "", false
}

// escapes reports whether a link led out of the folder: package os has no error for that.
func escapes(err error) bool { return strings.HasSuffix(err.Error(), "path escapes from parent") }
