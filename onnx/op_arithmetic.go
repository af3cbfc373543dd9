package onnx

import (
	"math"
	"slices"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func init() {
	numeric := types5.without(layout.Bool, layout.String, layout.Complex64, layout.Complex128)
	wide := types1.with(layout.Int32, layout.Int64, layout.Uint32, layout.Uint64)
	truth := typeSet(0).with(layout.Bool)
	half := layout.BFloat16

	pair := definition{inputs: arity{2, 2}, arithmetic: true, prepare: prepareBinary}
	placed := pair
	placed.attrs = []string{"axis", "broadcast"}
	placed1 := pair
	placed1.attrs = []string{"axis", "broadcast", "consumed_inputs"}
	for _, op := range []string{"Add", "Sub", "Mul", "Div"} {
		register(op, placed1.versions(change{1, types1}), placed.versions(change{6, wide}),
			pair.versions(change{7, wide}, change{13, wide.with(half)}, change{14, numeric.with(half)}))
	}
	mod := pair
	mod.attrs = []string{"fmod"}
	register("Mod", mod.versions(change{10, numeric}, change{13, numeric.with(half)}, change{28, numeric.with(half)}))

	equal := typeSet(0).with(layout.Bool, layout.Int32, layout.Int64)
	all := numeric.with(layout.Bool)
	register("Equal", placed.versions(change{1, equal}),
		pair.versions(change{7, equal}, change{11, all}, change{13, all.with(half)}, change{19, all.with(half, layout.String)}))
	for _, op := range []string{"Less", "Greater"} {
		register(op, placed.versions(change{1, types1}), pair.versions(change{7, types1}, change{9, numeric}, change{13, numeric.with(half)}))
	}
	for _, op := range []string{"LessOrEqual", "GreaterOrEqual"} {
		register(op, pair.versions(change{12, numeric}, change{16, numeric.with(half)}))
	}
	for _, op := range []string{"And", "Or", "Xor"} {
		register(op, placed.versions(change{1, truth}), pair.versions(change{7, truth}))
	}

	list := definition{inputs: arity{1, many}, arithmetic: true, prepare: prepareExtreme}
	list1 := list
	list1.attrs = []string{"consumed_inputs"}
	for _, op := range []string{"Min", "Max"} {
		register(op, list1.versions(change{1, types1}),
			list.versions(change{6, types1}, change{8, types1}, change{12, numeric}, change{13, numeric.with(half)}))
	}

	single := definition{inputs: arity{1, 1}, arithmetic: true, prepare: prepareUnary}
	single1 := single
	single1.attrs = []string{"consumed_inputs"}
	signed := types1.with(layout.Int8, layout.Int16, layout.Int32, layout.Int64)
	for op, types := range map[string]typeSet{"Ceil": types1, "Floor": types1, "Sqrt": types1, "Neg": signed, "Abs": numeric} {
		register(op, single1.versions(change{1, types1}), single.versions(change{6, types}, change{13, types.with(half)}))
	}
	register("Sign", single.versions(change{9, numeric}, change{13, numeric.with(half)}))
	register("Not", single.versions(change{1, truth}))
}

// binaryAttrs are the attributes of operators with two operands.
type binaryAttrs struct {
	fmod            bool // Mod: the result has the dividend's sign
	broadcast       bool // before opset 7
	axis            int64
	axisGiven, late bool // late: from opset 7
}

func prepareBinary(d *definition, attrs Attrs) (kernel, error) {
	how := binaryAttrs{late: !slices.Contains(d.attrs, "broadcast")}
	var err error
	if how.fmod, err = d.boolAttr(attrs, "fmod", false); err != nil {
		return nil, err
	}
	if how.broadcast, err = d.boolAttr(attrs, "broadcast", false); err != nil {
		return nil, err
	}
	if how.axis, how.axisGiven, err = attrs.Int("axis"); err != nil {
		return nil, err
	}
	return func(c *call) error {
		xs, t, err := c.operands()
		if err != nil {
			return err
		}
		if how.late {
			err = c.broadcast(xs)
		} else {
			err = c.place(xs, how)
		}
		if err != nil {
			return err
		}
		if t == layout.String {
			return c.set(zip(d.name, xs[0], xs[1], func(a, b string) bool { return a == b }))
		}
		y, err := evaluatorOf(t).binary(d, how, xs[0], xs[1])
		return c.setAs(0, t, y, err)
	}, nil
}

// prepareExtreme prepares Min and Max, with any number of operands.
func prepareExtreme(d *definition, _ Attrs) (kernel, error) {
	return func(c *call) error {
		xs, t, err := c.operands()
		if err != nil {
			return err
		}
		if d.since < 8 {
			for _, x := range xs[1:] {
				if !x.Shape().Equal(xs[0].Shape()) {
					return d.invalid("the shapes %v and %v differ; Min and Max broadcast from opset 8", xs[0].Shape(), x.Shape())
				}
			}
		}
		if err := c.broadcast(xs); err != nil {
			return err
		}
		y, err := xs[0].Alias()
		for _, x := range xs[1:] {
			if err != nil {
				return err
			}
			c.temps = append(c.temps, y)
			y, err = evaluatorOf(t).binary(d, binaryAttrs{}, y, x)
		}
		return c.setAs(0, t, y, err)
	}, nil
}

func prepareUnary(d *definition, _ Attrs) (kernel, error) {
	return func(c *call) error {
		x, err := c.operand(c.x)
		if err != nil {
			return err
		}
		y, err := evaluatorOf(c.x.DType()).unary(d, x)
		return c.setAs(0, c.x.DType(), y, err)
	}, nil
}

func (o of[T]) binary(d *definition, how binaryAttrs, a, b *tensor.Tensor) (*tensor.Tensor, error) {
	if test := o.test(d.op); test != nil {
		return zip(d.name, a, b, test)
	}
	if d.op == "Mod" && d.since < 28 && !how.fmod && !o.isInteger() {
		return nil, d.invalid("attribute fmod must be 1 for type %v; Mod allows 0 from opset 28", layout.TypeOf[T]())
	}
	zero := false
	f := o.calculation(d.op, how.fmod)
	if o.isInteger() && (d.op == "Div" || d.op == "Mod") {
		divide := f
		f = func(a, b T) T {
			if b == 0 {
				zero = true
				return 0
			}
			return divide(a, b)
		}
	}
	y, err := zip(d.name, a, b, f)
	if err == nil && zero {
		return nil, d.invalid("an integer is divided by 0")
	}
	return y, err
}

// calculation returns an operator's function of two numbers. Integers wrap around, and
// their division truncates.
func (o of[T]) calculation(op string, fmod bool) func(a, b T) T {
	switch op {
	case "Add":
		return func(a, b T) T { return a + b }
	case "Sub":
		return func(a, b T) T { return a - b }
	case "Mul":
		return func(a, b T) T { return a * b }
	case "Div":
		return func(a, b T) T { return a / b }
	case "Min":
		return func(a, b T) T { return min(a, b) }
	case "Max":
		return func(a, b T) T { return max(a, b) }
	}
	rest := remainder[T]
	if !o.isInteger() {
		rest = func(a, b T) T { return T(math.Mod(float64(a), float64(b))) }
	}
	if fmod {
		return rest
	}
	return func(a, b T) T { // the result has the divisor's sign
		switch r := rest(a, b); {
		case r == 0 && !o.isInteger():
			return T(math.Copysign(0, float64(b)))
		case r != 0 && (r < 0) != (b < 0):
			return r + b
		default:
			return r
		}
	}
}

// remainder is the remainder of truncating integer division.
func remainder[T number](a, b T) T { return a - a/b*b }

// test returns the comparison that an operator performs, or nil if it is not a comparison.
func (of[T]) test(op string) func(a, b T) bool {
	switch op {
	case "Equal":
		return func(a, b T) bool { return a == b }
	case "Less":
		return func(a, b T) bool { return a < b }
	case "LessOrEqual":
		return func(a, b T) bool { return a <= b }
	case "Greater":
		return func(a, b T) bool { return a > b }
	case "GreaterOrEqual":
		return func(a, b T) bool { return a >= b }
	}
	return nil
}

func (of[T]) unary(d *definition, x *tensor.Tensor) (*tensor.Tensor, error) {
	by := func(f func(float64) float64) (*tensor.Tensor, error) {
		return each(d.name, x, func(a T) T { return T(f(float64(a))) })
	}
	switch d.op {
	case "Ceil":
		return by(math.Ceil)
	case "Floor":
		return by(math.Floor)
	case "Sqrt":
		return by(math.Sqrt)
	case "Neg":
		return each(d.name, x, func(a T) T { return -a })
	case "Abs":
		return each(d.name, x, func(a T) T {
			if a <= 0 { // including -0
				return 0 - a
			}
			return a
		})
	}
	return each(d.name, x, func(a T) T { // Sign; the sign of NaN is NaN
		switch {
		case a > 0:
			return 1
		case a < 0:
			return T(0) - 1
		}
		return a
	})
}

// logic is the calculator of bool.
type logic struct{}

func (logic) binary(d *definition, _ binaryAttrs, a, b *tensor.Tensor) (*tensor.Tensor, error) {
	f := func(a, b bool) bool { return a != b } // Xor
	switch d.op {
	case "And":
		f = func(a, b bool) bool { return a && b }
	case "Or":
		f = func(a, b bool) bool { return a || b }
	case "Equal":
		f = func(a, b bool) bool { return a == b }
	}
	return zip(d.name, a, b, f)
}

func (logic) unary(d *definition, x *tensor.Tensor) (*tensor.Tensor, error) {
	return each(d.name, x, func(a bool) bool { return !a })
}

func (logic) reduce(d *definition, x *tensor.Tensor, run int64, dims []int64) (*tensor.Tensor, error) {
	return runs(d.name, x, run, dims, func(run []bool) bool {
		if d.op == "ReduceMax" {
			return slices.Contains(run, true)
		}
		return !slices.Contains(run, false)
	})
}
