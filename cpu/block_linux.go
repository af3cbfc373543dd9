package cpu

import (
	"syscall"
	"unsafe"
)

// mapBlock maps fresh memory, on huge pages where the system has them to give.
func mapBlock(size int64) (block, error) {
	// One page more than needed, to start on a page boundary: memory that is
	// never touched costs nothing.
	m, err := syscall.Mmap(-1, 0, int(size+hugePage), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return block{}, err
	}
	skip := int64(-uintptr(unsafe.Pointer(unsafe.SliceData(m))) % hugePage)
	b := block{mem: m[skip : skip+size : skip+size], mapped: m}
	// Advice only: without huge pages the block is slower, not wrong.
	_ = syscall.Madvise(b.mem, syscall.MADV_HUGEPAGE)
	return b, nil
}

func freeBlock(b block) error {
	if b.mapped == nil {
		return nil
	}
	return syscall.Munmap(b.mapped)
}
