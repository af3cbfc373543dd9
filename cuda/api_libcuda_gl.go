package cuda

import (
	"slices"
	"unsafe"

	"github.com/restride/restride/internal/dl"
)

// libcuda is a glAPI.

func (l *libcuda) hasGL() bool {
	return l.glRegister != 0 && l.resourceMap != 0 && l.resourcePointer != 0 && l.resourceUnmap != 0 && l.resourceUnregister != 0
}

func (l *libcuda) onGL(ordinal int) (bool, error) {
	if l.glDevices == 0 { // cuGraphicsGLRegisterBuffer will report it
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

func (l *libcuda) registerGL(name, flags uint32) (cuResource, error) {
	r := new(cuResource)
	err := l.do("cuGraphicsGLRegisterBuffer", dl.Call(l.glRegister, uintptr(unsafe.Pointer(r)), uintptr(name), uintptr(flags)))
	return *r, err
}

func (l *libcuda) unregister(r cuResource) error {
	return l.do("cuGraphicsUnregisterResource", dl.Call(l.resourceUnregister, uintptr(r)))
}

func (l *libcuda) mapResource(r cuResource, s cuStream) error {
	all := &[1]cuResource{r}
	return l.do("cuGraphicsMapResources", dl.Call(l.resourceMap, 1, uintptr(unsafe.Pointer(all)), uintptr(s)))
}

func (l *libcuda) mapped(r cuResource) (cuDevicePtr, int64, error) {
	p, bytes := new(cuDevicePtr), new(uint64)
	err := l.do("cuGraphicsResourceGetMappedPointer", dl.Call(l.resourcePointer, uintptr(unsafe.Pointer(p)), uintptr(unsafe.Pointer(bytes)), uintptr(r)))
	return *p, int64(*bytes), err
}

func (l *libcuda) unmapResource(r cuResource, s cuStream) error {
	all := &[1]cuResource{r}
	return l.do("cuGraphicsUnmapResources", dl.Call(l.resourceUnmap, 1, uintptr(unsafe.Pointer(all)), uintptr(s)))
}
