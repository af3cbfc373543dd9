package graphs

import (
	"slices"

	"github.com/restride/restride/internal/ndarray"
	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
)

// bools is a bool value of one axis.
func bools(set ...bool) Value {
	v := Value{Kind: model.TensorType, Type: layout.Bool, Array: ndarray.Array{Dims: []int64{int64(len(set))}}}
	for _, yes := range set {
		v.Elems = append(v.Elems, string([]byte{map[bool]byte{true: 1}[yes]}))
	}
	return v
}

// narrower draws extents that broadcast to others.
func (s sampler) narrower(dims []int64) []int64 {
	dims = slices.Clone(dims[s.rng.IntN(len(dims)+1):])
	for i := range dims {
		if s.rng.IntN(4) == 0 {
			dims[i] = 1
		}
	}
	return dims
}

func growWhere(b *builder, from string, v Value) bool {
	dims := slices.Clone(v.Dims)
	for i, d := range dims {
		if d == 1 && b.rng.IntN(3) == 0 {
			dims[i] = 3
		}
	}
	cond, other := b.tensor(layout.Bool, dims...), b.tensor(v.Type, b.narrower(dims)...)
	if len(cond.Elems) > most {
		return false
	}
	if slices.Equal(dims, v.Dims) { // otherwise only the condition has all extents
		cond = b.tensor(layout.Bool, b.narrower(dims)...)
	}
	x, y := v, other
	in := []string{b.operand(cond), from, b.operand(other)}
	if b.rng.IntN(2) == 0 {
		x, y = y, x
		in[1], in[2] = in[2], in[1]
	}
	choice, first, second := cond.Expand(dims...), x.Expand(dims...), y.Expand(dims...)
	out := ndarray.Each(dims, func(index []int64) string {
		if choice.Elem(index) == "\x01" {
			return first.Elem(index)
		}
		return second.Elem(index)
	})
	return b.add("Where", v.of(out), in)
}

// operand returns the name of a value: of the stream's, or one that the host may have.
func (b *builder) operand(v Value) string {
	if b.rng.IntN(3) == 0 {
		return b.anywhere(v)
	}
	return b.part(v)
}

func growCompress(b *builder, from string, v Value) bool {
	rank := len(v.Dims)
	flat, axis, attrs := v, 0, []model.Attr{}
	if rank == 0 || b.rng.IntN(3) == 0 {
		flat = v.reshaped(int64(len(v.Elems)))
	} else {
		axis = b.rng.IntN(rank)
		attrs = append(attrs, onnx.Int("axis", b.axis(axis, rank, b.opset >= 11)))
	}
	set := make([]bool, b.rng.Int64N(flat.Dims[axis]+1))
	var keep []int64
	for i := range set {
		if set[i] = b.rng.IntN(2) == 0; set[i] {
			keep = append(keep, int64(i))
		}
	}
	return b.add("Compress", v.of(flat.Take(axis, keep)), []string{from, b.known(bools(set...), 2)}, attrs...)
}

func growOneHot(b *builder, from string, v Value) bool {
	to := b.limits.Types[b.rng.IntN(len(b.limits.Types))]
	if v.Type != layout.Int32 && v.Type != layout.Int64 || len(v.Dims) == b.limits.Ranks || !onnx.Allows("Slice", 12, to) { // types of opset 5
		return false
	}
	rank, depth := len(v.Dims), 1+b.rng.Int64N(5)
	if b.rng.IntN(2) == 0 { // numbers, some of them indices
		numbers := make([]int64, len(v.Elems))
		for i := range numbers {
			numbers[i] = b.rng.Int64N(3*depth) - depth - depth/2
		}
		if v.Type == layout.Int32 {
			v = ints32(numbers...).reshaped(v.Dims...)
		} else {
			v = ints(numbers...).reshaped(v.Dims...)
		}
		from = b.operand(v)
	}
	at := b.rng.IntN(rank + 1)
	dims := slices.Insert(slices.Clone(v.Dims), at, depth)
	if ndarray.Count(dims) > most {
		return false
	}
	values := b.tensor(to, 2)
	numbers := v.of(ndarray.Array{Dims: v.Dims, Elems: indexed(numbersOf(v))})
	out := ndarray.Each(dims, func(index []int64) string {
		k := index[at]
		n := position(numbers.Elem(slices.Delete(slices.Clone(index), at, at+1)))
		if n == k || n+depth == k {
			return values.Elems[1]
		}
		return values.Elems[0]
	})
	in := []string{from, b.known(ints(depth).reshaped([][]int64{{}, {1}}[b.rng.IntN(2)]...), 2), b.operand(values)}
	return b.add("OneHot", values.of(out), in, onnx.Int("axis", b.axis(at, rank+1, true)))
}

// indexed and position are numbers as elements of any width, and back.
func indexed(numbers []int64) []string { return ndarray.Ints(numbers...).Elems }

func position(e string) int64 {
	return numbersOf(Value{Type: layout.Int64, Array: ndarray.Array{Elems: []string{e}}})[0]
}

// reductions are the reductions that a version of the scattering operators has for a type.
func (b *builder) reductions(t layout.DType) []string {
	all := []string{"none"}
	if b.opset < 16 || t != layout.Int64 && t != layout.Int32 && t != layout.Uint8 {
		return all
	}
	if all = append(all, "add", "mul"); b.opset >= 18 {
		all = append(all, "max", "min")
	}
	return all
}

// reduced is the reduction of two elements of an integer type.
func reduced(t layout.DType, how, old, update string) string {
	extend := func(e string) int64 {
		n := int64(pattern(e))
		if unused := 64 - t.Bits(); numeric.KindOf(t) == numeric.IntKind {
			n = n << unused >> unused
		}
		return n
	}
	x, y := extend(old), extend(update)
	switch how {
	case "none":
		return update
	case "add":
		x += y
	case "mul":
		x *= y
	case "max":
		x = max(x, y)
	case "min":
		x = min(x, y)
	}
	return element(t, uint64(x)&(1<<(t.Bits()-1)<<1-1))
}

func growScatterElements(b *builder, from string, v Value) bool {
	rank := len(v.Dims)
	op := "ScatterElements"
	if b.opset >= 9 && b.opset < 11 {
		op = "Scatter"
	}
	if rank == 0 || !onnx.Allows(op, b.opset, v.Type) {
		return false
	}
	axis := b.rng.IntN(rank)
	if b.rng.IntN(2) == 0 && len(v.Elems) > 0 { // results of nodes without other uses may be overwritten
		v, from, _ = b.doubled(from, v, axis)
	}
	dims := slices.Clone(v.Dims)
	for i := range dims {
		dims[i] = b.rng.Int64N(dims[i] + 1)
	}
	updates := b.tensor(v.Type, dims...)
	all := b.reductions(v.Type)
	how := all[b.rng.IntN(len(all))]
	if op == "Scatter" {
		how = "none"
	}
	n := v.Dims[axis]
	lines := map[string][]int{} // an order of the indices for each line along the axis: none occurs twice
	var given []int64
	out := v.of(ndarray.Array{Dims: v.Dims, Elems: slices.Clone(v.Elems)})
	ndarray.Each(dims, func(index []int64) string {
		line := slices.Clone(index)
		line[axis] = 0
		key := string(ndarray.Ints(line...).Bytes(layout.Int64))
		if lines[key] == nil {
			lines[key] = b.rng.Perm(int(n))
		}
		at := slices.Clone(index)
		at[axis] = int64(lines[key][index[axis]])
		if how != "none" && b.rng.IntN(2) == 0 {
			at[axis] = b.rng.Int64N(n) // several for one element
		}
		given = append(given, at[axis]-n*b.rng.Int64N(2))
		e := offset(v.Dims, at)
		out.Elems[e] = reduced(v.Type, how, out.Elems[e], updates.Elem(index))
		return ""
	})
	attrs := []model.Attr{onnx.Int("axis", b.axis(axis, rank, op != "Scatter"))}
	if how != "none" {
		attrs = append(attrs, model.Attr{Name: "reduction", Value: how})
	}
	return b.add(op, out, []string{from, b.indices(true, given, dims...), b.operand(updates)}, attrs...)
}

// offset returns the row-major position of an index.
func offset(dims, index []int64) (at int64) {
	for i, d := range dims {
		at = at*d + index[i]
	}
	return at
}

func growScatterND(b *builder, from string, v Value) bool {
	rank := len(v.Dims)
	if rank == 0 || len(v.Elems) == 0 {
		return false
	}
	if b.rng.IntN(2) == 0 {
		v, from, _ = b.doubled(from, v, b.rng.IntN(rank))
	}
	tuple := 1 + b.rng.IntN(rank)
	head, tail := v.Dims[:tuple], v.Dims[tuple:]
	all := b.reductions(v.Type)
	how := all[b.rng.IntN(len(all))]
	order := b.rng.Perm(int(ndarray.Count(head))) // no slice twice
	n := b.rng.Int64N(min(int64(len(order)), 6) + 1)
	updates := b.tensor(v.Type, slices.Concat([]int64{n}, tail)...)
	size := ndarray.Count(tail)
	out := v.of(ndarray.Array{Dims: v.Dims, Elems: slices.Clone(v.Elems)})
	var given []int64
	for k := range n {
		which := int64(order[k])
		if how != "none" && b.rng.IntN(2) == 0 {
			which = int64(order[0])
		}
		tuples := make([]int64, tuple)
		for i, left := tuple-1, which; i >= 0; i-- {
			tuples[i] = left%head[i] - head[i]*b.rng.Int64N(2)
			left /= head[i]
		}
		given = append(given, tuples...)
		for i := range size {
			at := which*size + i
			out.Elems[at] = reduced(v.Type, how, out.Elems[at], updates.Elems[k*size+i])
		}
	}
	var attrs []model.Attr
	if how != "none" {
		attrs = append(attrs, model.Attr{Name: "reduction", Value: how})
	}
	return b.add("ScatterND", out, []string{from, b.indices(false, given, n, int64(tuple)), b.operand(updates)}, attrs...)
}
