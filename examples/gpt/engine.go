package main

import (
	"math"
	"reflect"
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/tensor"
)

// engine is an onnx.Provider: it runs the arithmetic. What moves elements is the session's.
type engine struct {
	kernels map[string]device.Kernel
	blas    *blas // nil: the kernel multiplies matrices
}

// operator is what the engine has of an operator of ONNX: nodes with these inputs and attributes.
type operator struct {
	inputs  []int
	attrs   onnx.Attrs
	strided uint64 // inputs that may be views
	run     func(e *engine, s *tensor.Stream, in []*tensor.Tensor) (*tensor.Tensor, error)
}

var operators = map[string]operator{
	"Add":              {inputs: []int{0, 1}, run: (*engine).add},
	"ArgMax":           {inputs: []int{0}, attrs: onnx.Attrs{onnx.Int("axis", -1), onnx.Int("keepdims", 0)}, run: (*engine).argMax},
	"Attention":        {inputs: []int{0, 1, 2, 6}, strided: 1<<0 | 1<<1 | 1<<2, run: (*engine).attention},
	"Gelu":             {inputs: []int{0}, attrs: onnx.Attrs{{Name: "approximate", Value: "tanh"}}, run: (*engine).gelu},
	"MatMul":           {inputs: []int{0, 1}, strided: 1 << 1, run: (*engine).matMul},
	"RMSNormalization": {inputs: []int{0, 1}, run: (*engine).norm},
}

// Operator is onnx.Provider's. Nodes that it declines are named in onnx.NewSession's error.
func (e *engine) Operator(n onnx.Node) (*onnx.Operator, error) {
	o, ok := operators[n.Op]
	var given []int
	for i, name := range n.Inputs {
		if name != "" {
			given = append(given, i)
		}
	}
	same := func(a, b onnx.Attr) bool { return a.Name == b.Name && reflect.DeepEqual(a.Value, b.Value) }
	if !ok || n.Domain != "" || !slices.Equal(given, o.inputs) || !slices.EqualFunc(n.Attrs, o.attrs, same) {
		return nil, nil
	}
	return &onnx.Operator{Strided: o.strided, Captures: true, Run: func(c *onnx.Call) (err error) {
		in := make([]*tensor.Tensor, len(c.Inputs))
		for _, i := range o.inputs {
			if in[i], err = c.Tensor(i); err != nil {
				return err
			}
		}
		y, err := o.run(e, c.Stream, in)
		if y != nil { // after an error the session releases it
			c.Outputs[0] = y
		}
		return err
	}}, nil
}

// launch makes a tensor, the first argument of the kernel that writes it, which it queues.
func (e *engine) launch(s *tensor.Stream, kernel string, dtype layout.DType, dims []int64, grid device.Dim3, args ...any) (*tensor.Tensor, error) {
	y, err := tensor.Empty(s, dtype, dims...)
	if err != nil {
		return nil, err
	}
	for i, x := range args {
		switch x.(type) {
		case *tensor.Tensor, device.StridedArgument:
			args[i] = device.ReadOnly(x)
		}
	}
	return y, s.Launch(e.kernels[kernel], grid, device.Dim3{blockSize}, append([]any{device.Overwritten(y)}, args...)...)
}

// each is launch for a kernel that has a work-item for each element of x.
func (e *engine) each(s *tensor.Stream, kernel string, x *tensor.Tensor, args ...any) (*tensor.Tensor, error) {
	return e.launch(s, kernel, x.DType(), x.Shape(), device.Dim3{blocks(x.Count(), blockSize)}, append(args, int(x.Count()))...)
}

// blocks returns how many blocks n elements need.
func blocks(n, size int64) uint32 { return uint32((n + size - 1) / size) }

func (e *engine) add(s *tensor.Stream, in []*tensor.Tensor) (*tensor.Tensor, error) {
	a, b := in[0], in[1]
	switch integers := a.DType() == layout.Int64; {
	case a.DType() == b.DType() && integers && b.Shape().Equal(layout.Shape{1}):
		return e.each(s, "advance", a, a, b)
	case a.DType() == b.DType() && !integers && a.Shape().Equal(b.Shape()):
		return e.each(s, "add", a, a, b)
	}
	return nil, layout.Errorf(device.ErrUnsupported, "Add", "inputs: they must be floats of one shape, or int64 and one int64")
}

func (e *engine) argMax(s *tensor.Stream, in []*tensor.Tensor) (*tensor.Tensor, error) {
	x, last := in[0], in[0].Rank()-1
	if last < 0 || x.Dim(last) == 0 {
		return nil, layout.Errorf(device.ErrUnsupported, "ArgMax", "inputs: it needs an element")
	}
	return e.launch(s, "argmax", layout.Int64, x.Shape()[:last], device.Dim3{uint32(x.Count() / x.Dim(last))}, x, int(x.Dim(last)))
}

func (e *engine) attention(s *tensor.Stream, in []*tensor.Tensor) (*tensor.Tensor, error) {
	q, k, v, lengths := in[0], in[1], in[2], in[6]
	dims := q.Shape()
	ok := len(dims) == 4 && dims[2] == 1 && dims[3] <= blockSize && k.Rank() == 4
	if !ok || !k.Shape().Equal(layout.Shape{dims[0], dims[1], k.Dim(2), dims[3]}) || !v.Shape().Equal(k.Shape()) || !lengths.Shape().Equal(dims[:1]) {
		return nil, layout.Errorf(device.ErrUnsupported, "Attention", "inputs: they must be a query [batch,heads,1,n], keys and values [batch,heads,places,n], and lengths [batch]; n is at most 128")
	}
	scale := float32(1 / math.Sqrt(float64(dims[3])))
	return e.launch(s, "attention", q.DType(), dims, device.Dim3{uint32(dims[1]), uint32(dims[0])}, device.Strided(q), device.Strided(k), device.Strided(v), lengths, scale)
}

func (e *engine) gelu(s *tensor.Stream, in []*tensor.Tensor) (*tensor.Tensor, error) {
	return e.each(s, "gelu", in[0], in[0])
}

func (e *engine) matMul(s *tensor.Stream, in []*tensor.Tensor) (*tensor.Tensor, error) {
	x, w, dims := in[0], in[1], in[0].Shape()
	last := len(dims) - 1
	if last < 0 || w.Rank() != 2 || dims[last] != w.Dim(0) || dims[last] == 0 || x.DType() != w.DType() {
		return nil, layout.Errorf(device.ErrUnsupported, "MatMul", "inputs: the second must be a matrix of the first's type, with a row for each of its columns")
	}
	rows := x.Count() / dims[last]
	dims[last] = w.Dim(1)
	if e.blas.can(s, w) {
		return e.blas.multiply(dims, x, w)
	}
	grid := device.Dim3{blocks(w.Dim(1), blockColumns), blocks(rows, blockRows)}
	return e.launch(s, "matmul", x.DType(), dims, grid, x, device.Strided(w), int(rows))
}

func (e *engine) norm(s *tensor.Stream, in []*tensor.Tensor) (*tensor.Tensor, error) {
	x, scale, n := in[0], in[1], in[0].Rank()-1
	if n < 0 || !scale.Shape().Equal(x.Shape()[n:]) || x.Dim(n) == 0 || x.DType() != scale.DType() {
		return nil, layout.Errorf(device.ErrUnsupported, "RMSNormalization", "inputs: the scale must have the last axis of the first, and its type")
	}
	width := x.Dim(n)
	return e.launch(s, "norm", x.DType(), x.Shape(), device.Dim3{uint32(x.Count() / width)}, x, scale, int(width), float32(1e-5))
}
