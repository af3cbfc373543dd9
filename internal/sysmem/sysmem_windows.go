package sysmem

import (
	"math"
	"unsafe"

	"golang.org/x/sys/windows"
)

// status is MEMORYSTATUSEX.
type status struct {
	length, load                   uint32
	total, available               uint64 // of physical memory
	totalPage, availablePage       uint64 // with the page file
	totalVirtual, availableVirtual uint64
	availableExtendedVirtual       uint64
}

var memoryStatus = windows.NewLazySystemDLL("kernel32.dll").NewProc("GlobalMemoryStatusEx")

func read() figures {
	var s status
	s.length = uint32(unsafe.Sizeof(s))
	if ok, _, _ := memoryStatus.Call(uintptr(unsafe.Pointer(&s))); ok == 0 {
		return figures{}
	}
	bytes := func(n uint64) int64 { return int64(min(n, math.MaxInt64)) }
	return figures{
		total: bytes(s.total), available: bytes(min(s.available, s.availablePage)), source: "the machine's memory",
		address: bytes(s.availableVirtual), addressOf: "the process's address space",
	}
}
