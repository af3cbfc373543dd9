package ort

import (
	"errors"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// CopyTo returns a copy of a tensor on a stream of the host.
func (v *Value) CopyTo(home *tensor.Stream) (*tensor.Tensor, error) {
	kind, err := v.kind()
	if err != nil {
		return nil, Failed(err)
	}
	if kind != tensorKind {
		return nil, layout.Errorf(device.ErrUnsupported, "onnxruntime", "an output is not a tensor")
	}
	t, dims, err := v.tensor()
	if err != nil {
		return nil, Failed(err)
	}
	size, err := layout.Shape(dims).Bytes(t)
	if err != nil {
		return nil, err
	}
	from, err := v.bytes(size)
	if err != nil {
		return nil, Failed(err)
	}
	x, err := tensor.Empty(home, t, dims...)
	if err != nil {
		return nil, err
	}
	to, err := MemoryOf(x)
	if err != nil {
		return nil, errors.Join(err, x.Release())
	}
	copy(to, from)
	return x, nil
}

// MemoryOf returns the memory of a contiguous tensor on the host.
func MemoryOf(x *tensor.Tensor) ([]byte, error) {
	host, ok := device.As[device.HostMemory](x.Stream().Device())
	if !ok {
		return nil, layout.Errorf(device.ErrInvalid, "onnxruntime", "a tensor is on %s, not on the host", x.Stream().Device().Info().ID())
	}
	memory, ok := host.HostBytes(x.Buffer())
	if !ok {
		return nil, layout.Errorf(device.ErrUnsupported, "onnxruntime", "a tensor of %v has no bytes", x.DType())
	}
	bits := int64(x.DType().Bits())
	l := x.Layout()
	from := l.Offset() * bits
	if from%8 != 0 {
		return nil, layout.Errorf(device.ErrUnsupported, "onnxruntime", "a tensor of %v begins within a byte", x.DType())
	}
	size := (x.Count()*bits + 7) / 8
	return memory[from/8:][:size], nil
}

// Failed is an error of ONNX Runtime.
func Failed(err error) error {
	if err == nil {
		return nil
	}
	return layout.Errorf(device.ErrDriver, "onnxruntime", "%v", err)
}
