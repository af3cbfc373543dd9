// Package dl calls functions of dynamic libraries that are found at run time, without a C
// compiler: the minimum for a device's driver.
//
// It is a thin layer over github.com/ebitengine/purego, and over package syscall
// on Windows. On other systems no library is ever found.
package dl

import (
	"errors"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"github.com/restride/restride/internal/quote"
)

// Library is a dynamic library. It stays loaded until the process ends: drivers
// have threads of their own and cannot be unloaded safely.
type Library struct {
	Name   string // of the candidates of Open
	handle uintptr
}

// Available returns nil where libraries can be loaded and called, and can call back; otherwise
// the reason.
func Available() error {
	if bits.UintSize < 64 {
		return errors.New("programs of 32 bits are not supported")
	}
	return available()
}

// Open loads the first available of several libraries. The system searches for a name without a
// folder. The error names all, with reasons.
func Open(names ...string) (*Library, error) {
	if err := Available(); err != nil {
		return nil, err
	}
	var reasons []string
	for _, name := range names {
		handle, err := openRegular(name)
		if err == nil {
			return &Library{name, handle}, nil
		}
		reason := quote.Text(strings.Join(strings.Fields(err.Error()), " "))
		if !strings.Contains(reason, quote.Text(name)) {
			reason = quote.Path(name) + ": " + reason
		}
		reasons = append(reasons, reason)
	}
	return nil, errors.New(strings.Join(reasons, "; "))
}

// openRegular is open for regular files: a pipe would block open.
func openRegular(name string) (uintptr, error) {
	if filepath.Base(name) != name { // the system does not search for it
		if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
			return 0, errors.New("it is no regular file")
		}
	}
	return open(name)
}

// Handle returns the system's handle of the library.
func (l *Library) Handle() uintptr { return l.handle }

// Lookup returns the address of a function, for Call.
func (l *Library) Lookup(symbol string) (uintptr, error) {
	fn, err := lookup(l.handle, symbol)
	if err != nil || fn == 0 {
		return 0, fmt.Errorf("%s has no function %s", quote.Path(l.Name), symbol)
	}
	return fn, nil
}

// Pointer returns the pointer to an address that a library returned. The memory must not be Go
// memory.
func Pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }
