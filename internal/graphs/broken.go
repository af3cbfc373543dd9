package graphs

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
)

// Broken returns a graph that breaks one rule, and the rule: to load or to run it must be an
// error. Its outputs are undefined.
func Broken(rng *rand.Rand, limits Limits) (*Graph, string) {
	b := newBuilder(rng, limits)
	for len(b.Model.Graph.Nodes) < limits.Nodes {
		b.grow()
	}
	for {
		from := b.data[rng.IntN(len(b.data))]
		f := faults[rng.IntN(len(faults))]
		v := b.values[from]
		if v.Kind != model.TensorType || f.op != "" && !onnx.Allows(f.op, b.opset, v.Type) || !f.plant(b, from, v) {
			continue
		}
		b.deliver()
		b.output(b.data[len(b.data)-1])
		return &b.Graph, f.rule
	}
}

// A fault is a node that breaks a rule. op, if any, must support the type of the node's value;
// plant returns false if the rule cannot be broken with it.
type fault struct {
	rule, op string
	plant    func(b *builder, from string, v Value) bool
}

// wrong adds a node whose output cannot be computed; the graph declares nothing of it.
func (b *builder) wrong(op string, in []string, attrs ...model.Attr) bool {
	return b.add(op, Value{Kind: model.UnknownType}, in, attrs...)
}

// beyond draws an axis that a tensor does not have, counted from either end.
func (s sampler) beyond(rank int) int64 {
	return []int64{int64(rank), -int64(rank) - 1, math.MaxInt64, math.MinInt64}[s.rng.IntN(4)]
}

// huge are extents whose product exceeds an int64.
var huge = []int64{1 << 62, 4, 1 << 40}

var faults = []fault{
	{"an axis outside the rank", "Flatten", func(b *builder, from string, v Value) bool {
		axis := int64(len(v.Dims) + 1)
		if b.rng.IntN(2) == 0 {
			axis = -axis
		}
		return b.wrong("Flatten", []string{from}, onnx.Int("axis", axis))
	}},
	{"an axis outside the rank", "Concat", func(b *builder, from string, v Value) bool {
		return b.wrong("Concat", []string{from, from}, onnx.Int("axis", b.beyond(len(v.Dims))))
	}},
	{"an axis outside the rank", "Gather", func(b *builder, from string, v Value) bool {
		return b.wrong("Gather", []string{from, b.list(0)}, onnx.Int("axis", b.beyond(len(v.Dims))))
	}},
	{"an axis outside the rank", "Split", func(b *builder, from string, v Value) bool {
		return b.wrong("Split", []string{from}, onnx.Int("axis", b.beyond(len(v.Dims))))
	}},
	{"a permutation with an axis twice, or one too many", "Transpose", func(b *builder, from string, v Value) bool {
		perm := make([]int64, len(v.Dims))
		for i := range perm {
			perm[i] = int64(i)
		}
		if len(perm) < 2 || b.rng.IntN(2) == 0 {
			perm = append(perm, int64(len(perm)))
		} else {
			perm[0] = perm[1]
		}
		return b.wrong("Transpose", []string{from}, onnx.Ints("perm", perm...))
	}},
	{"an axis to remove that is not of extent 1, or is none", "Squeeze", func(b *builder, from string, v Value) bool {
		axis := slices.IndexFunc(v.Dims, func(d int64) bool { return d != 1 })
		given := int64(axis)
		if axis < 0 {
			given = b.beyond(len(v.Dims))
		}
		in, attrs := b.listIn(13, "axes", []string{from}, []int64{given})
		return b.wrong("Squeeze", in, attrs...)
	}},
	{"an axis to insert twice, or outside the rank", "Unsqueeze", func(b *builder, from string, v Value) bool {
		axes := []int64{0, 0}
		if b.rng.IntN(2) == 0 {
			axes = []int64{b.beyond(len(v.Dims) + 1)}
		}
		in, attrs := b.listIn(13, "axes", []string{from}, axes)
		return b.wrong("Unsqueeze", in, attrs...)
	}},
	{"a shape of another number of elements", "Reshape", func(b *builder, from string, v Value) bool {
		n := int64(len(v.Elems))
		shape := [][]int64{{n + 1}, {-1, -1}, {-2}, {n, 2}, slices.Repeat([]int64{0}, len(v.Dims)+1), {-1, 401, 7}, huge}[b.rng.IntN(7)]
		if n == 0 {
			shape = []int64{3, 1}
		}
		in, attrs := b.listIn(5, "shape", []string{from}, shape)
		return b.wrong("Reshape", in, attrs...)
	}},
	{"a shape that does not broadcast", "Expand", func(b *builder, from string, v Value) bool {
		shape := append([]int64{2}, v.Dims...)
		axis := slices.IndexFunc(v.Dims, func(d int64) bool { return d > 1 })
		switch {
		case axis >= 0 && b.rng.IntN(2) == 0:
			shape[axis+1]++
		case len(v.Elems) > 0 && b.rng.IntN(2) == 0:
			shape = slices.Concat(huge, v.Dims)
		default:
			shape[0] = -2
		}
		return b.wrong("Expand", []string{from, b.list(shape...)})
	}},
	{"a step of 0, lists of two lengths, or an axis twice", "Slice", func(b *builder, from string, v Value) bool {
		if len(v.Dims) == 0 {
			return false
		}
		one, two := []int64{1}, []int64{1, 2}
		lists := [][][]int64{{one, two}, {two, two, {0, 0}}, {one, one, {b.beyond(len(v.Dims))}}, {one, one, {0}, {0}}}[b.rng.IntN(4)]
		if b.opset >= 10 {
			return b.wrong("Slice", append([]string{from}, b.alike(lists...)...))
		}
		var attrs []model.Attr
		for i, l := range lists[:min(len(lists), 3)] {
			attrs = append(attrs, onnx.Ints([]string{"starts", "ends", "axes"}[i], l...))
		}
		return len(lists) < 4 && b.wrong("Slice", []string{from}, attrs...)
	}},
	{"sizes that are not the axis's", "Split", func(b *builder, from string, v Value) bool {
		if len(v.Dims) == 0 {
			return false
		}
		sizes := [][]int64{{v.Dims[0] + 1}, {-1}, {math.MaxInt64}}[b.rng.IntN(3)]
		in, attrs := b.listIn(13, "split", []string{from}, sizes)
		return b.wrong("Split", in, append(attrs, onnx.Int("axis", 0))...)
	}},
	{"repeats that are negative, too many, or too large", "Tile", func(b *builder, from string, v Value) bool {
		if b.opset < 6 {
			return false
		}
		repeats := slices.Repeat([]int64{1}, len(v.Dims))
		switch {
		case len(repeats) == 0 || b.rng.IntN(3) == 0:
			repeats = append(repeats, 1)
		case len(v.Elems) > 1 && b.rng.IntN(2) == 0:
			repeats[0] = math.MaxInt64
		default:
			repeats[0] = -1
		}
		return b.wrong("Tile", []string{from, b.list(repeats...)})
	}},
	{"parts of other extents", "Concat", func(b *builder, from string, v Value) bool {
		if len(v.Dims) < 2 {
			return false
		}
		dims := slices.Clone(v.Dims)
		if dims[1]++; b.rng.IntN(2) == 0 {
			dims = dims[:1]
		}
		return b.wrong("Concat", []string{from, b.part(b.tensor(v.Type, dims...))}, onnx.Int("axis", 0))
	}},
	{"parts of other types", "Concat", func(b *builder, from string, v Value) bool {
		to := b.limits.Types[b.rng.IntN(len(b.limits.Types))]
		if len(v.Dims) == 0 || to == v.Type {
			return false
		}
		return b.wrong("Concat", []string{from, b.part(b.tensor(to, v.Dims...))}, onnx.Int("axis", 0))
	}},
	{"pads of another rank, or that remove more than there is", "Pad", func(b *builder, from string, v Value) bool {
		pads := make([]int64, 2*len(v.Dims))
		if len(v.Dims) > 0 && b.opset >= 2 && b.rng.IntN(2) == 0 {
			pads[0] = -v.Dims[0] - 1
		} else {
			pads = append(pads, 1)
		}
		name := "pads"
		if b.opset < 2 {
			name = "paddings"
		}
		in, attrs := b.listIn(11, name, []string{from}, pads)
		return b.wrong("Pad", in, attrs...)
	}},
	{"a mode that there is not", "Pad", func(b *builder, from string, v Value) bool {
		name := "pads"
		if b.opset < 2 {
			name = "paddings"
		}
		in, attrs := b.listIn(11, name, []string{from}, make([]int64, 2*len(v.Dims)))
		return b.wrong("Pad", in, append(attrs, model.Attr{Name: "mode", Value: "mirror"})...)
	}},
	{"an index out of range", "Gather", func(b *builder, from string, v Value) bool {
		if len(v.Dims) == 0 {
			return false
		}
		return b.wrong("Gather", []string{from, b.outside(v.Dims[0])}, onnx.Int("axis", 0))
	}},
	{"an index out of range", "GatherElements", func(b *builder, from string, v Value) bool {
		if len(v.Dims) != 1 {
			return false
		}
		return b.wrong("GatherElements", []string{from, b.outside(v.Dims[0])})
	}},
	{"an index out of range", "GatherND", func(b *builder, from string, v Value) bool {
		if len(v.Dims) == 0 {
			return false
		}
		return b.wrong("GatherND", []string{from, b.outside(v.Dims[0])})
	}},
	{"indices that are no integers", "Gather", func(b *builder, from string, v Value) bool {
		return len(v.Dims) > 0 && b.wrong("Gather", []string{from, b.part(b.tensor(layout.Float32, 1))})
	}},
	{"a tuple longer than the rank", "GatherND", func(b *builder, from string, v Value) bool {
		return len(v.Dims) > 0 && b.wrong("GatherND", []string{from, b.list(make([]int64, len(v.Dims)+1)...)})
	}},
	{"extents that are negative, or too many", "ConstantOfShape", func(b *builder, from string, v Value) bool {
		return b.wrong("ConstantOfShape", []string{b.list([][]int64{{-1}, huge}[b.rng.IntN(2)]...)})
	}},
	{"blocks that do not fit", "DepthToSpace", func(b *builder, from string, v Value) bool {
		size := []int64{0, -1, 1 << 32, 1009}[b.rng.IntN(4)]
		if len(v.Dims) == 4 && v.Dims[1] == 0 && size > 0 {
			return false
		}
		return b.wrong("DepthToSpace", []string{from}, onnx.Int("blocksize", size))
	}},
	{"blocks that do not fit", "SpaceToDepth", func(b *builder, from string, v Value) bool {
		return len(v.Dims) != 4 && b.wrong("SpaceToDepth", []string{from}, onnx.Int("blocksize", 1))
	}},
	{"a length beyond the axis", "ReverseSequence", func(b *builder, from string, v Value) bool {
		if len(v.Dims) < 2 || v.Dims[1] == 0 {
			return false
		}
		lengths := make([]int64, v.Dims[1])
		lengths[0] = []int64{v.Dims[0] + 1, -1}[b.rng.IntN(2)]
		return b.wrong("ReverseSequence", []string{from, b.list(lengths...)})
	}},
	{"an update beyond the end, or along the batch", "TensorScatter", func(b *builder, from string, v Value) bool {
		if len(v.Dims) < 2 || len(v.Elems) == 0 {
			return false
		}
		if b.rng.IntN(2) == 0 {
			return b.wrong("TensorScatter", []string{from, from}, onnx.Int("axis", 0))
		}
		at := make([]int64, v.Dims[0])
		at[0] = []int64{1, -1, math.MaxInt64}[b.rng.IntN(3)]
		return b.wrong("TensorScatter", []string{from, from, b.list(at...)}, onnx.Int("axis", 1))
	}},
	{"no matrix", "Trilu", func(b *builder, from string, v Value) bool {
		return len(v.Dims) < 2 && b.wrong("Trilu", []string{from})
	}},
	{"a list that is no list", "Expand", func(b *builder, from string, v Value) bool {
		return b.wrong("Expand", []string{from, b.known(ints(1, 1).reshaped(2, 1), 1)})
	}},
	{"a type that there is not", "Cast", func(b *builder, from string, v Value) bool {
		to := onnx.Int("to", []int64{0, 99, -1, 14, 15}[b.rng.IntN(5)])
		return b.wrong("Cast", []string{from}, to)
	}},
	{"types of two widths", "BitCast", func(b *builder, from string, v Value) bool {
		to := b.limits.Types[b.rng.IntN(len(b.limits.Types))]
		return to.Bits() != v.Type.Bits() && b.wrong("BitCast", []string{from}, onnx.Int("to", int64(to)))
	}},
	{"a type or an operator that the opset has not", "", func(b *builder, from string, v Value) bool {
		op := operators[b.rng.IntN(len(operators))].name
		if op == "Constant" || op == "ConstantOfShape" || onnx.Allows(op, b.opset, v.Type) {
			return false
		}
		return b.wrong(op, []string{from})
	}},
	{"an input too many", "Identity", func(b *builder, from string, v Value) bool {
		return b.wrong([]string{"Identity", "Transpose", "Shape", "Size"}[b.rng.IntN(4)], []string{from, from})
	}},
	{"an input too few", "", func(b *builder, from string, v Value) bool {
		ops := []string{"Identity", "Shape", "Size", "Concat", "Transpose", "Squeeze"}
		return b.wrong(ops[b.rng.IntN(len(ops))], []string{""}, onnx.Int("axis", 0))
	}},
	{"an attribute that there is not", "Identity", func(b *builder, from string, v Value) bool {
		return b.wrong("Identity", []string{from}, onnx.Int("nonsense", 1))
	}},
	{"an attribute of another kind", "Transpose", func(b *builder, from string, v Value) bool {
		return b.wrong("Transpose", []string{from}, onnx.Int("perm", 0))
	}},
	{"an operator that there is not", "", func(b *builder, from string, v Value) bool {
		return b.wrong("Nonesuch", []string{from})
	}},
	{"a value that nothing makes", "Identity", func(b *builder, from string, v Value) bool {
		return b.wrong("Identity", []string{"nowhere"})
	}},
	{"a value of its own making", "Concat", func(b *builder, from string, v Value) bool {
		b.wrong("Concat", []string{from}, onnx.Int("axis", 0))
		b.wrong("Concat", b.data[len(b.data)-1:], onnx.Int("axis", 0))
		nodes := b.Model.Graph.Nodes
		first := &nodes[len(nodes)-1-b.rng.IntN(2)]
		first.Inputs = append(first.Inputs, b.data[len(b.data)-1])
		return true
	}},
	{"a value that two nodes make", "Identity", func(b *builder, from string, v Value) bool {
		b.wrong("Identity", []string{from})
		nodes := b.Model.Graph.Nodes
		b.Model.Graph.Nodes = append(nodes, nodes[len(nodes)-1])
		return true
	}},
}

// outside is the name of a list with an index that is out of range for an axis of n.
func (b *builder) outside(n int64) string {
	return b.list([]int64{n, -n - 1, math.MaxInt64, math.MinInt64}[b.rng.IntN(4)])
}
