package onnxruntime

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/tensor"
	ort "github.com/yalue/onnxruntime_go"
)

// values are tensors of ONNX Runtime over this module's memory.
type values struct {
	list []ort.Value // nil: not made yet
	pins runtime.Pinner
}

// add adds a tensor over memory. It has at least one axis.
func (v *values) add(memory []byte, t layout.DType, dims []int64) error {
	if len(dims) == 0 {
		dims = []int64{1}
	}
	if len(memory) == 0 {
		memory = make([]byte, 1) // no elements, but an address
	}
	v.pins.Pin(unsafe.SliceData(memory))
	x, err := ort.NewCustomDataTensor(dims, memory, ort.TensorElementDataType(t))
	if err != nil {
		return failed(err)
	}
	v.list = append(v.list, x)
	return nil
}

func (v *values) release() error {
	var errs []error
	for _, x := range v.list {
		if x != nil {
			errs = append(errs, x.Destroy())
		}
	}
	v.pins.Unpin()
	return errors.Join(errs...)
}

// run sets a call's outputs.
func (p *program) run(c *onnx.Call, in []*tensor.Tensor, operands []operand) (err error) {
	var given values
	defer func() { err = errors.Join(err, given.release()) }()
	for _, x := range in {
		memory, err := memoryOf(x)
		if err == nil {
			err = given.add(memory, x.DType(), x.Shape())
		}
		if err != nil {
			return err
		}
	}
	if len(in) == 0 {
		if err := given.add(make([]byte, 4), layout.Float32, nil); err != nil {
			return err
		}
	}
	home := c.Stream
	if !home.IsHost() {
		home = tensor.Host()
	}
	made, err := p.outputsOn(home, c.Context, given.list, operands)
	for i, x := range made {
		if err == nil {
			made[i], err = p.outputs[i].finished(x, c.Stream)
		}
	}
	if err != nil {
		return errors.Join(err, releaseAll(made))
	}
	for i, x := range made {
		c.Outputs[p.outputs[i].index] = x
	}
	return nil
}

func releaseAll(list []*tensor.Tensor) error {
	var errs []error
	for _, x := range list {
		if x != nil {
			errs = append(errs, x.Release())
		}
	}
	return errors.Join(errs...)
}

// outputsOn runs the session. ONNX Runtime writes to the given memory, if the shapes of the
// outputs are known: those of the last run with the same shapes of inputs. Otherwise its
// binding copies them to Go memory.
func (p *program) outputsOn(home *tensor.Stream, ctx context.Context, in []ort.Value, operands []operand) ([]*tensor.Tensor, error) {
	var key []byte
	for _, x := range operands {
		for _, n := range x.dims {
			key = append(key, byte(n), byte(n>>8), byte(n>>16), byte(n>>24), byte(n>>32), byte(n>>40), byte(n>>48), byte(n>>56))
		}
	}
	p.mutex.Lock()
	shapes := p.shapes[string(key)]
	p.mutex.Unlock()
	if shapes != nil {
		made, err := p.into(home, ctx, in, shapes)
		if err == nil || context.Cause(ctx) != nil || errors.Is(err, device.ErrOutOfMemory) {
			return made, err
		}
	}
	made, err := p.copied(home, ctx, in)
	if err != nil {
		return nil, err
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.varies = p.varies || shapes != nil; p.varies {
		clear(p.shapes)
		return made, nil
	}
	const most = 256
	if len(p.shapes) == most {
		clear(p.shapes)
	}
	shapes = make([][]int64, len(made))
	for i, x := range made {
		shapes[i] = x.Shape()
	}
	p.shapes[string(key)] = shapes
	return made, nil
}

// into makes new tensors and has the outputs written to them.
func (p *program) into(home *tensor.Stream, ctx context.Context, in []ort.Value, shapes [][]int64) (made []*tensor.Tensor, err error) {
	var out values
	defer func() {
		if err = errors.Join(err, out.release()); err != nil {
			err = errors.Join(err, releaseAll(made))
			made = nil
		}
	}()
	for i, dims := range shapes {
		x, err := tensor.Empty(home, p.outputs[i].carried(), dims...)
		if err != nil {
			return made, err
		}
		made = append(made, x)
		memory, err := memoryOf(x)
		if err == nil {
			err = out.add(memory, x.DType(), dims)
		}
		if err != nil {
			return made, err
		}
	}
	return made, p.call(ctx, in, out.list)
}

// copied lets ONNX Runtime allocate the outputs.
func (p *program) copied(home *tensor.Stream, ctx context.Context, in []ort.Value) (made []*tensor.Tensor, err error) {
	out := make([]ort.Value, len(p.outputs))
	if err := p.call(ctx, in, out); err != nil {
		return nil, err
	}
	for i, v := range out {
		if err == nil {
			var x *tensor.Tensor
			if x, err = adopt(home, p.outputs[i].carried(), v); err == nil {
				made = append(made, x)
			}
		}
		err = errors.Join(err, v.Destroy())
	}
	if err != nil {
		return nil, errors.Join(err, releaseAll(made))
	}
	return made, nil
}

// call calls ONNX Runtime, which stops when the context is done.
func (p *program) call(ctx context.Context, in, out []ort.Value) error {
	if ctx.Done() == nil {
		return failed(p.session.Run(in, out))
	}
	options, err := ort.NewRunOptions()
	if err != nil {
		return failed(err)
	}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() { stopped <- options.Terminate() })
	err = failed(p.session.RunWithOptions(in, out, options))
	if !stop() {
		if <-stopped; err != nil {
			err = context.Cause(ctx)
		}
	}
	return errors.Join(err, options.Destroy())
}

// finished returns an output in the session's form: x, or its conversion.
func (o *output) finished(x *tensor.Tensor, s *tensor.Stream) (*tensor.Tensor, error) {
	step := func(made *tensor.Tensor, err error) error {
		if err == nil {
			err = x.Release()
			x = made
		}
		return err
	}
	var err error
	if o.unsqueezed() {
		err = step(x.Squeeze(0))
	}
	if err == nil && o.carried() != o.dtype {
		err = step(x.Cast(o.dtype, device.Rounding{}))
	}
	if err == nil && !s.IsHost() {
		err = step(x.To(s))
	}
	return x, err
}

// memoryOf returns the memory of a contiguous tensor on the host.
func memoryOf(x *tensor.Tensor) ([]byte, error) {
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

// adopt returns a tensor over the memory of a tensor of ONNX Runtime's binding, which is Go
// memory and outlives it.
func adopt(home *tensor.Stream, t layout.DType, v ort.Value) (*tensor.Tensor, error) {
	memory, ok := goMemory(v)
	if !ok {
		return nil, layout.Errorf(device.ErrUnsupported, "onnxruntime", "an output is a %T", v)
	}
	l, err := layout.Contiguous(slices.Clone(v.GetShape())...)
	if err != nil {
		return nil, err
	}
	host, _ := device.As[device.HostMemory](home.Device())
	return tensor.OwnBuffer(home, host.WrapHost(memory), t, l)
}

// goMemory returns the elements of a tensor.
func goMemory(v ort.Value) ([]byte, bool) {
	switch v := v.(type) {
	case *ort.Tensor[float32]:
		return bytesOf(v.GetData()), true
	case *ort.Tensor[float64]:
		return bytesOf(v.GetData()), true
	case *ort.Tensor[bool]:
		return bytesOf(v.GetData()), true
	case *ort.Tensor[int8]:
		return bytesOf(v.GetData()), true
	case *ort.Tensor[int16]:
		return bytesOf(v.GetData()), true
	case *ort.Tensor[int32]:
		return bytesOf(v.GetData()), true
	case *ort.Tensor[int64]:
		return bytesOf(v.GetData()), true
	case *ort.Tensor[uint8]:
		return bytesOf(v.GetData()), true
	case *ort.Tensor[uint16]:
		return bytesOf(v.GetData()), true
	case *ort.Tensor[uint32]:
		return bytesOf(v.GetData()), true
	case *ort.Tensor[uint64]:
		return bytesOf(v.GetData()), true
	}
	return nil, false
}

func bytesOf[T any](list []T) []byte {
	var elem T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), len(list)*int(unsafe.Sizeof(elem)))
}
