package onnx_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
)

// pad adds nodes of Pad and the operators that are put together as it is; false:
// none of them takes the value, or the opset does not have it.
func (g *graphBuilder) pad(from string, a array) bool {
	const zero = "\x00\x00\x00\x00\x00\x00\x00\x00"
	rank, v := len(a.dims), g.m.Opsets[""]
	if rank == 0 || len(a.elems) == 0 || len(a.elems) > 1000 {
		return false
	}
	pads, sizes := make([]int64, 2*rank), make([]int64, rank)
	for i, d := range a.dims {
		pads[i], pads[rank+i] = g.rng.Int64N(3)-min(d-1, 1), g.rng.Int64N(3)
		sizes[i] = 1 + g.rng.Int64N(4)
	}
	name := fmt.Sprint("p", len(g.data))
	add := func(op string, out array, attrs model.Attrs, in ...string) bool {
		g.data[name], g.names = out, append(g.names, name)
		g.m.Graph.Nodes = append(g.m.Graph.Nodes, node(op, name, append([]string{from}, in...), attrs...))
		return true
	}
	switch g.rng.IntN(5) {
	case 0:
		mode := padModes[g.rng.IntN(4)]
		if mode == onnx.PadWrap && v < 19 {
			mode = onnx.PadEdge
		}
		return add("Pad", a.padded(mode, pads, zero), model.Attrs{{Name: "mode", Value: string(mode)}}, g.list(pads...))
	case 1:
		if v < 18 {
			return false
		}
		for i, d := range a.dims {
			by := sizes[i] - d
			pads[i], pads[rank+i] = by/2, by-by/2
		}
		return add("CenterCropPad", a.padded(onnx.PadConstant, pads, zero), nil, g.list(sizes...))
	case 2:
		if v < 14 || rank < 2 {
			return false
		}
		k, upper := g.rng.Int64N(5)-2, g.rng.Int64N(2)
		return add("Trilu", a.trilu(upper == 1, k, zero), model.Attrs{onnx.Int("upper", upper)}, g.list(k))
	case 3:
		if rank < 2 {
			return false
		}
		lengths := make([]int64, a.dims[1])
		for i := range lengths {
			lengths[i] = g.rng.Int64N(a.dims[0] + 1)
		}
		return add("ReverseSequence", a.reversed(1, 0, lengths), nil, g.list(lengths...))
	}
	// What a node has made may be written to, unless somebody else uses it.
	if v < 24 || rank < 2 {
		return false
	}
	clear(pads)
	pads[rank+1] = 2
	cache := name + "cache"
	g.data[cache] = a.padded(onnx.PadConstant, pads, zero)
	g.m.Graph.Nodes = append(g.m.Graph.Nodes, node("Pad", cache, []string{from, g.list(pads...)}))
	if g.rng.IntN(2) == 0 {
		g.names = append(g.names, cache)
	}
	at := make([]int64, a.dims[0])
	for i := range at {
		at[i] = g.rng.Int64N(9)
	}
	attrs := model.Attrs{{Name: "mode", Value: "circular"}, onnx.Int("axis", 1)}
	g.data[name], g.names = g.data[cache].scattered(a, at, 1), append(g.names, name)
	g.m.Graph.Nodes = append(g.m.Graph.Nodes, node("TensorScatter", name, []string{cache, from, g.list(at...)}, attrs...))
	return true
}

// padSeed is a model of all these operators, for the fuzzer.
func padSeed(tb testing.TB) *model.Model {
	m := model.New("pad", 24)
	m.Graph.Inputs = []model.ValueInfo{{Name: "x", Type: model.TensorOf(layout.Float32, model.Known(2), model.Known(3))}}
	m.Graph.Initializers = []model.Tensor{constant(tb, "pads", []int64{1, -1, 0, 2}), constant(tb, "zero", []float32{0}),
		constant(tb, "shape", []int64{3, 2}), constant(tb, "k", []int64{-1}), constant(tb, "lengths", []int64{2, 1, 2, 0})}
	m.Graph.Nodes = []model.Node{
		node("Pad", "padded", []string{"x", "pads", "zero"}, onnx.Attr{Name: "mode", Value: "reflect"}),
		node("Trilu", "lower", []string{"padded", "k"}, onnx.Int("upper", 0)),
		node("ReverseSequence", "back", []string{"lower", "lengths"}),
		node("CenterCropPad", "middle", []string{"padded", "shape"}),
		node("TensorScatter", "y", []string{"back", "middle"}, onnx.Int("axis", 1)),
	}
	m.Graph.Outputs = outputs("y")
	return m
}

// padGrowth is growth of these operators.
func padGrowth(m *model.Model) (int64, bool) {
	times := int64(1)
	grow := func(extents []int64) bool {
		for _, n := range extents {
			if n > 256 || times > 256 {
				return false
			}
			times *= 1 + max(n, 0)
		}
		return true
	}
	for _, n := range m.Graph.Nodes {
		if n.OpType != "Pad" && n.OpType != "CenterCropPad" {
			continue
		}
		for _, a := range n.Attrs {
			if list, ok := a.Value.([]int64); ok && a.Name != "axes" && !grow(list) {
				return 0, false
			}
		}
		if len(n.Inputs) < 2 {
			continue
		}
		at := slices.IndexFunc(m.Graph.Initializers, func(t model.Tensor) bool { return t.Name == n.Inputs[1] })
		if at < 0 || slices.ContainsFunc(m.Graph.Inputs, func(in model.ValueInfo) bool { return in.Name == n.Inputs[1] }) {
			return 0, false
		}
		t := m.Graph.Initializers[at]
		raw, err := t.Bytes()
		if err != nil || t.Type != layout.Int64 {
			return 0, false
		}
		for ; len(raw) >= 8; raw = raw[8:] {
			if !grow([]int64{int64(binary.LittleEndian.Uint64(raw))}) {
				return 0, false
			}
		}
	}
	return times, times <= 256
}
