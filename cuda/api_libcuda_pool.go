package cuda

import (
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/layout"
)

// poolCalls are the calls about pools of memory.
type poolCalls struct {
	*driverLibrary

	// 0 where the driver is too old:
	poolCreate, poolDestroy, poolAlloc, poolAttribute uintptr
	poolTrim, poolAccess                              uintptr
}

// Places of memory, and access to it.
const (
	locationDevice  = 1
	accessReadWrite = 3

	allocationPinned     = 1
	poolReleaseThreshold = 4
)

// poolProperties are CUmemPoolProps: memory of a device, not shared with other processes.
type poolProperties struct {
	allocation, handles, location, ordinal int32
	rest                                   [72]byte
}

func (l *poolCalls) newPool(ordinal int) (cuPool, error) {
	if l.poolCreate == 0 || l.poolDestroy == 0 || l.poolAlloc == 0 || l.poolAttribute == 0 || l.poolTrim == 0 {
		return 0, layout.Errorf(device.ErrUnsupported, "Open", "this driver has no pools: it is for a CUDA before 11.2")
	}
	d, err := l.handle(ordinal)
	if err != nil {
		return 0, err
	}
	pool := new(cuPool)
	properties := &poolProperties{allocation: allocationPinned, location: locationDevice, ordinal: int32(d)}
	err = l.do("cuMemPoolCreate", dl.Call(l.poolCreate, uintptr(unsafe.Pointer(pool)), uintptr(unsafe.Pointer(properties))))
	return *pool, err
}

func (l *poolCalls) destroyPool(pool cuPool) error {
	return l.do("cuMemPoolDestroy", dl.Call(l.poolDestroy, uintptr(pool)))
}

func (l *poolCalls) allocFrom(pool cuPool, s cuStream, bytes int64) (cuDevicePtr, error) {
	p := new(cuDevicePtr)
	err := l.do("cuMemAllocFromPoolAsync", dl.Call(l.poolAlloc, uintptr(unsafe.Pointer(p)), uintptr(bytes), uintptr(pool), uintptr(s)))
	return *p, err
}

func (l *poolCalls) setThreshold(pool cuPool, bytes int64) error {
	value := new(int64)
	*value = bytes
	return l.do("cuMemPoolSetAttribute", dl.Call(l.poolAttribute, uintptr(pool), poolReleaseThreshold, uintptr(unsafe.Pointer(value))))
}

func (l *poolCalls) trimPool(pool cuPool) error {
	return l.do("cuMemPoolTrimTo", dl.Call(l.poolTrim, uintptr(pool), 0))
}

func (l *poolCalls) openPool(pool cuPool, guest int) error {
	if l.poolAccess == 0 {
		return nil
	}
	g, err := l.handle(guest)
	if err != nil {
		return err
	}
	access := &[3]int32{locationDevice, int32(g), accessReadWrite} // CUmemAccessDesc
	return l.do("cuMemPoolSetAccess", dl.Call(l.poolAccess, uintptr(pool), uintptr(unsafe.Pointer(access)), 1))
}
