package onnx_test

import (
	"fmt"

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
