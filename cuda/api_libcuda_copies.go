package cuda

import (
	"unsafe"

	"github.com/restride/restride/internal/dl"
)

// copyCalls are the calls that copy.
type copyCalls struct {
	*driverLibrary

	copyIn, copyOut, copyDevice uintptr
}

func (l *copyCalls) upload(f *frame, dst cuDevicePtr, src unsafe.Pointer, n int64, s cuStream) error {
	f.args[0], f.args[1], f.args[2], f.args[3] = uintptr(dst), uintptr(src), uintptr(n), uintptr(s)
	return l.do("cuMemcpyHtoDAsync", dl.Call(l.copyIn, f.args[:4]...))
}

func (l *copyCalls) download(f *frame, dst unsafe.Pointer, src cuDevicePtr, n int64, s cuStream) error {
	f.args[0], f.args[1], f.args[2], f.args[3] = uintptr(dst), uintptr(src), uintptr(n), uintptr(s)
	return l.do("cuMemcpyDtoHAsync", dl.Call(l.copyOut, f.args[:4]...))
}

func (l *copyCalls) copyWithin(f *frame, dst, src cuDevicePtr, n int64, s cuStream) error {
	f.args[0], f.args[1], f.args[2], f.args[3] = uintptr(dst), uintptr(src), uintptr(n), uintptr(s)
	return l.do("cuMemcpyDtoDAsync", dl.Call(l.copyDevice, f.args[:4]...))
}
