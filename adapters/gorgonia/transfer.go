package gorgonia

import (
	"errors"
	"runtime"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"

	gt "gorgonia.org/tensor"
)

// ToDevice returns a contiguous copy of a host tensor on the device.
func (e *Device) ToDevice(t gt.Tensor) (*gt.Dense, error) {
	const op = "ToDevice"
	all, foreign, err := Host{}.operands(op, t)
	if err != nil {
		return nil, err
	}
	if foreign {
		return nil, layout.Errorf(device.ErrUnsupported, op, "elements of type %v, or a mask", t.Dtype())
	}
	from, err := see(Host{}, op, all[0])
	if err != nil {
		return nil, err
	}
	defer from.Release()
	raw := all[0].Raw
	if l := from.Layout(); !l.IsContiguous() {
		whole, err := materialize(Host{}, op, all[0])
		if err != nil {
			return nil, err
		}
		raw = whole.Raw
	}
	out, err := e.empty(op, t.Dtype(), t.Shape())
	if err != nil {
		return nil, err
	}
	if err := e.Memcpy(out, hostBytes(raw)); err != nil {
		return nil, errors.Join(err, discard(out))
	}
	runtime.KeepAlive(t)
	return out, nil
}

// ToHost returns a contiguous copy of a device's tensor or view, with engine Host. It waits for
// the work on it.
func (e *Device) ToHost(t gt.Tensor) (*gt.Dense, error) {
	const op = "ToHost"
	all, err := denses(op, t)
	if err != nil {
		return nil, err
	}
	from, err := see(e, op, all[0])
	if err != nil {
		return nil, err
	}
	defer from.Release()
	out, err := Host{}.empty(op, t.Dtype(), t.Shape())
	if err != nil {
		return nil, err
	}
	size, err := from.Shape().Bytes(from.DType())
	if err == nil {
		err = from.ReadInto(out.Raw[:size])
	}
	return out, layout.Named(op, err)
}
