package cuda

import (
	"unsafe"

	"github.com/restride/restride/internal/dl"
)

// memoryCalls are the calls about memory of devices and of the host.
type memoryCalls struct {
	*driverLibrary

	memInfo, memAlloc, memFree, pointerAttribute uintptr
	hostAlloc, hostFree                          uintptr
	// 0 where the driver is too old:
	memAllocAsync, memFreeAsync uintptr
}

func (l *memoryCalls) memory() (free, total int64, err error) {
	v := new([2]uint64)
	err = l.do("cuMemGetInfo", dl.Call(l.memInfo, uintptr(unsafe.Pointer(&v[0])), uintptr(unsafe.Pointer(&v[1]))))
	return int64(v[0]), int64(v[1]), err
}

func (l *memoryCalls) alloc(bytes int64) (cuDevicePtr, error) {
	p := new(cuDevicePtr)
	err := l.do("cuMemAlloc", dl.Call(l.memAlloc, uintptr(unsafe.Pointer(p)), uintptr(bytes)))
	return *p, err
}

func (l *memoryCalls) free(p cuDevicePtr) error {
	return l.do("cuMemFree", dl.Call(l.memFree, uintptr(p)))
}

func (l *memoryCalls) ordered() bool { return l.memAllocAsync != 0 && l.memFreeAsync != 0 }

func (l *memoryCalls) allocOn(s cuStream, bytes int64) (cuDevicePtr, error) {
	p := new(cuDevicePtr)
	err := l.do("cuMemAllocAsync", dl.Call(l.memAllocAsync, uintptr(unsafe.Pointer(p)), uintptr(bytes), uintptr(s)))
	return *p, err
}

func (l *memoryCalls) freeOn(s cuStream, p cuDevicePtr) error {
	return l.do("cuMemFreeAsync", dl.Call(l.memFreeAsync, uintptr(p), uintptr(s)))
}

// portable pinned memory is pinned for all contexts.
const portable = 1

func (l *memoryCalls) allocHost(bytes int64) (unsafe.Pointer, error) {
	p := new(uintptr)
	err := l.do("cuMemHostAlloc", dl.Call(l.hostAlloc, uintptr(unsafe.Pointer(p)), uintptr(bytes), portable))
	return dl.Pointer(*p), err
}

func (l *memoryCalls) freeHost(p unsafe.Pointer) error {
	return l.do("cuMemFreeHost", dl.Call(l.hostFree, uintptr(p)))
}

// Attributes of a pointer.
const (
	pointerContext = 1
	pointerType    = 2
	pointerDevice  = 9
	pointerBase    = 11
	pointerBytes   = 12

	typeDevice = 2
)

func (l *memoryCalls) locate(p cuDevicePtr) (location, error) {
	numbers := new([4]uint64) // zeroed: some attributes have four bytes
	for i, key := range []uintptr{pointerDevice, pointerType, pointerBase, pointerBytes} {
		if err := l.do("cuPointerGetAttribute", dl.Call(l.pointerAttribute, uintptr(unsafe.Pointer(&numbers[i])), key, uintptr(p))); err != nil {
			return location{}, err
		}
	}
	ctx := new(cuContext)
	if err := l.do("cuPointerGetAttribute", dl.Call(l.pointerAttribute, uintptr(unsafe.Pointer(ctx)), pointerContext, uintptr(p))); err != nil {
		if codeOf(err) != codeInvalidValue { // memory of no context need not have the attribute
			return location{}, err
		}
		*ctx = 0
	}
	return location{int(numbers[0]), numbers[1] == typeDevice, *ctx, cuDevicePtr(numbers[2]), int64(numbers[3])}, nil
}
