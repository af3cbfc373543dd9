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

// engine is an onnx.Provider: it runs the arithmetic of the model on one stream. What moves
// elements is the session's.
type engine struct {
	stream  *tensor.Stream
	kernels map[string]device.Kernel
	blas    *blas // nil: the kernel multiplies matrices
}

func newEngine(s *tensor.Stream, dtype layout.DType, library string) (*engine, error) {
	k, err := loadKernels(s.Device(), dtype)
	if err != nil {
		return nil, err
	}
	b, err := openBLAS(s, library)
	return &engine{s, k, b}, err
}

// operator is what the engine has of an operator of ONNX.
type operator struct {
	inputs  []int      // that a node must have
	attrs   onnx.Attrs // that it must have
	strided uint64     // inputs that may be views
	run     func(e *engine, in []*tensor.Tensor) (*tensor.Tensor, error)
}

var operators = map[string]operator{
	"Add":              {inputs: []int{0, 1}, run: (*engine).add},
	"ArgMax":           {inputs: []int{0}, attrs: onnx.Attrs{onnx.Int("axis", -1), onnx.Int("keepdims", 0)}, run: (*engine).argMax},
	"Attention":        {inputs: []int{0, 1, 2, 6}, strided: 1<<0 | 1<<1 | 1<<2, run: (*engine).attention},
	"Gelu":             {inputs: []int{0}, attrs: onnx.Attrs{{Name: "approximate", Value: "tanh"}}, run: (*engine).gelu},
	"MatMul":           {inputs: []int{0, 1}, strided: 1 << 1, run: (*engine).matMul},
	"RMSNormalization": {inputs: []int{0, 1}, run: (*engine).norm},
}

// Operator is onnx.Provider's. Nodes that it declines are errors of onnx.NewSession, by name.
func (e *engine) Operator(n onnx.Node) (*onnx.Operator, error) {
	o, ok := operators[n.Op]
	given := func(i int) bool { return i < len(n.Inputs) && n.Inputs[i] != "" }
	same := func(a, b onnx.Attr) bool { return a.Name == b.Name && reflect.DeepEqual(a.Value, b.Value) }
	for i := range n.Inputs {
		ok = ok && given(i) == slices.Contains(o.inputs, i)
	}
	if !ok || n.Domain != "" || !slices.EqualFunc(n.Attrs, o.attrs, same) {
		return nil, nil
	}
	return &onnx.Operator{Strided: o.strided, Run: func(c *onnx.Call) error {
		in := make([]*tensor.Tensor, len(c.Inputs))
		for _, i := range o.inputs {
			var err error
			if in[i], err = c.Tensor(i); err != nil {
				return err
			}
		}
		y, err := o.run(e, in)
		if y != nil {
			c.Outputs[0] = y // the session releases it, also after an error
		}
		return err
	}}, nil
}

// launch makes a tensor and queues the kernel that writes it: the tensor is its first argument.
func (e *engine) launch(name string, dtype layout.DType, dims []int64, grid device.Dim3, args ...any) (*tensor.Tensor, error) {
	y, err := tensor.Empty(e.stream, dtype, dims...)
	if err != nil {
		return nil, err
	}
	return y, e.stream.Launch(e.kernels[name], grid, device.Dim3{blockSize}, append([]any{y}, args...)...)
}

// each is launch with a work-item for each element.
func (e *engine) each(name string, x *tensor.Tensor, args ...any) (*tensor.Tensor, error) {
	n := x.Count()
	return e.launch(name, x.DType(), x.Shape(), device.Dim3{uint32((n + blockSize - 1) / blockSize)}, append(args, int(n))...)
}

// refuse is the error of inputs that break a rule.
func refuse(op, rule string, in ...*tensor.Tensor) (*tensor.Tensor, error) {
	text := ""
	for _, x := range in {
		if x != nil {
			text += " " + x.DType().String() + x.Shape().String()
		}
	}
	return nil, layout.Errorf(device.ErrUnsupported, op, "inputs%s: %s", text, rule)
}

// matMul multiplies by a matrix of any strides.
func (e *engine) matMul(in []*tensor.Tensor) (*tensor.Tensor, error) {
	x, w := in[0], in[1]
	dims, last := x.Shape(), x.Rank()-1
	if last < 0 || w.Rank() != 2 || dims[last] != w.Dim(0) || dims[last] == 0 || x.DType() != w.DType() {
		return refuse("MatMul", "the second must be a matrix, with a row for each column of the first, of its type", in...)
	}
	rows := x.Count() / dims[last]
	dims[last] = w.Dim(1)
	if e.blas != nil && e.blas.can(w) {
		y, err := tensor.Empty(e.stream, x.DType(), dims...)
		if err != nil {
			return nil, err
		}
		return y, e.blas.multiply(y, x, w, rows)
	}
	grid := device.Dim3{uint32((w.Dim(1) + blockColumns - 1) / blockColumns), uint32((rows + blockRows - 1) / blockRows)}
	return e.launch("matmul", x.DType(), dims, grid, x, device.Strided(w), int(rows))
}

// add adds tensors of one shape, or a number to places.
func (e *engine) add(in []*tensor.Tensor) (*tensor.Tensor, error) {
	a, b := in[0], in[1]
	switch one := b.Rank() == 1 && b.Dim(0) == 1; {
	case a.DType() != b.DType() || a.DType() == layout.Int64 != one || !one && !a.Shape().Equal(b.Shape()):
		return refuse("Add", "they must be floats of one shape, or int64 and one int64", in...)
	case one:
		return e.each("advance", a, a, b)
	}
	return e.each("add", a, a, b)
}

func (e *engine) norm(in []*tensor.Tensor) (*tensor.Tensor, error) {
	x, scale := in[0], in[1]
	if n := x.Rank() - 1; n < 0 || scale.Rank() != 1 || scale.Dim(0) != x.Dim(n) || x.Dim(n) == 0 || x.DType() != scale.DType() {
		return refuse("RMSNormalization", "the scale must have the last axis of the first, and its type", in...)
	}
	width := scale.Dim(0)
	return e.launch("norm", x.DType(), x.Shape(), device.Dim3{uint32(x.Count() / width)}, x, scale, int(width), float32(1e-5))
}

func (e *engine) gelu(in []*tensor.Tensor) (*tensor.Tensor, error) {
	return e.each("gelu", in[0], in[0])
}

func (e *engine) attention(in []*tensor.Tensor) (*tensor.Tensor, error) {
	q, k, v, lengths := in[0], in[1], in[2], in[6]
	dims := q.Shape()
	ok := len(dims) == 4 && dims[2] == 1 && dims[3] <= blockSize && k.Rank() == 4
	if !ok || !k.Shape().Equal(layout.Shape{dims[0], dims[1], k.Dim(2), dims[3]}) || !v.Shape().Equal(k.Shape()) || !lengths.Shape().Equal(dims[:1]) {
		return refuse("Attention", "they must be a query [batch,heads,1,n], keys and values [batch,heads,places,n], and lengths [batch]; n is at most 128", in...)
	}
	scale := float32(1 / math.Sqrt(float64(dims[3])))
	grid := device.Dim3{uint32(dims[1]), uint32(dims[0])}
	return e.launch("attention", q.DType(), dims, grid, device.Strided(q), device.Strided(k), device.Strided(v), lengths, scale)
}

func (e *engine) argMax(in []*tensor.Tensor) (*tensor.Tensor, error) {
	x, last := in[0], in[0].Rank()-1
	if last < 0 || x.Dim(last) == 0 {
		return refuse("ArgMax", "it needs an element", in...)
	}
	return e.launch("argmax", layout.Int64, x.Shape()[:last], device.Dim3{uint32(x.Count() / x.Dim(last))}, x, int(x.Dim(last)))
}

// multiplier names what multiplies matrices.
func (e *engine) multiplier() string {
	if e.blas != nil {
		return "cuBLAS"
	}
	return "a kernel"
}
