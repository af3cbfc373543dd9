package cuda

import (
	"runtime"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/layout"
)

// moduleCalls are the calls that load kernels and launch them.
type moduleCalls struct {
	*driverLibrary

	moduleLoad, moduleUnload, moduleFunction, launchKernel uintptr
	// 0 where the driver is too old:
	functionGet, functionSet, functionParameter uintptr
}

// Options of the PTX compiler.
const (
	jitErrorLog     = 5
	jitErrorLogSize = 6
)

func (l *moduleCalls) load(image []byte) (cuModule, error) {
	m := new(cuModule)
	log := make([]byte, 16<<10)
	var pins runtime.Pinner // its address is passed as a number, in a list
	pins.Pin(&log[0])
	defer pins.Unpin()
	options := &[2]uint32{jitErrorLog, jitErrorLogSize}
	values := &[2]uintptr{uintptr(unsafe.Pointer(&log[0])), uintptr(len(log))}
	result := dl.Call(l.moduleLoad, uintptr(unsafe.Pointer(m)), uintptr(unsafe.Pointer(&image[0])),
		uintptr(len(options)), uintptr(unsafe.Pointer(options)), uintptr(unsafe.Pointer(values)))
	if code := int64(int32(result)); code != 0 {
		n := min(len(log), int(uint32(values[1])))
		return 0, loadError(code, l.codeName(code), text(log[:n]))
	}
	return *m, nil
}

func (l *moduleCalls) unload(m cuModule) error {
	return l.do("cuModuleUnload", dl.Call(l.moduleUnload, uintptr(m)))
}

func (l *moduleCalls) lookup(m cuModule, name string) (cuFunction, error) {
	f, z := new(cuFunction), append([]byte(name), 0)
	err := l.do("cuModuleGetFunction", dl.Call(l.moduleFunction, uintptr(unsafe.Pointer(f)), uintptr(m), uintptr(unsafe.Pointer(&z[0]))))
	return *f, err
}

func (l *moduleCalls) launch(f *frame, fn cuFunction, groups, local uint32, s cuStream, arguments []unsafe.Pointer) error {
	a := &f.args
	a[0] = uintptr(fn)
	a[1], a[2], a[3] = uintptr(groups), 1, 1
	a[4], a[5], a[6] = uintptr(local), 1, 1
	a[7], a[8] = 0, uintptr(s)
	a[9], a[10] = uintptr(unsafe.Pointer(unsafe.SliceData(arguments))), 0
	return l.do("cuLaunchKernel", dl.Call(l.launchKernel, a[:]...))
}

func (l *moduleCalls) launchUser(f *frame, fn cuFunction, grid, block [3]uint32, shared uint32, s cuStream, data []byte, at []uint32) error {
	base := unsafe.SliceData(data)
	values := make([]unsafe.Pointer, len(at)+1) // never empty, so that there is an address
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

func (l *moduleCalls) functionAttribute(fn cuFunction, attribute int) (int, error) {
	if l.functionGet == 0 {
		return 0, nil
	}
	v := new(int32)
	err := l.do("cuFuncGetAttribute", dl.Call(l.functionGet, uintptr(unsafe.Pointer(v)), uintptr(attribute), uintptr(fn)))
	return int(*v), err
}

// errNoAttributes is a launch's error with drivers that cannot be asked for more.
var errNoAttributes = layout.Errorf(device.ErrUnsupported, "Launch", "this driver gives kernels no more than 48 KiB of shared memory")

func (l *moduleCalls) setFunctionAttribute(fn cuFunction, attribute, value int) error {
	if l.functionSet == 0 {
		return errNoAttributes
	}
	return l.do("cuFuncSetAttribute", dl.Call(l.functionSet, uintptr(fn), uintptr(attribute), uintptr(value)))
}

func (l *moduleCalls) parameter(fn cuFunction, i int) (bytes int, ok bool, err error) {
	if l.functionParameter == 0 {
		return 0, false, errNoParameters
	}
	numbers := new([2]uint64)
	result := dl.Call(l.functionParameter, uintptr(fn), uintptr(i), uintptr(unsafe.Pointer(&numbers[0])), uintptr(unsafe.Pointer(&numbers[1])))
	if int32(result) == codeInvalidValue { // beyond the last
		return 0, false, nil
	}
	err = l.do("cuFuncGetParamInfo", result)
	return int(numbers[1]), err == nil, err
}
