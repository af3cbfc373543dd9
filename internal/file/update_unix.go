//go:build unix && !solaris && !illumos && !aix

package file

import (
	"errors"
	"os"
	"syscall"

	"github.com/restride/restride/internal/quote"
)

// locks: a file locked by one process cannot be locked by another.
const locks = true

func lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrInUse
	}
	return err
}

// Rename closes a file and renames it, replacing an existing file.
func Rename(f *os.File, to string) error {
	err := os.Rename(f.Name(), to) // while it is locked
	return quote.Error(errors.Join(err, f.Close()))
}

// remove removes an open file, and closes it.
func remove(f *os.File) error { return errors.Join(os.Remove(f.Name()), f.Close()) }
