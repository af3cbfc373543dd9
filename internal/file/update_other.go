//go:build !unix || solaris || illumos || aix

package file

import (
	"os"

	"github.com/restride/restride/internal/quote"
)

func lock(*os.File) error { return nil }

// Rename closes a file and gives it another name, in place of what had it.
func Rename(f *os.File, to string) error {
	if err := f.Close(); err != nil { // an open one cannot be renamed
		return quote.Error(err)
	}
	return quote.Error(os.Rename(f.Name(), to))
}
