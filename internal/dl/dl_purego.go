//go:build ((linux && !android) || darwin) && (amd64 || arm64 || loong64 || ppc64le || riscv64)

package dl

import "github.com/ebitengine/purego"

func available() error { return nil }

func open(name string) (uintptr, error) {
	return purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
}

func lookup(handle uintptr, symbol string) (uintptr, error) { return purego.Dlsym(handle, symbol) }

// Callback returns a C function that calls fn, from any thread. It is never freed, and a
// process has at most 1000 or so.
func Callback(fn func(uintptr) uintptr) uintptr { return purego.NewCallback(fn) }

// Call calls a function of at most 15 arguments, integers and pointers, and returns its result.
// Memory behind pointers that are converted in the call expression is kept alive and does not
// move. The list of arguments is allocated: a caller that must not allocate keeps one, and
// passes it as list... .
//
//go:uintptrescapes
func Call(fn uintptr, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(fn, args...)
	return r
}
