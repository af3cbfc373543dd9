package hugemem

import (
	"syscall"
	"unsafe"
)

// Map maps fresh memory, on huge pages if the system has any.
func Map(size int64) (Block, error) {
	// One page more, to begin on a page boundary: untouched memory costs nothing.
	m, err := syscall.Mmap(-1, 0, int(size+Page), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return Block{}, err
	}
	skip := int64(-uintptr(unsafe.Pointer(unsafe.SliceData(m))) % Page)
	b := Block{Bytes: m[skip : skip+size : skip+size], mapping: m}
	// Only advice: without huge pages the block is slower, not wrong.
	_ = syscall.Madvise(b.Bytes, syscall.MADV_HUGEPAGE)
	return b, nil
}

func unmap(m []byte) error { return syscall.Munmap(m) }
