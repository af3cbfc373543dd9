package graphs

import (
	"math"
	"slices"

	"github.com/restride/restride/internal/ndarray"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
)

// of is a value of the same type with other elements.
func (v Value) of(a ndarray.Array) Value {
	return Value{Kind: model.TensorType, Type: v.Type, Array: a}
}

// reshaped is a value under other extents.
func (v Value) reshaped(dims ...int64) Value { return v.of(v.Reshape(dims...)) }

// ints is an int64 value of one axis, and ints32 an int32 one.
func ints(values ...int64) Value {
	return Value{Kind: model.TensorType, Type: layout.Int64, Array: ndarray.Ints(values...)}
}

func ints32(values ...int64) Value {
	narrow := make([]int32, len(values))
	for i, v := range values {
		narrow[i] = int32(max(min(v, 1<<31-1), -1<<31))
	}
	return Value{Kind: model.TensorType, Type: layout.Int32, Array: ndarray.Ints(narrow...)}
}

// list returns the name of a value that holds numbers for an operator: see known.
func (b *builder) list(values ...int64) string {
	return b.known(ints(values...), 2)
}

// known returns the name of a value with the given elements: a constant, an input, or the
// result of nodes on such, up to a depth; and sometimes it is data, too.
func (b *builder) known(v Value, depth int) string {
	name := b.given(v, depth)
	if b.rng.IntN(10) == 0 && len(v.Dims) <= b.limits.Ranks {
		b.data = append(b.data, name)
	}
	return name
}

// anywhere is known for values that an operator may have on its device.
func (b *builder) anywhere(v Value) string {
	b.loose = true
	defer func() { b.loose = false }()
	return b.known(v, 2)
}

func (b *builder) given(v Value, depth int) string {
	n := int64(len(v.Elems))
	allowed := func(op string) bool { return onnx.Allows(op, b.opset, v.Type) }
	if depth == 0 {
		return b.initializer(v)
	}
	how := b.rng.IntN(13)
	if v.Type == layout.Bool && how > 9 { // which are few
		how = 9
	}
	switch how {
	case 8, 9:
		if name, ok := b.calculated(v, depth); ok {
			return name
		}
	case 0:
		return b.constant(v)
	case 1:
		if allowed("Identity") {
			return b.node("Identity", v, []string{b.known(v, depth-1)})
		}
	case 2:
		if !b.limits.Resident {
			name := b.input(v)
			b.Lists = append(b.Lists, name)
			return name
		}
	case 3: // the shape of something
		dims := numbersOf(v)
		if len(v.Dims) == 1 && v.Type == layout.Int64 && extents(dims) && n <= 8 {
			some := b.tensor(layout.Float32, dims...)
			return b.node("Shape", v, []string{b.initializer(some)})
		}
	case 4: // two pieces joined
		if len(v.Dims) == 1 && b.opset >= 4 && allowed("Concat") {
			at := b.rng.Int64N(n + 1)
			in := []string{b.known(v.of(v.Window(0, 0, at)), depth-1), b.known(v.of(v.Window(0, at, n)), depth-1)}
			return b.node("Concat", v, in, onnx.Int("axis", 0))
		}
	case 5: // picked from a longer list
		if len(v.Dims) == 1 && allowed("Gather") && n > 0 {
			long := v.of(v.Joined(0, v.Array))
			at := make([]int64, n)
			for i := range at {
				at[i] = int64(i) + n*b.rng.Int64N(2)
			}
			return b.node("Gather", v, []string{b.known(long, depth-1), b.list(at...)})
		}
	case 6: // cast
		if v.Type == layout.Int64 && b.opset >= 6 {
			small := numbersOf(v)
			if slices.Equal(small, numbersOf(ints32(small...))) {
				from := ints32(small...).reshaped(v.Dims...)
				return b.node("Cast", v, []string{b.known(from, depth-1)}, onnx.Int("to", int64(v.Type)))
			}
		}
	case 7: // equal steps
		if from, to, by, ok := progression(v); ok && allowed("Range") {
			var in []string
			for _, number := range []int64{from, to, by} {
				scalar := ints(number)
				if v.Type == layout.Int32 {
					scalar = ints32(number)
				}
				in = append(in, b.known(scalar.reshaped(), depth-1))
			}
			return b.node("Range", v, in)
		}
	}
	return b.initializer(v)
}

// progression is the Range that gives a list of small numbers, if there is one.
func progression(v Value) (from, to, by int64, ok bool) {
	numbers := numbersOf(v)
	if v.Type != layout.Int64 && v.Type != layout.Int32 || len(v.Dims) != 1 || len(numbers) == 0 {
		return 0, 0, 0, false
	}
	by = 1
	if len(numbers) > 1 {
		by = numbers[1] - numbers[0]
	}
	for i, n := range numbers {
		if n < -1<<20 || n > 1<<20 || n != numbers[0]+int64(i)*by {
			return 0, 0, 0, false
		}
	}
	return numbers[0], numbers[0] + int64(len(numbers))*by, by, by != 0
}

// constant adds a Constant.
func (b *builder) constant(v Value) string {
	if !onnx.Allows("Constant", b.opset, v.Type) {
		return b.initializer(v)
	}
	attr := model.Attr{Name: "value", Value: v.stored()}
	list := len(v.Dims) == 1
	switch {
	case b.rng.IntN(2) == 0 || b.opset < 11 || b.opset < 12 && v.Type == layout.String || len(v.Dims) > 1 || len(v.Elems) == 0:
	case b.rng.IntN(3) == 0 && list && v.Type != layout.String:
		attr = model.Attr{Name: "sparse_value", Value: v.sparse()}
	case b.opset < 12:
	case v.Type == layout.Int64 && list:
		attr = onnx.Ints("value_ints", numbersOf(v)...)
	case v.Type == layout.Int64:
		attr = onnx.Int("value_int", numbersOf(v)[0])
	case v.Type == layout.Float32 && list:
		attr = model.Attr{Name: "value_floats", Value: floatsOf(v)}
	case v.Type == layout.Float32:
		attr = model.Attr{Name: "value_float", Value: floatsOf(v)[0]}
	case v.Type == layout.String && list:
		attr = model.Attr{Name: "value_strings", Value: slices.Clone(v.Elems)}
	case v.Type == layout.String:
		attr = model.Attr{Name: "value_string", Value: v.Elems[0]}
	}
	return b.node("Constant", v, nil, attr)
}

// sparse is a list as its non-zero elements.
func (v Value) sparse() *model.SparseTensor {
	some, at := v.of(ndarray.Array{}), []int64{}
	for i, e := range v.Elems {
		if e != ndarray.Zero(v.Type) {
			some.Elems, at = append(some.Elems, e), append(at, int64(i))
		}
	}
	some.Dims = []int64{int64(len(at))}
	return &model.SparseTensor{Values: *some.stored(), Indices: *ints(at...).stored(), Dims: v.Dims}
}

func floatsOf(v Value) []float32 {
	floats := make([]float32, len(v.Elems))
	for i, e := range v.Elems {
		floats[i] = math.Float32frombits(uint32(pattern(e)))
	}
	return floats
}

// extents reports whether numbers are the extents of a tensor that is not too large.
func extents(numbers []int64) bool {
	n := int64(1)
	for _, d := range numbers {
		if d < 0 || d > most {
			return false
		}
		n = min(n*d, most+1)
	}
	return n <= most
}

// numbersOf are the elements of an int64 or int32 value.
func numbersOf(v Value) []int64 {
	numbers := make([]int64, len(v.Elems))
	for i, e := range v.Elems {
		for k := range len(e) {
			numbers[i] |= int64(e[k]) << (8 * k)
		}
		if v.Type == layout.Int32 {
			numbers[i] = int64(int32(numbers[i]))
		}
	}
	return numbers
}
