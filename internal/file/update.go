package file

import (
	"errors"
	"io/fs"
	"os"

	"github.com/restride/restride/internal/quote"
)

// ErrInUse: another process has the file open by Update.
var ErrInUse = errors.New("another process writes it")

// Update opens a regular file for reading and writing, and creates it if absent. It follows no
// link: path is the file itself. As long as the file is open, no other Update, in this process
// or another, can open it: that is ErrInUse. (Not on Solaris and AIX.)
func Update(path string) (*os.File, error) {
	for {
		f, err := openOwn(path)
		if errors.Is(err, fs.ErrNotExist) {
			f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|nonblock, 0o666)
			if errors.Is(err, fs.ErrExist) {
				continue // another process has created it meanwhile
			}
		}
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
		if err := f.Close(); err != nil { // renamed or removed meanwhile: check again
			return nil, quote.Error(err)
		}
	}
}

// openOwn opens the regular file at path, for reading and writing. claim must check that it is
// still there, and not a link.
func openOwn(path string) (*os.File, error) {
	info, err := os.Lstat(path)
	if err == nil {
		err = check(path, info, info.Size())
	}
	if err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_RDWR|nonblock|nofollow, 0)
}

// claim locks an open file, and reports whether path is still its name.
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
	now, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(info, now), quote.Error(err)
}
