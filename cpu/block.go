package cpu

import "unsafe"

// A block is what the pool hands out. Its memory starts on a cache line.
type block struct {
	mem    []byte
	mapped []byte // the mapping that mem lies in, if it is one
}

const (
	cacheLine = 64
	// hugePage is the size from which blocks are mapped by themselves: a huge
	// page, where copies do not wait for the TLB.
	hugePage = 2 << 20
)

// makeBlock takes a block from Go's heap.
func makeBlock(size int64) block {
	b := make([]byte, size+cacheLine-1)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) % cacheLine
	return block{mem: b[skip : int64(skip)+size : int64(skip)+size]}
}
