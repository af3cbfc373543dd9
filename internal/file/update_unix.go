//go:build unix && !solaris && !illumos && !aix

package file

import (
	"errors"
	"os"
	"syscall"

	"github.com/restride/restride/internal/quote"
)

// locks: what a process has locked no other can lock.
const locks = true

func lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrInUse
	}
	return err
}

// Rename closes a file and gives it another name, in place of what had it.
func Rename(f *os.File, to string) error {
	err := os.Rename(f.Name(), to) // while it is locked
	return quote.Error(errors.Join(err, f.Close()))
}

// remove removes a file that is open, and closes it.
func remove(f *os.File) error { return errors.Join(os.Remove(f.Name()), f.Close()) }
