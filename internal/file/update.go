package file

import (
	"errors"
	"io/fs"
	"os"

	"github.com/restride/restride/internal/quote"
)

// ErrInUse: another process has the file open by Update.
var ErrInUse = errors.New("another process writes it")

// Update opens a regular file for reading and writing, which it makes where there is
// none. As long as the file is open, no other process, nor another call in this one, can
// open it so: that is ErrInUse. (Not on Windows, Solaris and AIX.)
func Update(path string) (*os.File, error) {
	for {
		if info, err := os.Stat(path); err == nil {
			if err := check(path, info, info.Size()); err != nil {
				return nil, err
			}
		}
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|nonblock, 0o666)
		if err != nil {
			return nil, quote.Error(err)
		}
		named, err := claim(f, path)
		switch {
		case err != nil:
			return nil, errors.Join(err, f.Close())
		case named:
			return f, nil
		}
		if err := f.Close(); err != nil { // renamed or removed meanwhile: look again
			return nil, quote.Error(err)
		}
	}
}

// claim locks an open file, and reports whether path still is its name.
func claim(f *os.File, path string) (named bool, err error) {
	info, err := f.Stat()
	if err == nil {
		err = check(path, info, info.Size())
	}
	if err == nil {
		err = lock(f)
	}
	if err != nil {
		return false, &fs.PathError{Op: "open", Path: quote.Path(path), Err: err}
	}
	now, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(info, now), quote.Error(err)
}
