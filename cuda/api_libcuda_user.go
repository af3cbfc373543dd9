package cuda

import (
	"runtime"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/layout"
)

func (l *libcuda) launchUser(f *frame, fn cuFunction, grid, block [3]uint32, shared uint32, s cuStream, data []byte, at []uint32) error {
	base := unsafe.SliceData(data)
	values := make([]unsafe.Pointer, len(at)+1) // never empty, so that it has an address
	for i, from := range at {
		values[i] = unsafe.Add(unsafe.Pointer(base), from)
	}
	a := &f.args
	a[0] = uintptr(fn)
	for i := range grid {
		a[1+i], a[4+i] = uintptr(grid[i]), uintptr(block[i])
	}
	a[7], a[8] = uintptr(shared), uintptr(s)
	a[9], a[10] = uintptr(unsafe.Pointer(unsafe.SliceData(values))), 0
	err := l.do("cuLaunchKernel", dl.Call(l.launchKernel, a[:]...))
	runtime.KeepAlive(values)
	runtime.KeepAlive(data)
	return err
}

func (l *libcuda) functionAttribute(fn cuFunction, attribute int) (int, error) {
	if l.functionGet == 0 {
		return 0, nil
	}
	v := new(int32)
	err := l.do("cuFuncGetAttribute", dl.Call(l.functionGet, uintptr(unsafe.Pointer(v)), uintptr(attribute), uintptr(fn)))
	return int(*v), err
}

// errNoAttributes is a launch's error with drivers that cannot be asked for parameters.
var errNoAttributes = layout.Errorf(device.ErrUnsupported, "Launch", "this driver gives kernels no more than 48 KiB of shared memory")

func (l *libcuda) setFunctionAttribute(fn cuFunction, attribute, value int) error {
	if l.functionSet == 0 {
		return errNoAttributes
	}
	return l.do("cuFuncSetAttribute", dl.Call(l.functionSet, uintptr(fn), uintptr(attribute), uintptr(value)))
}

func (l *libcuda) parameter(fn cuFunction, i int) (bytes int, ok bool, err error) {
	if l.functionParameter == 0 {
		return 0, false, errNoParameters
	}
	numbers := new([2]uint64)
	result := dl.Call(l.functionParameter, uintptr(fn), uintptr(i), uintptr(unsafe.Pointer(&numbers[0])), uintptr(unsafe.Pointer(&numbers[1])))
	if int32(result) == codeInvalidValue { // beyond the last parameter
		return 0, false, nil
	}
	err = l.do("cuFuncGetParamInfo", result)
	return int(numbers[1]), err == nil, err
}
