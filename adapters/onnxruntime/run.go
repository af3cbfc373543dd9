package onnxruntime

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/restride/restride/adapters/onnxruntime/internal/ort"
	"github.com/restride/restride/device"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/tensor"
)

// values are ONNX Runtime's.
type values []*ort.Value

// add adds a tensor over a tensor's memory.
func (v *values) add(x *tensor.Tensor, dims []int64) error {
	memory, err := ort.MemoryOf(x)
	if err != nil {
		return err
	}
	y, err := ort.NewTensor(memory, x.DType(), dims)
	if err != nil {
		return ort.Failed(err)
	}
	*v = append(*v, y)
	return nil
}

func (v values) release() {
	for _, x := range v {
		if x != nil {
			x.Release()
		}
	}
}

// run sets a call's outputs.
func (p *program) run(c *onnx.Call, in []*tensor.Tensor, operands []operand) error {
	var given values
	defer func() { given.release() }()
	for i, x := range in {
		if err := given.add(x, operands[i].dims); err != nil {
			return err
		}
	}
	home := c.Stream
	if !home.IsHost() {
		home = tensor.Host()
	}
	made, err := p.outputsOn(home, c.Context, given, operands)
	for i, x := range made {
		if err == nil && home != c.Stream {
			if made[i], err = x.To(c.Stream); err == nil {
				err = x.Release()
			} else {
				made[i] = x
			}
		}
	}
	if err != nil {
		return errors.Join(err, releaseAll(made))
	}
	for i, x := range made {
		c.Outputs[p.outputs[i]] = x
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

// outputsOn runs the session. If an earlier run had inputs of the same shapes, the shapes of the
// outputs are known, and ONNX Runtime writes to the given memory. Otherwise the outputs are copied
// from its own.
func (p *program) outputsOn(home *tensor.Stream, ctx context.Context, in values, operands []operand) ([]*tensor.Tensor, error) {
	var key []byte
	for _, x := range operands {
		for _, n := range x.dims {
			key = binary.LittleEndian.AppendUint64(key, uint64(n))
		}
	}
	known := p.shapesFor(string(key))
	if known != nil {
		made, err := p.into(home, ctx, in, known)
		if err == nil || context.Cause(ctx) != nil || errors.Is(err, device.ErrOutOfMemory) {
			return made, err
		}
	}
	made, err := p.copied(home, ctx, in)
	if err != nil {
		return nil, err
	}
	shapes := make([]operand, len(made))
	for i, x := range made {
		shapes[i] = operand{x.DType(), x.Shape()}
	}
	p.learn(string(key), shapes, known != nil)
	return made, nil
}

// into makes new tensors and has the outputs written to them.
func (p *program) into(home *tensor.Stream, ctx context.Context, in values, shapes []operand) (made []*tensor.Tensor, err error) {
	var out values
	defer func() {
		if out.release(); err != nil {
			err = errors.Join(err, releaseAll(made))
			made = nil
		}
	}()
	for _, is := range shapes {
		x, err := tensor.Empty(home, is.dtype, is.dims...)
		if err != nil {
			return made, err
		}
		made = append(made, x)
		if err := out.add(x, is.dims); err != nil {
			return made, err
		}
	}
	return made, p.call(ctx, in, out)
}

// copied lets ONNX Runtime allocate the outputs.
func (p *program) copied(home *tensor.Stream, ctx context.Context, in values) (made []*tensor.Tensor, err error) {
	out := make(values, len(p.outputs))
	defer func() { out.release() }()
	if err := p.call(ctx, in, out); err != nil {
		return nil, err
	}
	for _, v := range out {
		x, err := v.CopyTo(home)
		if err != nil {
			return nil, errors.Join(err, releaseAll(made))
		}
		made = append(made, x)
	}
	return made, nil
}
