package onnx

import (
	"math"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// Models compute shapes with the same operators that compute data. The host does that
// arithmetic on tensors of few elements, one element at a time. Arithmetic on large tensors
// needs an engine.

// fewElements is the largest number of elements that the host computes with. Tensors on a
// device are read first.
const fewElements = 1 << 16

// number is an element type that Go can compute with.
type number interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

// evaluator does the arithmetic of one element type. Its operands are on the host; binary's
// operands have the same shape.
type evaluator interface {
	binary(d *definition, how binaryAttrs, a, b *tensor.Tensor) (*tensor.Tensor, error)
	unary(d *definition, x *tensor.Tensor) (*tensor.Tensor, error)
	reduce(d *definition, x *tensor.Tensor, run int64, dims []int64) (*tensor.Tensor, error)
}

// calculator is the evaluator of a numeric type.
type calculator interface {
	evaluator
	top(x *tensor.Tensor, how topAttrs) (values, indices *tensor.Tensor, err error)
	sequence(start, limit, delta *tensor.Tensor) (*tensor.Tensor, error)
}

// calculators has one entry per type. Half-precision types are computed as float and then
// rounded: for a single operation the result is the same as exact arithmetic.
var calculators = map[layout.DType]calculator{
	layout.Int8: of[int8]{}, layout.Int16: of[int16]{}, layout.Int32: of[int32]{}, layout.Int64: of[int64]{},
	layout.Uint8: of[uint8]{}, layout.Uint16: of[uint16]{}, layout.Uint32: of[uint32]{}, layout.Uint64: of[uint64]{},
	layout.Float32: of[float32]{}, layout.Float64: of[float64]{},
	layout.Float16: of[float32]{}, layout.BFloat16: of[float32]{},
}

func evaluatorOf(t layout.DType) evaluator {
	if t == layout.Bool {
		return logic{}
	}
	return calculators[t]
}

// of is the calculator of type T.
type of[T number] struct{}

// isInteger reports whether division truncates.
func (of[T]) isInteger() bool {
	one := T(1)
	return one/2 == 0
}

// limits returns the least and the greatest value; for floats they are infinite.
func (o of[T]) limits() (lowest, highest T) {
	if !o.isInteger() {
		inf := math.Inf(1)
		return T(-inf), T(inf)
	}
	highest = 1
	for highest*2+1 > highest {
		highest = highest*2 + 1
	}
	if zero := T(0); zero-1 < zero {
		lowest = -highest - 1
	}
	return lowest, highest
}

// zip returns a host tensor with f applied to each pair of elements of a and b, which have
// the same shape.
func zip[A, R layout.Element](op string, a, b *tensor.Tensor, f func(x, y A) R) (*tensor.Tensor, error) {
	x, err := tensor.Values[A](a)
	if err != nil {
		return nil, err
	}
	y, err := tensor.Values[A](b)
	if err != nil {
		return nil, err
	}
	out, err := budget.Make[R](budget.Process(), op, int64(len(x)))
	if err != nil {
		return nil, err
	}
	for i := range x {
		out[i] = f(x[i], y[i])
	}
	return tensor.FromHost(out, a.AppendDims([]int64{})...)
}

// each returns a host tensor with f applied to each element.
func each[A, R layout.Element](op string, x *tensor.Tensor, f func(A) R) (*tensor.Tensor, error) {
	return runs(op, x, 1, x.AppendDims([]int64{}), func(run []A) R { return f(run[0]) })
}

// runs returns a host tensor with f applied to each run of n elements.
func runs[A, R layout.Element](op string, x *tensor.Tensor, n int64, dims []int64, f func(run []A) R) (*tensor.Tensor, error) {
	in, err := tensor.Values[A](x)
	if err != nil {
		return nil, err
	}
	count, err := layout.Shape(dims).Count()
	if err != nil {
		return nil, err
	}
	out, err := budget.Make[R](budget.Process(), op, count)
	if err != nil {
		return nil, err
	}
	for i := range out {
		out[i] = f(in[int64(i)*n:][:n])
	}
	return tensor.FromHost(out, dims...)
}

// operands returns the inputs on the host and their type, which must be the same for all.
// Half-precision inputs are returned as float.
func (c *call) operands() ([]*tensor.Tensor, layout.DType, error) {
	t := elemOfValue(c.in[0])
	xs := make([]*tensor.Tensor, len(c.in))
	for i := range c.in {
		x, err := c.tensor(i, "an operand")
		if err != nil {
			return nil, t, err
		}
		if x.DType() != t {
			return nil, t, c.d.invalid("input %d is %v; input 0 is %s: they must be of one type", i, describe(x), describe(c.in[0]))
		}
		if xs[i], err = c.operand(x); err != nil {
			return nil, t, err
		}
	}
	return xs, t, nil
}

// operand returns a host tensor to compute with; half precision is returned as float.
func (c *call) operand(x *tensor.Tensor) (*tensor.Tensor, error) {
	x, err := c.toHost(x)
	if err != nil || !isHalf(x.DType()) {
		return x, err
	}
	y, err := x.Cast(layout.Float32, device.Rounding{})
	if err == nil {
		c.temps = append(c.temps, y)
	}
	return y, err
}

func isHalf(t layout.DType) bool { return t == layout.Float16 || t == layout.BFloat16 }

// toHost returns a tensor of few elements on the host. It is valid during the call.
func (c *call) toHost(x *tensor.Tensor) (*tensor.Tensor, error) {
	if x.Stream() != tensor.Host() && x.Count() > fewElements {
		return nil, layout.Errorf(device.ErrUnsupported, c.d.name,
			"%s is on %s: the host calculates with shapes, of up to %d elements; an engine can have the rest (WithOperators)", describe(x), x.Stream().Device().Info().ID(), fewElements)
	}
	return c.fetch(x)
}

// fetch returns a tensor on the host. It is valid during the call.
func (c *call) fetch(x *tensor.Tensor) (*tensor.Tensor, error) {
	if x.Stream() == tensor.Host() {
		return x, nil
	}
	if err := c.await(x); err != nil {
		return nil, err
	}
	y, err := x.To(tensor.Host())
	if err != nil {
		return nil, err
	}
	c.temps = append(c.temps, y)
	c.moved(x, tensor.Host())
	return y, nil
}

// permuted returns a view that is valid during the call.
func (c *call) permuted(x *tensor.Tensor, perm []int) (*tensor.Tensor, error) {
	l, err := x.Layout().Permute(perm...)
	if err != nil {
		return nil, err
	}
	y, err := x.WithLayout(c.d.name, l)
	if err == nil {
		c.temps = append(c.temps, y)
	}
	return y, err
}

// setAs sets output i of the call to y as type t. If t is a half-precision type, y holds
// floats.
func (c *call) setAs(i int, t layout.DType, y *tensor.Tensor, err error) error {
	if err != nil {
		return err
	}
	if isHalf(t) && y.DType() == layout.Float32 {
		c.temps = append(c.temps, y)
		if y, err = y.Cast(t, device.Rounding{}); err != nil {
			return err
		}
	}
	c.out[i] = y
	return nil
}

// broadcast expands the operands to one shape by numpy's rule.
func (c *call) broadcast(xs []*tensor.Tensor) error {
	dims := xs[0].Shape()
	for _, x := range xs[1:] {
		var err error
		if dims, err = layout.Broadcast(dims, x.Shape()); err != nil {
			return layout.Named(c.d.name, err)
		}
	}
	for i := range xs {
		if err := c.expand(&xs[i], dims); err != nil {
			return err
		}
	}
	return nil
}

// expand replaces an operand with a view of other extents.
func (c *call) expand(x **tensor.Tensor, dims layout.Shape) error {
	l, err := (*x).Layout().Expand(dims...)
	if err != nil {
		return err
	}
	y, err := (*x).WithLayout(c.d.name, l)
	if err == nil {
		c.temps = append(c.temps, y)
		*x = y
	}
	return err
}

// place gives operand 1 the shape of operand 0 by the rule of opsets before 7: operand 1
// has one element, or its extents are a consecutive part of operand 0's. That part starts
// at axis; without axis it ends at the last one.
func (c *call) place(xs []*tensor.Tensor, how binaryAttrs) error {
	a, b := xs[0].Shape(), xs[1].Shape()
	if !how.broadcast {
		if !a.Equal(b) {
			return c.d.invalid("the shapes %v and %v differ, and attribute broadcast is not set", a, b)
		}
		return nil
	}
	at := int64(len(a) - len(b))
	if how.axisGiven {
		if at = how.axis; at < 0 {
			at += int64(len(a))
		}
	}
	one := xs[1].Count() == 1
	if one {
		b, at = nil, int64(len(a))
	}
	if at < 0 || at > int64(len(a)-len(b)) || !b.Equal(a[at:][:len(b)]) {
		return c.d.invalid("%v at axis %d of %v: the extents must be equal", b, at, a)
	}
	placed := append([]int64{}, b...)
	for range int64(len(a)) - at - int64(len(b)) {
		placed = append(placed, 1)
	}
	y, err := xs[1].Reshape(placed...)
	if err != nil {
		return err
	}
	c.temps = append(c.temps, y)
	xs[1] = y
	return c.expand(&xs[1], a)
}
