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
// none. It follows no link: what is at path is the file. As long as the file is open, no
// other process, nor another call in this one, can open it so: that is ErrInUse. (Not on
// Windows, Solaris and AIX.)
func Update(path string) (*os.File, error) {
	for {
		f, err := openOwn(path)
		if errors.Is(err, fs.ErrNotExist) {
			f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|nonblock, 0o666)
			if errors.Is(err, fs.ErrExist) {
				continue // another process has made it meanwhile
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
		if err := f.Close(); err != nil { // renamed or removed meanwhile: look again
			return nil, quote.Error(err)
		}
	}
}

// openOwn opens the regular file that is at path, for reading and writing. That it still is
// there, and not a link to it, is claim's to say.
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
	now, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(info, now), quote.Error(err)
}
