package file

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/windows"

	"github.com/restride/restride/internal/quote"
)

// locks: a file locked by one process cannot be locked by another.
const locks = true

// lock locks a byte far behind the end of the file: other processes could not read what is
// locked.
func lock(f *os.File) error {
	const exclusive = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), exclusive, 0, 1, 0, &windows.Overlapped{Offset: 1<<32 - 1, OffsetHigh: 1<<31 - 1})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrInUse
	}
	return err
}

// Rename closes a file and renames it, replacing an existing file.
func Rename(f *os.File, to string) error {
	if err := f.Close(); err != nil { // an open one cannot be renamed
		return quote.Error(err)
	}
	err := os.Rename(f.Name(), to)
	if errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_ACCESS_DENIED) {
		return fmt.Errorf("%w: a program may have %s open: close it, and try again", quote.Error(err), quote.Path(to))
	}
	return quote.Error(err)
}

// remove closes a file and removes it.
func remove(f *os.File) error { return errors.Join(f.Close(), os.Remove(f.Name())) }
