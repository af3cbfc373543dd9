package clock

import (
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

var (
	kernel  = windows.NewLazySystemDLL("kernel32.dll")
	counter = kernel.NewProc("QueryPerformanceCounter")
	second  = func() int64 { // in units of the counter; the call cannot fail
		var n int64
		_, _, _ = kernel.NewProc("QueryPerformanceFrequency").Call(uintptr(unsafe.Pointer(&n)))
		return max(n, 1)
	}()
)

// Now reads the clock. Only differences have a meaning.
func Now() time.Duration {
	var n int64
	_, _, _ = counter.Call(uintptr(unsafe.Pointer(&n)))
	return time.Duration(n/second)*time.Second + time.Duration(n%second*int64(time.Second)/second)
}
