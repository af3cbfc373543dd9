//go:build !windows && !(((linux && !android) || darwin) && (amd64 || arm64 || loong64 || ppc64le || riscv64))

package dl

import (
	"errors"
	"runtime"
)

func available() error {
	return errors.New("dynamic libraries are not supported on " + runtime.GOOS + "/" + runtime.GOARCH)
}

func open(string) (uintptr, error) { return 0, available() }

func lookup(uintptr, string) (uintptr, error) { return 0, errors.ErrUnsupported }

// Callback has no caller here.
func Callback(fn func(uintptr) uintptr) uintptr { return 0 }

// Call has nothing to call: no library opens.
//
//go:uintptrescapes
func Call(fn uintptr, args ...uintptr) uintptr { return 0 }
