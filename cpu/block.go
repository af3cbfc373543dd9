package cpu

import (
	"errors"
	"unsafe"

	"github.com/restride/restride/internal/hugemem"
)

// A block is what the pool hands out. Its memory starts on a cache line.
type block struct {
	mem    []byte
	mapped hugemem.Block // what mem is, if it is not of Go's heap
}

const cacheLine = 64

// newBlock takes a large block from the system, on huge pages, where copies do
// not wait for the TLB; others, and all where there are none, from Go's heap.
func newBlock(size int64) (block, error) {
	if size < hugemem.Page {
		return makeBlock(size), nil
	}
	m, err := hugemem.Map(size)
	if errors.Is(err, errors.ErrUnsupported) {
		return makeBlock(size), nil
	}
	return block{mem: m.Bytes, mapped: m}, err
}

// makeBlock takes a block from Go's heap.
func makeBlock(size int64) block {
	b := make([]byte, size+cacheLine-1)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) % cacheLine
	return block{mem: b[skip : int64(skip)+size : int64(skip)+size]}
}
