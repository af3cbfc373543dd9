package onnx_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/graphs"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// fuzzSeeds are models of every operator, old and new.
func fuzzSeeds(f *testing.F) [][]byte {
	slice := model.New("slice", 13)
	slice.Graph.Inputs = []model.ValueInfo{input("x", layout.Float32)}
	slice.Graph.Outputs = outputs("y", "n")
	slice.Graph.Initializers = []model.Tensor{constant(f, "a", []int32{1}), constant(f, "b", []int32{-1})}
	slice.Graph.Nodes = []model.Node{node("Slice", "y", []string{"x", "a", "b", "", "b"}), node("Size", "n", []string{"y"})}

	old := model.New("old", 1)
	old.Graph.Inputs = []model.ValueInfo{{Name: "x", Type: model.TensorOf(layout.Float32, model.Known(2), model.Known(3))}}
	old.Graph.Outputs = outputs("y")
	old.Graph.Nodes = []model.Node{
		node("Reshape", "a", []string{"x"}, onnx.Ints("shape", 0, 1, -1)),
		node("Squeeze", "b", []string{"a"}, onnx.Ints("axes", 1)),
		node("Unsqueeze", "c", []string{"b"}, onnx.Ints("axes", 0)),
		node("Slice", "d", []string{"c"}, onnx.Ints("starts", 1), onnx.Ints("ends", 9), onnx.Ints("axes", 2)),
		node("Flatten", "y", []string{"d"}, onnx.Int("axis", 2)),
	}

	constants := model.New("constants", 25)
	constants.Graph.Outputs = outputs("a", "b", "c", "d", "e", "s")
	sparse := &model.SparseTensor{Values: *tensorOf(numbered(layout.Int4, 2), layout.Int4), Indices: *tensorOf(numbers(1, 4), layout.Int64), Dims: layout.Shape{2, 3}}
	constants.Graph.Nodes = []model.Node{
		node("Constant", "a", nil, onnx.Attr{Name: "value", Value: tensorOf(numbered(layout.Int2, 5), layout.Int2)}),
		node("Constant", "b", nil, onnx.Attr{Name: "sparse_value", Value: sparse}),
		node("Constant", "c", nil, onnx.Ints("value_ints", 6)),
		node("Constant", "s", nil, onnx.Attr{Name: "value_strings", Value: []string{"p", "q"}}),
		node("Reshape", "d", []string{"b", "c"}, onnx.Int("allowzero", 1)),
		node("Shape", "e", []string{"b"}, onnx.Int("start", -1), onnx.Int("end", 9)),
	}

	both := shapeModel(layout.Int8, node("Identity", "data", []string{"shape"}))
	both.Graph.Inputs[0].Type = model.TensorOf(layout.Int8, model.Known(6))
	both.Graph.Inputs = append(both.Graph.Inputs, input("shape", layout.Int64))
	both.Graph.Initializers = []model.Tensor{constant(f, "shape", []int64{3, 2})}
	both.Graph.Outputs = outputs("y", "data", "x")

	spread := model.New("sparse", 25)
	spread.Graph.Outputs = outputs("y")
	spread.Graph.SparseInitializers = []model.SparseTensor{*sparse}
	spread.Graph.SparseInitializers[0].Values.Name = "w"
	spread.Graph.Nodes = []model.Node{node("Transpose", "y", []string{"w"})}

	containers := model.New("containers", 16)
	containers.Graph.Inputs = []model.ValueInfo{{Name: "x", Type: model.SequenceOf(model.Type{Kind: model.TensorType, Elem: layout.Float32})}}
	containers.Graph.Outputs = outputs("y")
	containers.Graph.Nodes = []model.Node{node("Identity", "y", []string{"x"})}

	gathers := model.New("gathers", 13)
	gathers.Graph.Inputs = []model.ValueInfo{input("i", layout.Int64), {Name: "x", Type: model.TensorOf(layout.Float32, model.Known(2), model.Known(3))}}
	gathers.Graph.Outputs = outputs("a", "b", "c", "d")
	gathers.Graph.Initializers = []model.Tensor{constant(f, "last", []int64{-1}), constant(f, "pick", []int64{1, 0, 1})}
	gathers.Graph.Nodes = []model.Node{
		node("Gather", "a", []string{"x", "last"}, onnx.Int("axis", 1)),
		node("Gather", "b", []string{"x", "pick"}),
		node("GatherND", "c", []string{"x", "last"}, onnx.Int("batch_dims", 0)),
		node("GatherElements", "d", []string{"i", "last"}),
	}

	loop := rowsOf(f)
	loop.Graph.Initializers = append(loop.Graph.Initializers, constant(f, "n", []int64{2}))
	loops := []*model.Model{loop, scanOf(21), scanOf(8)}
	for _, m := range loops {
		for i := range m.Graph.Inputs {
			if in := &m.Graph.Inputs[i]; in.Type.Elem == layout.Float32 {
				in.Type = model.TensorOf(layout.Float32, model.Known(2), model.Known(2))
			}
		}
	}

	var seeds [][]byte
	for _, m := range append(loops, attention(f, 2, 4), slice, old, constants, both, containers, chain(3), repeatSeed(f), padSeed(f), gathers, listsSeed(f), callsSeed()) {
		b, err := m.Marshal()
		require.NoError(f, err)
		seeds = append(seeds, b)
	}
	return seeds
}

// FuzzSession: no model makes a panic or leaves memory behind, on a device whose
// memory is the host's and on one whose is not, and both give the same.
func FuzzSession(f *testing.F) {
	for _, b := range fuzzSeeds(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := model.Parse(b, "")
		if err != nil || tooMuch(m) {
			return
		}
		times, ok := growth(m)
		if !ok {
			return
		}
		dev, err := cpu.Open()
		require.NoError(t, err)
		other, err := cpu.Open()
		require.NoError(t, err)
		var results [2]map[string]string
		var failed [2]error
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) // a Loop may have no end
		defer cancel()
		for i, d := range []device.Device{dev, &fake{dev: other}} {
			s, err := tensor.NewStream(d)
			require.NoError(t, err)
			results[i], failed[i] = once(ctx, t, s, m)
			require.Zero(t, d.Stats().Live)
			require.Zero(t, d.Stats().Buffers)
			require.LessOrEqual(t, d.Stats().Peak, (int64(len(b))*int64(1+len(m.Graph.Nodes))+1<<26)*times)
			require.NoError(t, s.Close())
			require.NoError(t, d.Close())
		}
		if ctx.Err() != nil {
			return
		}
		require.Equal(t, failed[0] == nil, failed[1] == nil, "%v, %v", failed[0], failed[1])
		require.Equal(t, results[0], results[1])
	})
}

// tooMuch reports whether a model's sparse constants may take more than the fuzzer
// wants to wait for.
func tooMuch(m *model.Model) bool {
	for _, s := range m.Graph.SparseInitializers {
		if count, err := s.Dims.Count(); err == nil && count > 1<<18 {
			return true
		}
	}
	for _, n := range m.Graph.Nodes {
		for _, a := range n.Attrs {
			if s, ok := a.Value.(*model.SparseTensor); ok {
				if count, err := s.Dims.Count(); err == nil && count > 1<<18 {
					return true
				}
			}
		}
	}
	return false
}

// once runs a model on zeros, and returns its outputs as text.
func once(ctx context.Context, t *testing.T, s *tensor.Stream, m *model.Model) (map[string]string, error) {
	sess, err := onnx.NewSession(s, m)
	if err != nil {
		if !errors.Is(err, device.ErrInvalid) && !errors.Is(err, device.ErrUnsupported) {
			t.Errorf("error of neither kind: %v", err)
		}
		return nil, err
	}
	defer func() { require.NoError(t, sess.Close()) }()
	sess.OnNode(func(onnx.NodeReport) {})
	in := onnx.Values{}
	defer func() { require.NoError(t, in.Release()) }()
	for _, info := range sess.Inputs() {
		v, err := graphs.Zeros(s, info.Type, 1<<16)
		if err != nil {
			return nil, nil // not a small one
		}
		in[info.Name] = v
	}
	out, err := sess.Run(ctx, in)
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, device.ErrInvalid) && !errors.Is(err, device.ErrUnsupported) {
			t.Errorf("error of neither kind: %v", err)
		}
		return nil, err
	}
	results := map[string]string{}
	for name, v := range out {
		stored, err := onnx.StoreValue(name, v)
		if err != nil {
			t.Errorf("output %q: %v", name, err)
			continue
		}
		raw, err := stored.Marshal()
		require.NoError(t, err)
		results[name] = string(raw)
	}
	require.NoError(t, out.Release())
	return results, nil
}

// FuzzReshape: for any shape, input and attribute, Reshape by name says what
// the rules, written out here once more, say.
func FuzzReshape(f *testing.F) {
	f.Add(uint8(13), false, false, []byte{2, 3, 4}, []byte{0, 255})
	f.Add(uint8(13), true, false, []byte{0, 3}, []byte{0, 3})
	f.Add(uint8(24), true, true, []byte{2, 3}, []byte{3, 2})
	f.Add(uint8(0), false, true, []byte{1}, []byte{})
	f.Add(uint8(24), false, false, []byte{}, []byte{255})
	f.Fuzz(func(t *testing.T, opset uint8, allowZero, turned bool, from, to []byte) {
		v := onnx.Opset(opset%uint8(onnx.MaxOpset)) + 1
		if len(from) > 6 || len(to) > 12 {
			return
		}
		dims, shape := []int64{}, []int64{}
		for _, b := range from {
			dims = append(dims, int64(b%7))
		}
		for _, b := range to { // small, negative, or large
			d := int64(int8(b))
			if d > 100 {
				d = 1 << (d - 65)
			}
			shape = append(shape, d)
		}
		s := open(t)
		a := numbered(layout.Float16, dims...)
		view := "contiguous"
		if turned {
			view = "transposed"
		}
		x := uploadAs(t, a, s, layout.Float16, view)
		attrs, more := onnx.Attrs{}, [][]int64{shape}
		if v < 5 {
			attrs, more = onnx.Attrs{onnx.Ints("shape", shape...)}, nil
		}
		if allowZero {
			attrs = append(attrs, onnx.Int("allowzero", 1))
		}
		want, ok := reshaped(dims, shape, allowZero)
		ok = ok && (!allowZero || v >= 14)
		y, err := byRun(t, "Reshape", v, attrs, x, more)
		if !ok {
			require.ErrorIs(t, err, device.ErrInvalid, "%v to %v", dims, shape)
			return
		}
		require.NoError(t, err, "%v to %v", dims, shape)
		same(t, layout.Float16, a.Reshape(want...), y)
		require.NoError(t, y.Release())
	})
}

// reshaped applies ONNX's rules in small steps.
func reshaped(dims, shape []int64, allowZero bool) ([]int64, bool) {
	out, infer := []int64{}, -1
	for i, d := range shape {
		switch {
		case d < -1, d == -1 && infer >= 0:
			return nil, false
		case d == -1:
			infer = i
		case d == 0 && !allowZero:
			if i >= len(dims) {
				return nil, false
			}
			d = dims[i]
		}
		out = append(out, d)
	}
	all := big.NewInt(1)
	for i, d := range out {
		if i != infer {
			all.Mul(all, big.NewInt(d))
		}
	}
	total, rest := count(dims), all.Int64()
	switch {
	case !all.IsInt64():
		return nil, false
	case infer < 0:
		return out, rest == total
	case rest == 0 || total%rest != 0:
		return nil, false
	}
	out[infer] = total / rest
	return out, true
}

// growth bounds how many times as many elements as it is given a model makes.
// False: it cannot be told, or is more than the fuzzer wants to wait for.
func growth(m *model.Model) (int64, bool) {
	lists := map[string]*model.Tensor{}
	for i := range m.Graph.Initializers {
		lists[m.Graph.Initializers[i].Name] = &m.Graph.Initializers[i]
	}
	times, ok := padGrowth(m)
	if !ok {
		return 0, false
	}
	for _, n := range m.Graph.Nodes {
		of := map[string]int{"Expand": 1, "Tile": 1, "ConstantOfShape": 0}
		i, grows := of[n.OpType]
		if !grows {
			continue
		}
		if i >= len(n.Inputs) || lists[n.Inputs[i]] == nil || slices.ContainsFunc(m.Graph.Inputs, func(in model.ValueInfo) bool { return in.Name == n.Inputs[i] }) {
			return 0, false
		}
		raw, err := lists[n.Inputs[i]].Bytes()
		for ; err == nil && len(raw) >= 8; raw = raw[8:] {
			// What is negative or of another type is refused, whatever it says.
			extent := int64(binary.LittleEndian.Uint64(raw))
			if extent > 256 || times > 256 {
				return 0, false
			}
			times *= max(extent, 1)
		}
	}
	return times, times <= 256
}

// repeatSeed is a model of the operators that repeat, cut and rearrange.
func repeatSeed(tb testing.TB) *model.Model {
	m := graphOf(layout.Float32,
		node("DepthToSpace", "wide", []string{"x"}, onnx.Int("blocksize", 2), onnx.Attr{Name: "mode", Value: "CRD"}),
		node("SpaceToDepth", "deep", []string{"wide"}, onnx.Int("blocksize", 2)),
		node("Tile", "tiled", []string{"deep", "list"}),
		node("Expand", "more", []string{"deep", "list"}),
		node("ConstantOfShape", "ones", []string{"list"}),
		node("DynamicSlice", "z", []string{"ones", "one", "one", "one"}),
		model.NewNode("Split", []string{"more", "two"}, []string{"left", "right"}, onnx.Int("axis", 1)),
		node("Concat", "y", []string{"tiled", "left", "right"}, onnx.Int("axis", 1)),
	)
	m.Graph.Inputs[0].Type = model.TensorOf(layout.Float32, model.Known(1), model.Known(4), model.Known(1), model.Known(1))
	m.Graph.Initializers = []model.Tensor{constant(tb, "list", []int64{2, 1, 1, 1}), constant(tb, "one", []int64{1}), constant(tb, "two", []int64{1, 3})}
	m.Graph.Outputs = outputs("y", "z")
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

// padSeed is a model of the operators that pad, and of their kin.
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

// listsSeed is a model of sequences and optionals, and of a SequenceMap.
func listsSeed(tb testing.TB) *model.Model {
	turn := inputsOf(bodyOf("body", []string{"turned"}, node("Transpose", "turned", []string{"item"})), input("item", layout.Float32))
	m := graphOf(layout.Float32,
		node("SplitToSequence", "rows", []string{"x", "one"}),
		node("SequenceInsert", "more", []string{"rows", "x", "at"}),
		node("SequenceErase", "less", []string{"more"}),
		node("SequenceMap", "turned", []string{"less"}, turn),
		node("Optional", "may", []string{"turned"}),
		node("OptionalHasElement", "has", []string{"may"}),
		node("OptionalGetElement", "list", []string{"may"}),
		node("SequenceLength", "n", []string{"list"}),
		node("SequenceAt", "second", []string{"list", "at"}),
		node("ConcatFromSequence", "y", []string{"list"}, onnx.Int("axis", 0), onnx.Int("new_axis", 1)))
	m.Graph.Inputs[0].Type = model.TensorOf(layout.Float32, model.Known(3), model.Known(1))
	m.Graph.Initializers = []model.Tensor{constant(tb, "one", []int64{1, 1, 1}), constant(tb, "at", []int64{-1})}
	m.Graph.Outputs = outputs("y", "n", "has", "second", "turned")
	return m
}

// callsSeed is a model of functions with attributes, one of which chooses between graphs.
func callsSeed() *model.Model {
	turn := function("Turn", []string{"v"}, []string{"w"}, node("Transpose", "w", []string{"v"}, ref("perm", "order", "ints")))
	turn.Attrs = []string{"order"}
	choose := function("Choose", []string{"c", "v"}, []string{"w", "shape"},
		node("If", "w", []string{"c"}, bodyOf("then_branch", []string{"x"}, local("Turn", []string{"x"}, []string{"v"})), ref("else_branch", "other", "graph")),
		node("Shape", "shape", []string{"w"}))
	choose.Attrs = []string{"other"}
	m := withFunctions(layout.Float32, []model.Function{turn, choose},
		local("Choose", []string{"y", "shape"}, []string{"c", "x"}, bodyOf("other", []string{"z"}, local("Turn", []string{"z"}, []string{"x"}, onnx.Ints("order", 0, 1)))))
	m.Graph.Inputs[0].Type = model.TensorOf(layout.Float32, model.Known(2), model.Known(3))
	m.Graph.Inputs = append(m.Graph.Inputs, model.ValueInfo{Name: "c", Type: model.TensorOf(layout.Bool)})
	m.Graph.Outputs = outputs("y", "shape")
	return m
}
