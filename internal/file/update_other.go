//go:build !unix || solaris || illumos || aix

package file

import (
	"errors"
	"os"
	"runtime"

	"github.com/restride/restride/internal/quote"
)

// locks: Windows does not remove a file that a process has open.
const locks = runtime.GOOS == "windows"

func lock(*os.File) error { return nil }

// Rename closes a file and renames it, replacing an existing file.
func Rename(f *os.File, to string) error {
	if err := f.Close(); err != nil { // an open one cannot be renamed
		return quote.Error(err)
	}
	return quote.Error(os.Rename(f.Name(), to))
}

// remove closes a file and removes it.
func remove(f *os.File) error { return errors.Join(f.Close(), os.Remove(f.Name())) }
