package graphs

import (
	"math"
	"slices"

	"github.com/restride/restride/internal/ndarray"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
)

// operator adds nodes of an operator to graphs. grow has a value of a type that the opset
// supports; it returns false if the operator does not accept the value.
type operator struct {
	name string
	grow func(b *builder, from string, v Value) bool
}

func (op operator) takes(b *builder, t layout.DType) bool { return onnx.Allows(op.name, b.opset, t) }

var operators = []operator{
	{"Identity", growIdentity}, {"Transpose", growTranspose}, {"Reshape", growReshape}, {"Flatten", growFlatten},
	{"Squeeze", growSqueeze}, {"Unsqueeze", growUnsqueeze}, {"Shape", growShape}, {"Size", growSize},
	{"Slice", growSlice}, {"DynamicSlice", growDynamicSlice}, {"Split", growSplit}, {"Expand", growExpand},
	{"Tile", growTile}, {"Concat", growConcat}, {"Pad", growPad}, {"CenterCropPad", growCenterCropPad},
	{"Gather", growGather}, {"GatherElements", growGatherElements}, {"GatherND", growGatherND},
	{"DepthToSpace", growDepthToSpace}, {"SpaceToDepth", growSpaceToDepth}, {"ReverseSequence", growReverseSequence},
	{"TensorScatter", growTensorScatter}, {"Trilu", growTrilu}, {"Cast", growCast}, {"CastLike", growCastLike},
	{"BitCast", growBitCast}, {"Constant", growConstant}, {"ConstantOfShape", growConstantOfShape}, {"EyeLike", growEyeLike},
	{"Where", growWhere}, {"Compress", growCompress}, {"OneHot", growOneHot},
	{"Scatter", growScatterElements}, {"ScatterElements", growScatterElements}, {"ScatterND", growScatterND},
	{"DequantizeLinear", growDequantizeLinear}, {"QuantizeLinear", growQuantizeLinear}, {"DynamicQuantizeLinear", growDynamicQuantizeLinear},
	{"SequenceConstruct", growSequence}, {"SplitToSequence", growSplitToSequence}, {"Optional", growOptional},
}

// axis writes an axis unchanged, or counted from the end where that is allowed.
func (s sampler) axis(axis, rank int, fromEnd bool) int64 {
	if fromEnd && s.rng.IntN(2) == 0 {
		return int64(axis - rank)
	}
	return int64(axis)
}

// axes is axis for a list, in any order.
func (s sampler) axes(list []int, rank int, fromEnd bool) []int64 {
	out := []int64{}
	for _, i := range s.rng.Perm(len(list)) {
		out = append(out, s.axis(list[i], rank, fromEnd))
	}
	return out
}

// listIn puts a list into an attribute up to a version, and into an input from then on.
func (b *builder) listIn(since onnx.Opset, name string, in []string, values []int64) ([]string, []model.Attr) {
	if b.opset < since {
		return in, []model.Attr{onnx.Ints(name, values...)}
	}
	return append(in, b.list(values...)), nil
}

func growIdentity(b *builder, from string, v Value) bool {
	// Sequences from 14 and optionals from 16 have the types of opset 12.
	if b.opset >= 14 && b.rng.IntN(4) == 0 && !b.limits.Resident && onnx.Allows("Slice", 12, v.Type) {
		whole := Value{Kind: model.SequenceType, Type: v.Type, Items: []Value{v, b.tensor(v.Type, b.dims(3)...)}}
		if b.opset >= 16 && b.rng.IntN(2) == 0 {
			whole.Kind, whole.Items = model.OptionalType, whole.Items[:b.rng.IntN(2)]
		}
		return b.add("Identity", whole, []string{b.node("Identity", whole, []string{b.input(whole)})})
	}
	return b.add("Identity", v, []string{from})
}

func growTranspose(b *builder, from string, v Value) bool {
	perm := make([]int64, len(v.Dims))
	if b.rng.IntN(4) == 0 {
		for i := range perm {
			perm[i] = int64(len(perm) - 1 - i)
		}
		return b.add("Transpose", v.of(v.Transpose(perm...)), []string{from})
	}
	for i, p := range b.rng.Perm(len(perm)) {
		perm[i] = int64(p)
	}
	return b.add("Transpose", v.of(v.Transpose(perm...)), []string{from}, onnx.Ints("perm", perm...))
}

func growReshape(b *builder, from string, v Value) bool {
	dims := slices.Clone(v.Dims)
	if b.rng.IntN(2) == 0 { // other extents of the same elements
		rest := int64(len(v.Elems))
		dims = dims[:0]
		for _, p := range []int64{1, 2, 3, 2, 5, 7} {
			if rest%p == 0 && rest > 0 && b.rng.IntN(2) == 0 {
				dims, rest = append(dims, p), rest/p
			}
		}
		if dims = append(dims, rest); len(dims) > b.limits.Ranks {
			return false
		}
		b.rng.Shuffle(len(dims), func(i, j int) { dims[i], dims[j] = dims[j], dims[i] })
	}
	if b.opset >= 5 && b.rng.IntN(4) == 0 && slices.Equal(dims, v.Dims) { // from its own shape, computed in the graph
		return b.add("Reshape", v, []string{from, b.node("Shape", ints(dims...), []string{from})})
	}
	asked, attrs := slices.Clone(dims), []model.Attr{}
	allowZero := b.opset >= 14 && (slices.Contains(dims, 0) || b.rng.IntN(4) == 0)
	if allowZero {
		attrs = append(attrs, onnx.Int("allowzero", 1))
	}
	for i, d := range dims {
		if d == 0 && !allowZero && (i >= len(v.Dims) || v.Dims[i] != 0) {
			return false // 0 copies the value's extent there
		}
		if !allowZero && i < len(v.Dims) && v.Dims[i] == d && b.rng.IntN(3) == 0 {
			asked[i] = 0
		}
	}
	if len(dims) > 0 && !slices.Contains(dims, 0) && b.rng.IntN(2) == 0 {
		asked[b.rng.IntN(len(dims))] = -1
	}
	in, more := b.listIn(5, "shape", []string{from}, asked)
	return b.add("Reshape", v.reshaped(dims...), in, append(attrs, more...)...)
}

func growFlatten(b *builder, from string, v Value) bool {
	axis := b.rng.IntN(len(v.Dims) + 1)
	out := v.reshaped(ndarray.Count(v.Dims[:axis]), ndarray.Count(v.Dims[axis:]))
	if axis == 1 && b.rng.IntN(2) == 0 {
		return b.add("Flatten", out, []string{from})
	}
	given := int64(axis)
	if b.opset >= 11 && axis < len(v.Dims) {
		given = b.axis(axis, len(v.Dims), true)
	}
	return b.add("Flatten", out, []string{from}, onnx.Int("axis", given))
}

func growSqueeze(b *builder, from string, v Value) bool {
	var dims []int64
	var axes []int
	some := b.rng.IntN(2) == 0
	for i, d := range v.Dims {
		if d == 1 && (!some || b.rng.IntN(2) == 0) {
			axes = append(axes, i)
		} else {
			dims = append(dims, d)
		}
	}
	if !some {
		return b.add("Squeeze", v.reshaped(dims...), []string{from})
	}
	if len(axes) == 0 { // for older versions this means that none are given
		return false
	}
	in, attrs := b.listIn(13, "axes", []string{from}, b.axes(axes, len(v.Dims), b.opset >= 11))
	return b.add("Squeeze", v.reshaped(dims...), in, attrs...)
}

func growUnsqueeze(b *builder, from string, v Value) bool {
	rank := len(v.Dims) + b.rng.IntN(3)
	if rank > b.limits.Ranks {
		return false
	}
	dims, axes, rest := []int64{}, []int{}, v.Dims
	for i := range rank {
		if left := rank - i; len(rest) == 0 || left > len(rest) && b.rng.IntN(2) == 0 {
			dims, axes = append(dims, 1), append(axes, i)
		} else {
			dims, rest = append(dims, rest[0]), rest[1:]
		}
	}
	if len(axes) == 0 && b.opset < 13 {
		return false
	}
	in, attrs := b.listIn(13, "axes", []string{from}, b.axes(axes, rank, b.opset >= 11))
	return b.add("Unsqueeze", v.reshaped(dims...), in, attrs...)
}

func growShape(b *builder, from string, v Value) bool {
	first, last, attrs := 0, len(v.Dims), []model.Attr{}
	if b.opset >= 15 && b.rng.IntN(2) == 0 {
		start, end := b.rng.IntN(20)-10, b.rng.IntN(20)-10
		attrs = append(attrs, onnx.Int("start", int64(start)), onnx.Int("end", int64(end)))
		within := func(i int) int {
			if i < 0 {
				i += len(v.Dims)
			}
			return min(max(i, 0), len(v.Dims))
		}
		first, last = within(start), within(end)
	}
	return b.add("Shape", ints(v.Dims[first:max(first, last)]...), []string{from}, attrs...)
}

func growSize(b *builder, from string, v Value) bool {
	return b.add("Size", ints(int64(len(v.Elems))).reshaped(), []string{from})
}

// cuts draws the cuts of a Slice along some axes, in any order.
func (s sampler) cuts(v Value, steps, fromEnd bool) (starts, ends, axes, by []int64, out ndarray.Array) {
	pick := func() int64 {
		if s.rng.IntN(12) == 0 {
			return []int64{math.MinInt64, math.MaxInt64, math.MinInt32, math.MaxInt32}[s.rng.IntN(4)]
		}
		return s.rng.Int64N(13) - 6
	}
	out = v.Array
	for _, axis := range s.rng.Perm(len(v.Dims))[:s.rng.IntN(len(v.Dims)+1)] {
		start, end, step := pick(), pick(), int64(1)
		if s.rng.IntN(2) == 0 {
			start, end = 0, math.MaxInt64
		}
		if steps && s.rng.IntN(2) == 0 {
			if step = pick(); step == 0 {
				step = -1
			}
		}
		out = out.Take(axis, ndarray.Sliced(out.Dims[axis], start, end, step))
		starts, ends, by = append(starts, start), append(ends, end), append(by, step)
		axes = append(axes, s.axis(axis, len(v.Dims), fromEnd))
	}
	return starts, ends, axes, by, out
}

func growSlice(b *builder, from string, v Value) bool {
	starts, ends, axes, steps, out := b.cuts(v, b.opset >= 10, b.opset >= 11)
	if b.opset < 10 {
		return b.add("Slice", v.of(out), []string{from}, onnx.Ints("starts", starts...), onnx.Ints("ends", ends...), onnx.Ints("axes", axes...))
	}
	return b.add("Slice", v.of(out), append([]string{from}, b.alike(starts, ends, axes, steps)...))
}

func growDynamicSlice(b *builder, from string, v Value) bool {
	starts, ends, axes, _, out := b.cuts(v, false, false)
	return b.add("DynamicSlice", v.of(out), append([]string{from}, b.alike(starts, ends, axes)...))
}

// alike are lists of one index type, if the numbers allow.
func (b *builder) alike(lists ...[]int64) []string {
	narrow := b.rng.IntN(2) == 0
	for _, l := range lists {
		narrow = narrow && slices.Equal(numbersOf(ints32(l...)), append([]int64{}, l...))
	}
	var names []string
	for _, l := range lists {
		if narrow {
			names = append(names, b.known(ints32(l...), 2))
		} else {
			names = append(names, b.list(l...))
		}
	}
	return names
}

func growSplit(b *builder, from string, v Value) bool {
	rank := len(v.Dims)
	if rank == 0 {
		return false
	}
	axis := b.rng.IntN(rank)
	n := v.Dims[axis]
	sizes := []int64{}
	attrs := []model.Attr{onnx.Int("axis", b.axis(axis, rank, b.opset >= 11))}
	in := []string{from}
	switch how := b.rng.IntN(3); {
	case how == 0 && b.opset >= 18 && n > 0: // the last may be smaller
		each := 1 + b.rng.Int64N(n)
		parts := (n + each - 1) / each
		if (n+parts-1)/parts != each {
			return false
		}
		for at := int64(0); at < n; at += each {
			sizes = append(sizes, min(each, n-at))
		}
		attrs = append(attrs, onnx.Int("num_outputs", parts))
	case how == 0 && b.opset < 18 && n > 0: // equal ones
		parts := 1 + b.rng.Int64N(3)
		if n%parts != 0 {
			return false
		}
		sizes = slices.Repeat([]int64{n / parts}, int(parts))
	default:
		for at := int64(0); at < n; {
			sizes = append(sizes, b.rng.Int64N(n-at+1))
			at += sizes[len(sizes)-1]
		}
		if sizes = append(sizes, 0); len(sizes) > 5 {
			return false
		}
		var more []model.Attr
		in, more = b.listIn(13, "split", in, sizes)
		attrs = append(attrs, more...)
	}
	node := model.NewNode("Split", in, nil, attrs...)
	at := int64(0)
	for _, size := range sizes {
		name := b.name(v.of(v.Window(axis, at, at+size)))
		at += size
		node.Outputs = append(node.Outputs, name)
		b.data = append(b.data, name)
	}
	b.Model.Graph.Nodes = append(b.Model.Graph.Nodes, node)
	return true
}

func growExpand(b *builder, from string, v Value) bool {
	lead := b.rng.IntN(3)
	dims, asked := []int64{}, []int64{}
	for range lead {
		d := b.rng.Int64N(3)
		if d == 0 {
			d = b.rng.Int64N(2)
		}
		dims, asked = append(dims, d), append(asked, d)
	}
	for _, d := range v.Dims {
		switch {
		case d == 1 && b.rng.IntN(2) == 0:
			d = b.rng.Int64N(5)
			dims, asked = append(dims, d), append(asked, d)
		case b.rng.IntN(3) == 0:
			dims, asked = append(dims, d), append(asked, 1) // the value's does not change
		default:
			dims, asked = append(dims, d), append(asked, d)
		}
	}
	if len(dims) > b.limits.Ranks || ndarray.Count(dims) > most {
		return false
	}
	if lead == 0 && len(asked) > 0 && b.rng.IntN(4) == 0 && asked[0] == dims[0] && dims[0] == v.Dims[0] {
		asked = asked[1:] // an axis that is not in the list
	}
	return b.add("Expand", v.of(v.Expand(dims...)), []string{from, b.list(asked...)})
}

func growTile(b *builder, from string, v Value) bool {
	repeats := slices.Repeat([]int64{1}, len(v.Dims))
	pick := func() int64 { return []int64{0, 1, 1, 2, 2, 3}[b.rng.IntN(6)] }
	axis := -1
	if b.opset < 6 {
		if len(v.Dims) == 0 {
			return false
		}
		axis = b.rng.IntN(len(v.Dims))
		repeats[axis] = pick()
	} else {
		for i := range repeats {
			repeats[i] = pick()
		}
	}
	if out := ndarray.Count(repeats) * int64(len(v.Elems)); out > most {
		return false
	}
	in := []string{from}
	if axis >= 0 {
		in = append(in, b.list(repeats[axis]), b.list(int64(axis)))
	} else {
		in = append(in, b.list(repeats...))
	}
	return b.add("Tile", v.of(v.Tile(repeats...)), in)
}

func growConcat(b *builder, from string, v Value) bool {
	rank := len(v.Dims)
	if rank == 0 {
		return false
	}
	axis := b.rng.IntN(rank)
	in, out := []string{from}, v.Array
	for range b.rng.IntN(4) {
		switch b.rng.IntN(4) {
		case 0:
			in, out = append(in, from), out.Joined(axis, v.Array)
			continue
		case 1:
			if more, name, ok := b.doubled(from, v, axis); ok {
				in, out = append(in, name), out.Joined(axis, more.Array)
				continue
			}
		}
		dims := slices.Clone(v.Dims)
		dims[axis] = b.rng.Int64N(4)
		more := b.tensor(v.Type, dims...)
		in, out = append(in, b.part(more)), out.Joined(axis, more.Array)
	}
	if len(out.Elems) > most {
		return false
	}
	attrs := []model.Attr{onnx.Int("axis", b.axis(axis, rank, b.opset >= 11))}
	if b.opset < 4 && axis == 1 && b.rng.IntN(2) == 0 {
		attrs = nil
	}
	return b.add("Concat", v.of(out), in, attrs...)
}

// doubled is a value twice along an axis, computed by a node whose output has no other use, if
// the opset and the value's size allow it.
func (b *builder) doubled(from string, v Value, axis int) (Value, string, bool) {
	if b.opset < 6 || !onnx.Allows("Tile", b.opset, v.Type) || 2*len(v.Elems) > most {
		return v, from, false
	}
	repeats := slices.Repeat([]int64{1}, len(v.Dims))
	repeats[axis] = 2
	v = v.of(v.Tile(repeats...))
	return v, b.node("Tile", v, []string{from, b.list(repeats...)}), true
}

// part returns the name of a value that is given, or that a node without other uses computes.
func (b *builder) part(v Value) string {
	name := b.initializer(v)
	if b.rng.IntN(2) == 0 {
		name = b.input(v)
	}
	if onnx.Allows("Reshape", b.opset, v.Type) && !slices.Contains(v.Dims, 0) && b.rng.IntN(2) == 0 {
		in, attrs := b.listIn(5, "shape", []string{name}, v.Dims)
		return b.node("Reshape", v, in, attrs...)
	}
	return name
}

func growConstant(b *builder, from string, v Value) bool {
	if b.rng.IntN(3) > 0 { // seldom: it has no input
		return false
	}
	b.data = append(b.data, b.constant(b.tensor(v.Type, b.dims(3)...)))
	return true
}

func growConstantOfShape(b *builder, from string, v Value) bool {
	dims := b.dims(b.limits.Ranks)
	one := b.tensor(v.Type, 1)
	out := one.of(ndarray.Array{Dims: dims, Elems: slices.Repeat(one.Elems, int(ndarray.Count(dims)))})
	return b.add("ConstantOfShape", out, []string{b.list(dims...)}, model.Attr{Name: "value", Value: one.stored()})
}
