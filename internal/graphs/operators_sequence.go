package graphs

import (
	"slices"

	"github.com/restride/restride/internal/ndarray"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
)

// sequence adds a node that makes a sequence, which is also an output if tensors need not be
// all of them.
func (b *builder) sequence(op string, of layout.DType, items []Value, in []string, attrs ...model.Attr) string {
	whole := Value{Kind: model.SequenceType, Type: of, Items: slices.Clone(items)}
	name := b.node(op, whole, in, attrs...)
	if !b.limits.Resident && b.rng.IntN(8) == 0 {
		b.data = append(b.data, name)
	}
	return name
}

// growSequence makes a sequence of a value and others, changes it, and takes a value from it.
func growSequence(b *builder, from string, v Value) bool {
	items, in := []Value{v}, []string{from}
	for range b.rng.IntN(3) {
		other := b.tensor(v.Type, b.dims(3)...)
		items, in = append(items, other), append(in, b.part(other))
	}
	s := b.sequence("SequenceConstruct", v.Type, items, in)
	if b.rng.IntN(4) == 0 {
		s = b.sequence("SequenceEmpty", v.Type, nil, nil, onnx.Int("dtype", int64(v.Type)))
		s = b.sequence("SequenceInsert", v.Type, []Value{v}, []string{s, from})
		items = []Value{v}
	}
	for range b.rng.IntN(4) {
		n := len(items)
		at := b.rng.IntN(n)
		in := []string{s}
		if b.rng.IntN(2) == 0 {
			if in = append(in, from); b.rng.IntN(3) > 0 {
				in = append(in, b.list(b.axis(at, n, true)))
			} else {
				at = n
			}
			items = slices.Insert(slices.Clone(items), at, v)
			s = b.sequence("SequenceInsert", v.Type, items, in)
		} else if n > 1 {
			if b.rng.IntN(3) > 0 {
				in = append(in, b.list(b.axis(at, n, true)))
			} else {
				at = n - 1
			}
			items = slices.Delete(slices.Clone(items), at, at+1)
			s = b.sequence("SequenceErase", v.Type, items, in)
		}
	}
	if b.rng.IntN(3) == 0 {
		return b.add("SequenceLength", ints(int64(len(items))).reshaped(), []string{s})
	}
	at := b.rng.IntN(len(items))
	return b.add("SequenceAt", items[at], []string{s, b.list(b.axis(at, len(items), true))})
}

// growSplitToSequence cuts a value into a sequence, and takes one part or joins all.
func growSplitToSequence(b *builder, from string, v Value) bool {
	rank := len(v.Dims)
	if rank == 0 {
		return false
	}
	axis := b.rng.IntN(rank)
	n, each, keep := v.Dims[axis], int64(1), true
	in, attrs := []string{from}, []model.Attr{onnx.Int("axis", b.axis(axis, rank, true))}
	switch b.rng.IntN(3) {
	case 0:
		each = 1 + b.rng.Int64N(4)
		in = append(in, b.known(ints(each).reshaped(), 1))
	case 1:
		keep = b.rng.IntN(2) == 0
		attrs = append(attrs, onnx.Int("keepdims", map[bool]int64{true: 1}[keep]))
	}
	if n == 0 {
		return false
	}
	var items []Value
	for at := int64(0); at < n; at += each {
		part := v.of(v.Window(axis, at, min(at+each, n)))
		if !keep {
			part = part.reshaped(slices.Delete(slices.Clone(part.Dims), axis, axis+1)...)
		}
		items = append(items, part)
	}
	s := b.sequence("SplitToSequence", v.Type, items, in, attrs...)
	if !onnx.Allows("SequenceConstruct", b.opset, v.Type) { // SplitToSequence-24 supports more than others
		return b.addSequence(s)
	}
	switch {
	case !keep:
		return b.add("ConcatFromSequence", v, []string{s}, onnx.Int("axis", b.axis(axis, rank, true)), onnx.Int("new_axis", 1))
	case b.rng.IntN(2) == 0:
		return b.add("ConcatFromSequence", v, []string{s}, onnx.Int("axis", b.axis(axis, rank, true)))
	}
	at := b.rng.IntN(len(items))
	return b.add("SequenceAt", items[at], []string{s, b.list(b.axis(at, len(items), true))})
}

// addSequence makes a sequence an output, where that need not be a tensor.
func (b *builder) addSequence(name string) bool {
	if !b.limits.Resident {
		b.data = append(b.data, name)
	}
	return true
}

// growOptional makes an optional of a value, asks whether it has one, or gets it.
func growOptional(b *builder, from string, v Value) bool {
	whole := Value{Kind: model.OptionalType, Type: v.Type, Items: []Value{v}}
	has := func(in []string, value bool) bool {
		return b.add("OptionalHasElement", flag(value), in)
	}
	how := b.rng.IntN(6)
	switch {
	case how == 0 && b.opset >= 18:
		return b.add("OptionalGetElement", v, []string{from})
	case how == 1 && b.opset >= 18:
		return has([]string{from}, true)
	case how == 2:
		t := model.Type{Kind: model.TensorType, Elem: v.Type}
		whole.Items = nil
		return has([]string{b.node("Optional", whole, nil, model.Attr{Name: "type", Value: &t})}, false)
	case how == 3:
		return has([]string{b.node("Optional", whole, []string{from})}, true)
	}
	return b.add("OptionalGetElement", v, []string{b.node("Optional", whole, []string{from})})
}

// flag is a bool without an axis.
func flag(v bool) Value {
	one := Value{Kind: model.TensorType, Type: layout.Bool, Array: ndarray.Array{Dims: []int64{}, Elems: []string{"\x00"}}}
	if v {
		one.Elems[0] = "\x01"
	}
	return one
}
