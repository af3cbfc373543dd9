package dl

import (
	"os"
	"path/filepath"
	"syscall"
)

func available() error { return nil }

// open loads a library by its path, and a bare name from the system's own folder: Windows would
// search the current folder, too, which may be untrusted.
func open(name string) (uintptr, error) {
	if filepath.Base(name) == name {
		name = filepath.Join(os.Getenv("SystemRoot"), "System32", name)
	}
	handle, err := syscall.LoadLibrary(name)
	return uintptr(handle), err
}

func lookup(handle uintptr, symbol string) (uintptr, error) {
	return syscall.GetProcAddress(syscall.Handle(handle), symbol)
}

// Callback returns a C function that calls fn, from any thread. It is never freed, and a
// process has at most 1000 or so.
func Callback(fn func(uintptr) uintptr) uintptr { return syscall.NewCallback(fn) }

// Call calls a function of at most 15 arguments, integers and pointers, and returns its result.
// Memory behind pointers that are converted in the call expression is kept alive and does not
// move. The list of arguments is allocated: a caller that must not allocate keeps one, and
// passes it as list... .
//
//go:uintptrescapes
func Call(fn uintptr, args ...uintptr) uintptr {
	r, _, _ := syscall.SyscallN(fn, args...)
	return r
}
