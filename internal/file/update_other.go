//go:build (!unix && !windows) || solaris || illumos || aix

package file

import (
	"errors"
	"os"

	"github.com/restride/restride/internal/quote"
)

// locks: files are not locked.
const locks = false

func lock(*os.File) error { return nil }

// Rename closes a file and renames it, replacing an existing file.
func Rename(f *os.File, to string) error {
	if err := f.Close(); err != nil {
		return quote.Error(err)
	}
	return quote.Error(os.Rename(f.Name(), to))
}

// remove closes a file and removes it.
func remove(f *os.File) error { return errors.Join(f.Close(), os.Remove(f.Name())) }
