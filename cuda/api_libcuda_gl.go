package cuda

import (
	"slices"
	"unsafe"

	"github.com/restride/restride/internal/dl"
)

// glCalls are the calls of a glAPI.
type glCalls struct {
	*driverLibrary

	// 0 where the driver is too old:
	glDevices, glRegister, resourceUnregister, resourceMap uintptr
	resourcePointer, resourceUnmap                         uintptr
}

func (l *glCalls) hasGL() bool {
	return l.glRegister != 0 && l.resourceMap != 0 && l.resourcePointer != 0 && l.resourceUnmap != 0 && l.resourceUnregister != 0
}

func (l *glCalls) onGL(ordinal int) (bool, error) {
	if l.glDevices == 0 { // cuGraphicsGLRegisterBuffer will tell
		return true, nil
	}
	d, err := l.handle(ordinal)
	if err != nil {
		return false, err
	}
	n, all := new(uint32), make([]int32, mostGLDevices)
	err = l.do("cuGLGetDevices", dl.Call(l.glDevices, uintptr(unsafe.Pointer(n)), uintptr(unsafe.Pointer(&all[0])), mostGLDevices, allDevices))
	return err == nil && slices.Contains(all[:min(*n, mostGLDevices)], int32(d)), err
}

func (l *glCalls) registerGL(name, flags uint32) (cuResource, error) {
	r := new(cuResource)
	err := l.do("cuGraphicsGLRegisterBuffer", dl.Call(l.glRegister, uintptr(unsafe.Pointer(r)), uintptr(name), uintptr(flags)))
	return *r, err
}

func (l *glCalls) unregister(r cuResource) error {
	return l.do("cuGraphicsUnregisterResource", dl.Call(l.resourceUnregister, uintptr(r)))
}

func (l *glCalls) mapResource(r cuResource, s cuStream) error {
	all := &[1]cuResource{r}
	return l.do("cuGraphicsMapResources", dl.Call(l.resourceMap, 1, uintptr(unsafe.Pointer(all)), uintptr(s)))
}

func (l *glCalls) mapped(r cuResource) (cuDevicePtr, int64, error) {
	p, bytes := new(cuDevicePtr), new(uint64)
	err := l.do("cuGraphicsResourceGetMappedPointer", dl.Call(l.resourcePointer, uintptr(unsafe.Pointer(p)), uintptr(unsafe.Pointer(bytes)), uintptr(r)))
	return *p, int64(*bytes), err
}

func (l *glCalls) unmapResource(r cuResource, s cuStream) error {
	all := &[1]cuResource{r}
	return l.do("cuGraphicsUnmapResources", dl.Call(l.resourceUnmap, 1, uintptr(unsafe.Pointer(all)), uintptr(s)))
}
