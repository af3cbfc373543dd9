package cuda

import (
	"unsafe"

	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/internal/quote"
)

// deviceCalls are the calls about devices and contexts.
type deviceCalls struct {
	*driverLibrary

	deviceGetCount, deviceName, deviceMemory, deviceAttribute uintptr
	primaryRetain, primaryRelease, ctxSet, ctxGet             uintptr
	ctxDevice, exchangeMode                                   uintptr
}

func (l *deviceCalls) deviceCount() (int, error) {
	n := new(int32)
	err := l.do("cuDeviceGetCount", dl.Call(l.deviceGetCount, uintptr(unsafe.Pointer(n))))
	return int(*n), err
}

// Attributes of a device.
const (
	attributeClock = 13
	attributeUnits = 16
	attributeMajor = 75
	attributeMinor = 76
	attributePools = 115
)

func (l *deviceCalls) properties(ordinal int) (properties, error) {
	handle, err := l.handle(ordinal)
	if err != nil {
		return properties{}, err
	}
	bytes, name := new(uint64), make([]byte, 256)
	if err := l.do("cuDeviceGetName", dl.Call(l.deviceName, uintptr(unsafe.Pointer(&name[0])), uintptr(len(name)-1), handle)); err != nil {
		return properties{}, err
	}
	if err := l.do("cuDeviceTotalMem", dl.Call(l.deviceMemory, uintptr(unsafe.Pointer(bytes)), handle)); err != nil {
		return properties{}, err
	}
	attribute := func(code int) (int, error) {
		v := new(int32)
		err := l.do("cuDeviceGetAttribute", dl.Call(l.deviceAttribute, uintptr(unsafe.Pointer(v)), uintptr(code), handle))
		return int(*v), err
	}
	f := properties{name: quote.Text(text(name)), memory: int64(*bytes)}
	if f.major, err = attribute(attributeMajor); err != nil {
		return properties{}, err
	}
	if f.minor, err = attribute(attributeMinor); err != nil {
		return properties{}, err
	}
	pools, err := attribute(attributePools)
	f.pools = err == nil && pools == 1 // a driver that does not know the question has none
	f.clock, _ = attribute(attributeClock)
	f.units, _ = attribute(attributeUnits)
	f.bus = pciAddress(attribute)
	return f, nil
}

func (l *deviceCalls) retainPrimary(ordinal int) (cuContext, error) {
	d, err := l.handle(ordinal)
	if err != nil {
		return 0, err
	}
	c := new(cuContext)
	err = l.do("cuDevicePrimaryCtxRetain", dl.Call(l.primaryRetain, uintptr(unsafe.Pointer(c)), d))
	return *c, err
}

func (l *deviceCalls) releasePrimary(ordinal int) error {
	d, err := l.handle(ordinal)
	if err != nil {
		return err
	}
	return l.do("cuDevicePrimaryCtxRelease", dl.Call(l.primaryRelease, d))
}

func (l *deviceCalls) setCurrent(f *frame, c cuContext) error {
	f.args[0] = uintptr(c)
	return l.do("cuCtxSetCurrent", dl.Call(l.ctxSet, f.args[:1]...))
}

func (l *deviceCalls) current(f *frame) (cuContext, error) {
	f.args[0] = uintptr(unsafe.Pointer(&f.ctx))
	err := l.do("cuCtxGetCurrent", dl.Call(l.ctxGet, f.args[:1]...))
	return f.ctx, err
}

func (l *deviceCalls) ordinal() (int, error) {
	n := new(int32)
	err := l.do("cuCtxGetDevice", dl.Call(l.ctxDevice, uintptr(unsafe.Pointer(n))))
	return int(*n), err
}

func (l *deviceCalls) captureMode(f *frame, mode int32) (int32, error) {
	f.n = mode
	f.args[0] = uintptr(unsafe.Pointer(&f.n))
	err := l.do("cuThreadExchangeStreamCaptureMode", dl.Call(l.exchangeMode, f.args[:1]...))
	return f.n, err
}
