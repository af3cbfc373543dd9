package cudasim

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"unsafe"

	"github.com/restride/restride/internal/dl"
)

// Knobs are the functions of the simulator that CUDA's driver does not have.
type Knobs struct{ set, count, calls uintptr }

// Loaded returns the knobs of the library that Variable names; fs.ErrNotExist if it is not the
// simulator.
func Loaded() (k Knobs, err error) {
	path := os.Getenv(Variable)
	if path == "" {
		return k, fmt.Errorf("no simulator: %s is not set: %w", Variable, fs.ErrNotExist)
	}
	lib, err := dl.Open(path)
	if err != nil {
		return k, err
	}
	for name, at := range map[string]*uintptr{"Set": &k.set, "Count": &k.count, "Calls": &k.calls} {
		if *at, err = lib.Lookup("restrideSim" + name); err != nil {
			return k, fmt.Errorf("%s is not the simulator (%w): %w", path, err, fs.ErrNotExist)
		}
	}
	return k, nil
}

// Set turns a knob (see cuda/simulator/README.md).
func (k Knobs) Set(name, value string) {
	n, v := append([]byte(name), 0), append([]byte(value), 0)
	dl.Call(k.set, uintptr(unsafe.Pointer(&n[0])), uintptr(unsafe.Pointer(&v[0])))
}

// Count returns the number of calls of a function, or of another thing that the simulator counts.
func (k Knobs) Count(name string) int {
	n := append([]byte(name), 0)
	return int(dl.Call(k.count, uintptr(unsafe.Pointer(&n[0]))))
}

// Calls returns the number of calls of each function of the driver.
func (k Knobs) Calls() map[string]int {
	room := make([]byte, 1<<16)
	n := dl.Call(k.calls, uintptr(unsafe.Pointer(&room[0])), uintptr(len(room)))
	all := map[string]int{}
	for _, name := range strings.Fields(string(room[:n])) {
		all[name] = k.Count(name)
	}
	return all
}
