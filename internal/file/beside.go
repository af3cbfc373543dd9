package file

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Beside creates a file in the folder of path, under a unique hidden name: for content that
// Rename moves to path once it is complete. Its mode follows the umask. Beside removes such
// files for this path that killed processes have left.
func Beside(path string) (*os.File, error) {
	sweep(path)
	dir, name := filepath.Split(path)
	for {
		f, err := Create(dir+"."+rand.Text()+"-"+name, os.O_EXCL)
		if err != nil {
			return nil, err
		}
		named, err := claim(f, f.Name())
		if err == nil && named {
			return f, nil
		}
		if err := errors.Join(err, f.Close()); err != nil && !errors.Is(err, ErrInUse) {
			return nil, errors.Join(err, os.Remove(f.Name()))
		} // swept by another process before it was locked
	}
}

// sweep removes files that Beside has made for path and that no process has open. Files that
// cannot be removed stay.
func sweep(path string) {
	dir, name := filepath.Split(path)
	entries, err := os.ReadDir(filepath.Clean(dir + "."))
	if err != nil || !locks {
		return
	}
	for _, e := range entries {
		if !isBeside(e, name) {
			continue
		}
		left := dir + e.Name()
		f, err := openOwn(left)
		if err != nil {
			continue
		}
		if named, err := claim(f, left); named && err == nil {
			_ = remove(f)
		} else {
			_ = f.Close()
		}
	}
}

// isBeside reports whether a file's name has the form that Beside gives for another's.
func isBeside(e fs.DirEntry, name string) bool {
	random, ours := strings.CutSuffix(e.Name(), "-"+name)
	random, hidden := strings.CutPrefix(random, ".")
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567" // of rand.Text
	return ours && hidden && e.Type().IsRegular() && len(random) == len(rand.Text()) && strings.Trim(random, letters) == ""
}
