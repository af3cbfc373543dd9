package graphs

import (
	"math"
	"math/big"
	"slices"

	"github.com/restride/restride/internal/ndarray"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
)

// Numbers for operators may be computed in the graph, as models compute shapes: an operator is
// chosen, and operands for which it gives the wanted numbers.

// inverse draws operands of an operator whose result is v; nil: there are none.
type inverse func(b *builder, v Value) []Value

var inverses = map[string]inverse{
	"Add": pairs(func(b *builder, x, r int64) (int64, int64) { return x - r, r }),
	"Sub": pairs(func(b *builder, x, r int64) (int64, int64) { return x + r, r }),
	"Mul": pairs(func(b *builder, x, r int64) (int64, int64) { return x * sign(r), sign(r) }),
	"Div": pairs(func(b *builder, x, r int64) (int64, int64) {
		by := absolute(r) + 1
		rest := b.rng.Int64N(by)
		if x < 0 { // truncated
			rest = -rest
		}
		return sign(r) * (x*by + rest), sign(r) * by
	}),
	"Mod": pairs(func(b *builder, x, r int64) (int64, int64) { // the sign is the divisor's
		by := sign(x) * (absolute(x) + absolute(r) + 1)
		return x + by*(b.rng.Int64N(5)-2), by
	}),
	"Max": pairs(func(b *builder, x, r int64) (int64, int64) { return b.either(x, x-absolute(r)) }),
	"Min": pairs(func(b *builder, x, r int64) (int64, int64) { return b.either(x, x+absolute(r)) }),

	"Neg": single(func(b *builder, x int64) (int64, bool) { return -x, true }),
	"Abs": single(func(b *builder, x int64) (int64, bool) { return x * (1 - 2*b.rng.Int64N(2)), x >= 0 }),
	"Sign": single(func(b *builder, x int64) (int64, bool) {
		return x * (1 + b.rng.Int64N(9)), absolute(x) <= 1
	}),

	"Equal":          tests(func(b *builder, yes bool, r int64) (int64, int64) { return r, r + 1 - truth(yes) }),
	"Less":           tests(func(b *builder, yes bool, r int64) (int64, int64) { return r, r + truth(yes) }),
	"Greater":        tests(func(b *builder, yes bool, r int64) (int64, int64) { return r + truth(yes), r }),
	"LessOrEqual":    tests(func(b *builder, yes bool, r int64) (int64, int64) { return r + 1 - truth(yes), r }),
	"GreaterOrEqual": tests(func(b *builder, yes bool, r int64) (int64, int64) { return r, r + 1 - truth(yes) }),

	"And": truths(func(x, y bool) bool { return x && y }),
	"Or":  truths(func(x, y bool) bool { return x || y }),
	"Xor": truths(func(x, y bool) bool { return x != y }),
	"Not": func(b *builder, v Value) []Value {
		return []Value{truthsOf(v, func(i int) bool { return v.Elems[i] == "\x00" })}
	},
}

func sign(x int64) int64 {
	if x < 0 {
		return -1
	}
	return 1
}

func absolute(x int64) int64 { return x * sign(x) }

func truth(yes bool) int64 { return map[bool]int64{true: 1}[yes] }

// either returns two numbers in any order.
func (s sampler) either(x, y int64) (int64, int64) {
	if s.rng.IntN(2) == 0 {
		return y, x
	}
	return x, y
}

// numbers is a value of the type and extents of another.
func (v Value) numbers(all []int64) Value {
	if v.Type == layout.Int32 {
		return ints32(all...).reshaped(v.Dims...)
	}
	return ints(all...).reshaped(v.Dims...)
}

// pairs is the inverse of an operator of two numbers, one of them drawn: f has the result and a
// number from -9 to 9, which sometimes is the same for all elements.
func pairs(f func(b *builder, x, r int64) (int64, int64)) inverse {
	return func(b *builder, v Value) []Value {
		var first, second []int64
		common, same := b.rng.Int64N(19)-9, b.rng.IntN(2) == 0
		for _, x := range numbersOf(v) {
			r := common
			if !same {
				r = b.rng.Int64N(19) - 9
			}
			p, q := f(b, x, r)
			first, second = append(first, p), append(second, q)
		}
		return []Value{v.numbers(first), b.shared(v.numbers(second))}
	}
}

// shared is a value, or one element that broadcasts to it.
func (b *builder) shared(v Value) Value {
	if b.opset < 8 || len(v.Elems) == 0 || b.rng.IntN(2) == 0 || slices.ContainsFunc(v.Elems, func(e string) bool { return e != v.Elems[0] }) {
		return v
	}
	return v.of(ndarray.Array{Elems: v.Elems[:1]})
}

// single is the inverse of an operator of one number.
func single(f func(b *builder, x int64) (int64, bool)) inverse {
	return func(b *builder, v Value) []Value {
		var all []int64
		for _, x := range numbersOf(v) {
			y, ok := f(b, x)
			if !ok {
				return nil
			}
			all = append(all, y)
		}
		return []Value{v.numbers(all)}
	}
}

// tests is the inverse of a comparison.
func tests(f func(b *builder, yes bool, r int64) (int64, int64)) inverse {
	return func(b *builder, v Value) []Value {
		var first, second []int64
		for _, e := range v.Elems {
			p, q := f(b, e != "\x00", b.rng.Int64N(19)-9)
			first, second = append(first, p), append(second, q)
		}
		of := ints().of(v.Array)
		return []Value{of.numbers(first), of.numbers(second)}
	}
}

// truths is the inverse of an operator of two bools.
func truths(f func(x, y bool) bool) inverse {
	return func(b *builder, v Value) []Value {
		var first, second []bool
		for _, e := range v.Elems {
			for {
				x, y := b.rng.IntN(2) == 0, b.rng.IntN(2) == 0
				if f(x, y) == (e != "\x00") {
					first, second = append(first, x), append(second, y)
					break
				}
			}
		}
		return []Value{bools(first...).reshaped(v.Dims...), bools(second...).reshaped(v.Dims...)}
	}
}

func truthsOf(v Value, f func(i int) bool) Value {
	set := make([]bool, len(v.Elems))
	for i := range set {
		set[i] = f(i)
	}
	return bools(set...).reshaped(v.Dims...)
}

// calculated returns the name of a value that an arithmetic node computes.
func (b *builder) calculated(v Value, depth int) (string, bool) {
	if b.loose || b.limits.Given {
		return "", false
	}
	switch v.Type {
	case layout.Int64, layout.Int32:
		if slices.ContainsFunc(numbersOf(v), func(x int64) bool { return absolute(x) > 1<<20 || x == math.MinInt64 }) {
			return "", false
		}
	case layout.Bool:
	default:
		return "", false
	}
	switch b.rng.IntN(6) {
	case 0:
		return b.reducing(v, depth)
	case 1:
		return b.choosing(v, depth)
	case 2:
		return b.rounding(v, depth)
	}
	ops := []string{"Add", "Sub", "Mul", "Div", "Mod", "Max", "Min", "Neg", "Abs", "Sign"}
	if v.Type == layout.Bool {
		ops = []string{"Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "And", "Or", "Xor", "Not"}
	}
	op := ops[b.rng.IntN(len(ops))]
	operands := inverses[op](b, v)
	if len(operands) == 0 || !onnx.Allows(op, b.opset, operands[0].Type) {
		return "", false
	}
	var in []string
	for _, x := range operands {
		in = append(in, b.known(x, depth-1))
	}
	if op == "Equal" && b.rng.IntN(2) == 0 {
		slices.Reverse(in)
		if len(operands[1].Dims) < len(operands[0].Dims) && b.opset < 7 {
			return "", false
		}
	}
	return b.node(op, v, in), true
}

// reducing computes numbers along an axis that is reduced.
func (b *builder) reducing(v Value, depth int) (string, bool) {
	ops := []string{"ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin"}
	op := ops[b.rng.IntN(len(ops))]
	if v.Type == layout.Bool || !onnx.Allows(op, b.opset, v.Type) || len(v.Elems) == 0 {
		return "", false
	}
	n := 1 + b.rng.IntN(3)
	axis := b.rng.IntN(len(v.Dims) + 1)
	dims := slices.Insert(slices.Clone(v.Dims), axis, int64(n))
	parts := map[string][]int64{} // by the element that they give
	for i, x := range numbersOf(v) {
		rest := x
		var all []int64
		for range n - 1 {
			r := b.rng.Int64N(19) - 9
			switch op {
			case "ReduceSum":
				rest -= r
			case "ReduceProd":
				r = sign(r)
				rest *= r
			case "ReduceMax":
				r = x - absolute(r)
			case "ReduceMin":
				r = x + absolute(r)
			}
			all = append(all, r)
		}
		parts[indexed([]int64{int64(i)})[0]] = append(all, rest)
	}
	var numbers []int64
	ndarray.Each(dims, func(index []int64) string {
		of := offset(v.Dims, slices.Delete(slices.Clone(index), axis, axis+1))
		numbers = append(numbers, parts[indexed([]int64{of})[0]][index[axis]])
		return ""
	})
	long := v.of(ndarray.Array{Dims: dims}).numbers(numbers)
	since := onnx.Opset(18)
	if op == "ReduceSum" {
		since = 13
	}
	in, attrs := b.listIn(since, "axes", []string{b.known(long, depth-1)}, []int64{b.axis(axis, len(dims), b.opset >= 11)})
	return b.node(op, v, in, append(attrs, onnx.Int("keepdims", 0))...), true
}

// choosing picks a list of small numbers from others: the greatest, those that are not zero,
// those with a true condition.
func (b *builder) choosing(v Value, depth int) (string, bool) {
	list := numbersOf(v)
	if v.Type != layout.Int64 || len(v.Dims) != 1 || len(list) == 0 {
		return "", false
	}
	increasing := slices.IsSorted(list) && len(slices.Compact(slices.Clone(list))) == len(list)
	few := slices.Min(list) >= 0 && slices.Max(list) < 20
	switch b.rng.IntN(3) {
	case 0: // a list with its greatest numbers at these places
		places := slices.Sorted(slices.Values(list))
		if !few || len(slices.Compact(places)) < len(list) || !onnx.Allows("TopK", b.opset, layout.Int64) {
			return "", false
		}
		data := make([]int64, slices.Max(list)+1+b.rng.Int64N(3))
		smallest := b.rng.IntN(2) == 0
		step := map[bool]int64{true: -1, false: 1}[smallest]
		for i := range data {
			data[i] = step * b.rng.Int64N(9)
		}
		for i, at := range list {
			data[at] = step * int64(100-i)
		}
		in := []string{b.known(ints(data...), depth-1), b.list(int64(len(list)))}
		attrs := []model.Attr{onnx.Int("largest", truth(!smallest))}
		node := model.NewNode("TopK", in, []string{b.name(ints(data...).of(v.greatest(data, list))), b.name(v)}, attrs...)
		b.Model.Graph.Nodes = append(b.Model.Graph.Nodes, node)
		return node.Outputs[1], true
	case 1: // the indices of non-zero elements
		if !few || !increasing || !onnx.Allows("NonZero", b.opset, layout.Int64) {
			return "", false
		}
		data := make([]int64, slices.Max(list)+1+b.rng.Int64N(3))
		for _, at := range list {
			data[at] = 1 + b.rng.Int64N(5)
		}
		row := v.reshaped(1, int64(len(list)))
		found := b.node("NonZero", row, []string{b.known(ints(data...), depth-1)})
		in, attrs := b.listIn(13, "axes", []string{found}, []int64{0})
		return b.node("Squeeze", v, in, attrs...), true
	default: // some of a longer list
		if !onnx.Allows("Compress", b.opset, v.Type) {
			return "", false
		}
		var data []int64
		var set []bool
		for _, x := range list {
			for b.rng.IntN(3) == 0 {
				data, set = append(data, b.rng.Int64N(9)), append(set, false)
			}
			data, set = append(data, x), append(set, true)
		}
		return b.node("Compress", v, []string{b.known(ints(data...), depth-1), b.known(bools(set...), depth-1)}, onnx.Int("axis", 0)), true
	}
}

// greatest is the values of a list at some places.
func (v Value) greatest(data, places []int64) ndarray.Array {
	all := make([]int64, len(places))
	for i, at := range places {
		all[i] = data[at]
	}
	return ndarray.Ints(all...)
}

// rounding makes numbers from floats: their roots, or the integers above or below.
func (b *builder) rounding(v Value, depth int) (string, bool) {
	if v.Type == layout.Bool || b.opset < 6 {
		return "", false
	}
	ops := []string{"Ceil", "Floor", "Sqrt"}
	op := ops[b.rng.IntN(len(ops))]
	exact := v.of(ndarray.Array{Dims: v.Dims})
	exact.Type = layout.Float32
	before := exact
	for _, x := range numbersOf(v) {
		from := big.NewRat(4*x, 4)
		part := big.NewRat(b.rng.Int64N(4), 4)
		switch {
		case op == "Ceil":
			from.Sub(from, part)
		case op == "Floor":
			from.Add(from, part)
		case x < 0 || x > 1000:
			return "", false
		default:
			from.Mul(from, from)
		}
		exact.Elems = append(exact.Elems, bits(layout.Float32, big.NewRat(x, 1)))
		before.Elems = append(before.Elems, bits(layout.Float32, from))
	}
	rounded := b.node(op, exact, []string{b.known(before, depth-1)})
	return b.node("Cast", v, []string{rounded}, onnx.Int("to", int64(v.Type))), true
}
