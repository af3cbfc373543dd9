package onnx_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// TestNil: what is nil is an error wherever one is returned, not a panic.
func TestNil(t *testing.T) {
	s := open(t)
	ctx := context.Background()
	x := held(t)(tensor.FromSlice(s, []float32{1, 2}))
	m := graphOf(layout.Float32, node("Identity", "y", []string{"x"}))
	sess := session(t, s, m)
	one, err := model.NewTensor("one", []float32{1})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "x.pb")
	var never context.Context
	var none *onnx.Session
	var captured *onnx.Captured
	only := func(_ any, err error) error { return err }
	calls := map[string]func() error{
		"NewSession, stream":     func() error { return only(onnx.NewSession(nil, m)) },
		"NewSession, model":      func() error { return only(onnx.NewSession(s, nil)) },
		"Session.Run, context":   func() error { return only(sess.Run(never, onnx.Values{"x": x})) },
		"Session.Run, no values": func() error { return only(sess.Run(ctx, nil)) },
		"Session.Run, value":     func() error { return only(sess.Run(ctx, onnx.Values{"x": nil})) },
		"Session.Run, tensor":    func() error { return only(sess.Run(ctx, onnx.Values{"x": (*tensor.Tensor)(nil)})) },
		"Session.Run, sequence":  func() error { return only(sess.Run(ctx, onnx.Values{"x": (*onnx.Sequence)(nil)})) },
		"Session.Plan, value":    func() error { return only(sess.Plan(nil, onnx.Values{"x": nil})) },
		"Session.Plan, tensor":   func() error { return only(sess.Plan(nil, onnx.Values{"x": (*tensor.Tensor)(nil)})) },
		"nil.Session.Run":        func() error { return only(none.Run(ctx, nil)) },
		"nil.Session.Profile":    func() error { _, _, err := none.Profile(ctx, nil); return err },
		"nil.Session.Plan":       func() error { return only(none.Plan(nil, nil)) },
		"nil.Session.Capture":    func() error { return only(none.Capture(ctx, nil)) },
		"nil.Session.Close":      func() error { return none.Close() },
		"nil.Captured.Run":       func() error { return captured.Run() },
		"nil.Captured.Close":     func() error { return captured.Close() },
		"Load, stream":           func() error { return only(onnx.Load(nil, &one)) },
		"Load, strings":          func() error { return only(onnx.Load(nil, &model.Tensor{Type: layout.String})) },
		"Load, tensor":           func() error { return only(onnx.Load(s, nil)) },
		"LoadValue, stream": func() error {
			return only(onnx.LoadValue(nil, &model.Value{Kind: model.TensorType, Tensor: &one}, model.Type{}))
		},
		"LoadValue, value":      func() error { return only(onnx.LoadValue(s, nil, model.Type{})) },
		"LoadValue, its tensor": func() error { return only(onnx.LoadValue(s, &model.Value{Kind: model.TensorType}, model.Type{})) },
		"StoreValue":            func() error { return only(onnx.StoreValue("x", nil)) },
		"StoreValue, tensor":    func() error { return only(onnx.StoreValue("x", (*tensor.Tensor)(nil))) },
		"StoreValue, item":      func() error { return only(onnx.StoreValue("x", &onnx.Sequence{Items: []onnx.Value{nil}})) },
		"SaveValue":             func() error { return onnx.SaveValue(path, "x", nil) },
		"SaveValue, item":       func() error { return onnx.SaveValue(path, "x", &onnx.Sequence{Items: []onnx.Value{nil}}) },
		"Values.Tensor":         func() error { return only(onnx.Values{"x": nil}.Tensor("x")) },
		"Run":                   func() error { return only(onnx.Run("Identity", 13, nil, nil)) },
		"Run, tensor":           func() error { return only(onnx.Run("Identity", 13, nil, (*tensor.Tensor)(nil))) },
		"Run, second":           func() error { return only(onnx.Run("Reshape", 13, nil, x, nil)) },
		"Run, list":             func() error { return only(onnx.Run("Concat", 13, onnx.Attrs{onnx.Int("axis", 0)}, x, nil)) },
		"Run, item of a sequence": func() error {
			return only(onnx.Run("Identity", 16, nil, &onnx.Sequence{Elem: layout.Float32, Items: []onnx.Value{nil}}))
		},
		"Run, tensor attribute": func() error {
			return only(onnx.Run("Constant", 13, onnx.Attrs{{Name: "value", Value: (*model.Tensor)(nil)}}))
		},
		"Run, attribute's value": func() error { return only(onnx.Run("Constant", 13, onnx.Attrs{{Name: "value"}})) },
		"Run, sparse attribute": func() error {
			return only(onnx.Run("Constant", 13, onnx.Attrs{{Name: "sparse_value", Value: (*model.SparseTensor)(nil)}}))
		},
		"Run, empty sparse": func() error {
			return only(onnx.Run("Constant", 13, onnx.Attrs{{Name: "sparse_value", Value: &model.SparseTensor{}}}))
		},
		"Constant, attribute":     func() error { return only(call("Constant", 13, onnx.Attrs{{}})) },
		"CastLike, like":          func() error { return only(runCastLike(x, nil, 15)) },
		"Gather, indices":         func() error { return only(runGather(x, 13, nil, 0)) },
		"GatherElements, indices": func() error { return only(call("GatherElements", 13, nil, x)) },
		"GatherND, indices":       func() error { return only(call("GatherND", 13, nil, x)) },
		"TensorScatter, update":   func() error { return only(runTensorScatter(x, nil, 24, nil, 0, false)) },
		"Concat, one":             func() error { return only(runConcat(13, 0, x, nil)) },
		"Concat, first":           func() error { return only(runConcat(13, 0, nil, x)) },
		"BitCast":                 func() error { return only(runBitCast(nil, 26, layout.Int32)) },
		"Cast":                    func() error { return only(runCast(nil, 13, layout.Int32)) },
		"CastLike":                func() error { return only(runCastLike(nil, x, 15)) },
		"CenterCropPad":           func() error { return only(runCenterCropPad(nil, 18, []int64{1}, nil)) },
		"DepthToSpace":            func() error { return only(runDepthToSpace(nil, 13, 1, "DCR")) },
		"Expand":                  func() error { return only(runExpand(nil, 13, []int64{1})) },
		"Flatten":                 func() error { return only(onnx.Flatten(nil, 13, 0)) },
		"OneHot":                  func() error { return only(runOneHot(nil, 11, 1, x, 0)) },
		"OneHot, values":          func() error { return only(runOneHot(x, 11, 1, nil, 0)) },
		"ScatterElements":         func() error { return only(runScatterElements(nil, 18, x, x, 0, device.ReduceSet)) },
		"ScatterElements, more":   func() error { return only(runScatterElements(x, 18, nil, nil, 0, device.ReduceSet)) },
		"ScatterND":               func() error { return only(runScatterND(nil, 18, x, x, device.ReduceSet)) },
		"ScatterND, more":         func() error { return only(runScatterND(x, 18, nil, nil, device.ReduceSet)) },
		"Gather":                  func() error { return only(runGather(nil, 13, x, 0)) },
		"GatherElements":          func() error { return only(onnx.Run("GatherElements", 13, nil, nil, x)) },
		"GatherND":                func() error { return only(onnx.Run("GatherND", 13, nil, nil, x)) },
		"Identity":                func() error { return only(runIdentity(nil, 13)) },
		"Pad":                     func() error { return only(runPad(nil, 13, tensor.PadConstant, []int64{0, 0}, nil, nil)) },
		"Reshape":                 func() error { return only(onnx.Reshape(nil, 13, []int64{1})) },
		"ReverseSequence":         func() error { return only(runReverseSequence(nil, 13, 0, 1, nil)) },
		"Shape":                   func() error { return only(onnx.Shape(nil, 13)) },
		"Size":                    func() error { return only(runSize(nil, 13)) },
		"Slice":                   func() error { return only(runSlice(nil, 13, nil, nil, nil, nil)) },
		"SpaceToDepth":            func() error { return only(runSpaceToDepth(nil, 13, 1, "DCR")) },
		"Split":                   func() error { return only(onnx.Run("Split", 13, nil, nil)) },
		"Squeeze":                 func() error { return only(onnx.Run("Squeeze", 13, nil, nil)) },
		"TensorScatter":           func() error { return only(runTensorScatter(nil, x, 24, nil, 1, false)) },
		"Tile":                    func() error { return only(runTile(nil, 13, nil)) },
		"Transpose":               func() error { return only(runTranspose(nil, 13, nil)) },
		"Trilu":                   func() error { return only(runTrilu(nil, 14, true, 0)) },
		"Unsqueeze":               func() error { return only(onnx.Run("Unsqueeze", 13, nil, nil, nil)) },
	}
	for op := range onnx.Operators() {
		newest := onnx.Operators()[op]
		calls["running "+op] = func() error {
			return only(onnx.Run(op, newest[len(newest)-1], nil, nil, nil, nil))
		}
	}
	for name, call := range calls {
		assert.NotPanics(t, func() {
			assert.ErrorIs(t, call(), device.ErrInvalid, name)
		}, name)
	}
	text, err := onnx.Format(nil)
	require.NoError(t, err)
	require.Equal(t, "none", text)
	sess.OnNode(nil)
}
