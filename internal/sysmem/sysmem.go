// Package sysmem queries the system's memory: how much the machine or the process's control
// groups have, and how much of it this process may still allocate.
package sysmem

import "sync"

// figures are the system's figures. 0: unknown.
type figures struct {
	total     int64 // of the machine, or less where a control group has less
	available int64 // that the process may allocate in addition
	source    string
	address   int64 // address space that the process may still map
	addressOf string
}

// Total returns how many bytes of memory the machine has, or the process's control group if
// that has less. 0: unknown.
func Total() int64 { return read().total }

// Available returns how many bytes the process may allocate now, and the source of the figure.
// 0: unknown.
func Available() (bytes int64, source string) {
	f := read()
	if f.address > 0 && (f.available == 0 || f.address < f.available) {
		return f.address, f.addressOf
	}
	return f.available, f.source
}

const (
	// usual is the assumed memory of a machine that does not report it.
	usual = 8 << 30
	// An eighth of the available memory is left for uncounted uses, such as garbage; half of
	// the address space: threads, arenas and libraries reserve much more of it than they use.
	memoryPart, addressPart = 7. / 8, 1. / 2
)

// Grant returns how many bytes a process may use for its work by default: a part of what was
// available at the first call, and the source of that figure.
var Grant = sync.OnceValues(func() (bytes int64, source string) { return grant(read()) })

func grant(f figures) (bytes int64, source string) {
	bytes, source = int64(memoryPart*float64(f.available)), "seven eighths of what "+f.source+" left"
	if f.available == 0 {
		bytes, source = usual, "the default where the system does not say what memory there is"
	}
	if part := int64(addressPart * float64(f.address)); f.address > 0 && part < bytes {
		bytes, source = part, "half of what "+f.addressOf+" left"
	}
	return bytes, source
}
