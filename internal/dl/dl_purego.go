//go:build ((linux && !android) || darwin) && (amd64 || arm64 || loong64 || ppc64le || riscv64)

package dl

import "github.com/ebitengine/purego"

func open(name string) (uintptr, error) {
	return purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
}

func lookup(handle uintptr, symbol string) (uintptr, error) { return purego.Dlsym(handle, symbol) }

// Call calls a function of at most 15 arguments, integers and pointers, and
// returns its result. Arguments that are converted from pointers in the call
// itself are kept alive and in their place. The list of arguments goes to the
// heap: a caller that may not allocate keeps one, and passes it as list... .
//
//go:uintptrescapes
func Call(fn uintptr, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(fn, args...)
	return r
}
