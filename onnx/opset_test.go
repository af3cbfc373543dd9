package onnx_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// since is the first opset at which an operator takes a type, 0 for never. It
// is written out from ONNX's text, and knows nothing of the source's table.
func since(op string, t layout.DType) onnx.Opset {
	switch op {
	case "Expand", "Split", "Tile", "DepthToSpace", "SpaceToDepth", "DynamicSlice":
		return sinceSpread(op, t)
	case "Pad":
		return sincePad(t)
	case "Trilu", "CenterCropPad", "ReverseSequence":
		return sinceFixed(op, t)
	}
	switch t {
	case layout.Float16, layout.Float32, layout.Float64:
		return 1
	case layout.BFloat16:
		return 13
	}
	if op == "Slice" && t >= layout.Float8E4M3FN {
		return 0 // Slice-13 is the newest
	}
	switch t {
	case layout.Float8E4M3FN, layout.Float8E4M3FNUZ, layout.Float8E5M2, layout.Float8E5M2FNUZ:
		switch op {
		case "Flatten", "Transpose", "Squeeze", "Unsqueeze":
			return 21
		}
		return 19
	case layout.Int4, layout.Uint4:
		return 21
	case layout.Float4E2M1:
		return 23
	case layout.Float8E8M0:
		return 24
	case layout.Int2, layout.Uint2:
		return 25
	}
	switch op { // bool, string, complex, integers
	case "Reshape":
		return 5
	case "Flatten":
		return 9
	}
	return 1 // of Constant, too: the text of Constant-1 does not say so
}

// typeCase calls an operator, in the form of an opset, on a tensor of dims
// [2,1,3,4].
type typeCase struct {
	op     string
	direct func(x *tensor.Tensor, v onnx.Opset) (*tensor.Tensor, error)
	form   func(v onnx.Opset) (onnx.Attrs, [][]int64) // the further inputs
	want   func(a array) array
	shape  bool // the result is int64 whatever the input
}

var typeCases = []typeCase{
	{
		op: "Reshape",
		direct: func(x *tensor.Tensor, v onnx.Opset) (*tensor.Tensor, error) {
			return onnx.Reshape(x, v, []int64{4, -1})
		},
		form: func(v onnx.Opset) (onnx.Attrs, [][]int64) {
			if v < 5 {
				return onnx.Attrs{onnx.Ints("shape", 4, -1), onnx.Ints("consumed_inputs", 0, 1)}, nil
			}
			return nil, [][]int64{{4, -1}}
		},
		want: func(a array) array { return a.reshape(4, 6) },
	},
	{
		op:     "Flatten",
		direct: func(x *tensor.Tensor, v onnx.Opset) (*tensor.Tensor, error) { return onnx.Flatten(x, v, 2) },
		form:   func(onnx.Opset) (onnx.Attrs, [][]int64) { return onnx.Attrs{onnx.Int("axis", 2)}, nil },
		want:   func(a array) array { return a.reshape(2, 12) },
	},
	{
		op:     "Shape",
		direct: func(x *tensor.Tensor, v onnx.Opset) (*tensor.Tensor, error) { return onnx.Shape(x, v) },
		form:   func(onnx.Opset) (onnx.Attrs, [][]int64) { return nil, nil },
		want:   func(a array) array { return numbers(a.dims...) },
		shape:  true,
	},
	{
		op:     "Size",
		direct: onnx.Size,
		form:   func(onnx.Opset) (onnx.Attrs, [][]int64) { return nil, nil },
		want:   func(a array) array { return numbers(int64(len(a.elems))).reshape() },
		shape:  true,
	},
	{
		op:     "Identity",
		direct: onnx.Identity,
		form:   func(onnx.Opset) (onnx.Attrs, [][]int64) { return nil, nil },
		want:   func(a array) array { return a },
	},
	{
		op: "Transpose",
		direct: func(x *tensor.Tensor, v onnx.Opset) (*tensor.Tensor, error) {
			return onnx.Transpose(x, v, []int64{3, 0, 2, 1})
		},
		form: func(onnx.Opset) (onnx.Attrs, [][]int64) { return onnx.Attrs{onnx.Ints("perm", 3, 0, 2, 1)}, nil },
		want: func(a array) array { return a.transpose(3, 0, 2, 1) },
	},
	{
		op: "Squeeze",
		direct: func(x *tensor.Tensor, v onnx.Opset) (*tensor.Tensor, error) {
			return onnx.Squeeze(x, v, []int64{1})
		},
		form: axesForm(1),
		want: func(a array) array { return a.reshape(2, 3, 4) },
	},
	{
		op: "Unsqueeze",
		direct: func(x *tensor.Tensor, v onnx.Opset) (*tensor.Tensor, error) {
			return onnx.Unsqueeze(x, v, []int64{5, 0})
		},
		form: axesForm(5, 0),
		want: func(a array) array { return a.reshape(1, 2, 1, 3, 4, 1) },
	},
	{
		op: "Slice",
		direct: func(x *tensor.Tensor, v onnx.Opset) (*tensor.Tensor, error) {
			return onnx.Slice(x, v, []int64{1, 0}, []int64{-1, 99}, []int64{3, 2}, nil)
		},
		form: func(v onnx.Opset) (onnx.Attrs, [][]int64) {
			if v < 10 {
				return onnx.Attrs{onnx.Ints("starts", 1, 0), onnx.Ints("ends", -1, 99), onnx.Ints("axes", 3, 2)}, nil
			}
			return nil, [][]int64{{1, 0}, {-1, 99}, {3, 2}}
		},
		want: func(a array) array { return a.take(3, []int64{1, 2}) },
	},
}

// axesForm gives axes as an attribute before opset 13 and as an input from it.
func axesForm(axes ...int64) func(onnx.Opset) (onnx.Attrs, [][]int64) {
	return func(v onnx.Opset) (onnx.Attrs, [][]int64) {
		if v < 13 {
			return onnx.Attrs{onnx.Ints("axes", axes...)}, nil
		}
		return nil, [][]int64{axes}
	}
}

// byRun calls an operator by name.
func byRun(tb testing.TB, op string, v onnx.Opset, attrs onnx.Attrs, x *tensor.Tensor, more [][]int64) (*tensor.Tensor, error) {
	tb.Helper()
	in := []onnx.Value{x}
	for _, list := range more {
		in = append(in, ints(tb, tensor.Host(), list...))
	}
	out, err := onnx.Run(op, v, attrs, in...)
	if err != nil {
		return nil, err
	}
	require.Len(tb, out, 1)
	return out[0].(*tensor.Tensor), nil
}

// bySession calls an operator in a model that was written and read again.
func bySession(tb testing.TB, op string, v onnx.Opset, attrs onnx.Attrs, x *tensor.Tensor, more [][]int64) (*tensor.Tensor, error) {
	tb.Helper()
	m := model.New(op, int64(v))
	names := []string{"x"}
	for i, list := range more {
		name := fmt.Sprint("more", i)
		names = append(names, name)
		m.Graph.Initializers = append(m.Graph.Initializers, constant(tb, name, list))
	}
	m.Graph.Inputs = []model.ValueInfo{input("x", x.DType())}
	m.Graph.Outputs = outputs("y")
	m.Graph.Nodes = []model.Node{node(op, "y", names, attrs...)}
	raw, err := m.Marshal()
	require.NoError(tb, err)
	m, err = model.Parse(raw, "")
	require.NoError(tb, err)
	sess, err := onnx.NewSession(x.Stream(), m)
	if err != nil {
		return nil, err
	}
	out, err := sess.Run(context.Background(), onnx.Values{"x": x})
	require.NoError(tb, sess.Close())
	if err != nil {
		return nil, err
	}
	return out.Tensor("y")
}

// TestTypes runs every operator at every opset with all 26 types, in every way
// to call it and with every view as its input.
func TestTypes(t *testing.T) {
	for _, c := range typeCases {
		t.Run(c.op, func(t *testing.T) {
			for _, typ := range layout.DTypes() {
				t.Run(typ.String(), func(t *testing.T) {
					s := open(t)
					a := numbered(typ, 2, 1, 3, 4)
					for _, view := range views {
						x := a.uploadAs(t, s, typ, view)
						same(t, typ, a, x)
						for v := onnx.Opset(1); v <= onnx.MaxOpset; v++ {
							c.check(t, x, a, v)
						}
					}
				})
			}
		})
	}
}

func (c *typeCase) check(t *testing.T, x *tensor.Tensor, a array, v onnx.Opset) {
	t.Helper()
	first := since(c.op, x.DType())
	allowed := first != 0 && v >= first
	require.Equal(t, allowed, onnx.Allows(c.op, v, x.DType()), "opset %d", v)
	attrs, more := c.form(v)
	for _, call := range []func() (*tensor.Tensor, error){
		func() (*tensor.Tensor, error) { return c.direct(x, v) },
		func() (*tensor.Tensor, error) { return byRun(t, c.op, v, attrs, x, more) },
		func() (*tensor.Tensor, error) { return bySession(t, c.op, v, attrs, x, more) },
	} {
		y, err := call()
		switch {
		case v < onnx.Operators()[c.op][0]:
			require.ErrorIs(t, err, device.ErrInvalid)
			require.ErrorContains(t, err, "the operator exists from opset")
		case allowed:
			require.NoError(t, err, "opset %d", v)
			typ := x.DType()
			if c.shape {
				typ = layout.Int64
			}
			same(t, typ, c.want(a), y)
			require.NoError(t, y.Release())
		case first == 0:
			require.ErrorIs(t, err, device.ErrInvalid)
			require.ErrorContains(t, err, fmt.Sprintf("type %v is not allowed, in no version of %s", x.DType(), c.op))
		default:
			require.ErrorIs(t, err, device.ErrInvalid)
			require.ErrorContains(t, err, fmt.Sprintf("type %v is not allowed; %s allows it from opset %d", x.DType(), c.op, first))
		}
	}
}

// TestOperators checks the versions against the list in ONNX 1.23, where Cast-28
// adds floats of 6 bits only, which are not known here.
func TestOperators(t *testing.T) {
	require.Equal(t, map[string][]onnx.Opset{
		"BitCast":   {26},
		"Cast":      {1, 6, 9, 13, 19, 21, 23, 24, 25},
		"CastLike":  {15, 19, 21, 23, 24, 25},
		"Concat":    {1, 4, 11, 13},
		"Constant":  {1, 9, 11, 12, 13, 19, 21, 23, 24, 25},
		"Flatten":   {1, 9, 11, 13, 21, 23, 24, 25},
		"Identity":  {1, 13, 14, 16, 19, 21, 23, 24, 25},
		"Reshape":   {1, 5, 13, 14, 19, 21, 23, 24, 25},
		"Shape":     {1, 13, 15, 19, 21, 23, 24, 25},
		"Size":      {1, 13, 19, 21, 23, 24, 25},
		"Slice":     {1, 10, 11, 13},
		"Squeeze":   {1, 11, 13, 21, 23, 24, 25},
		"Transpose": {1, 13, 21, 23, 24, 25},
		"Unsqueeze": {1, 11, 13, 21, 23, 24, 25},

		"ConstantOfShape": {9, 20, 21, 23, 24, 25},
		"DepthToSpace":    {1, 11, 13, 28},
		"DynamicSlice":    {1},
		"Expand":          {8, 13},
		"SpaceToDepth":    {1, 13, 28},
		"Split":           {1, 2, 11, 13, 18},
		"Tile":            {1, 6, 13},

		"Pad":             {1, 2, 11, 13, 18, 19, 21, 23, 24, 25},
		"Trilu":           {14},
		"CenterCropPad":   {18},
		"ReverseSequence": {10, 28},
		"TensorScatter":   {24},

		"Gather":         {1, 11, 13},
		"GatherElements": {11, 13},
		"GatherND":       {11, 12, 13},
	}, onnx.Operators())
	require.False(t, onnx.Allows("Reshape", 0, layout.Float32))
	require.False(t, onnx.Allows("Reshape", onnx.MaxOpset+1, layout.Float32))
	require.False(t, onnx.Allows("Reshape", 25, layout.Invalid))
	require.False(t, onnx.Allows("Conv", 25, layout.Float32))
}

// TestErrorsNameTheVersion: the version that runs is the newest that is not
// newer than the opset.
func TestErrorsNameTheVersion(t *testing.T) {
	s := open(t)
	x := held(t)(tensor.New(s, layout.Int4, 2))
	for v, name := range map[onnx.Opset]string{1: "Reshape-1 of int4[2]:", 4: "Reshape-1 of int4[2]:", 5: "Reshape-5 of int4[2]:", 12: "Reshape-5 of int4[2]:", 13: "Reshape-13 of int4[2]:", 18: "Reshape-14 of int4[2]:", 20: "Reshape-19 of int4[2]:"} {
		_, err := onnx.Reshape(x, v, []int64{2})
		require.ErrorContains(t, err, name)
	}
	_, err := onnx.Reshape(x, 0, nil)
	require.ErrorIs(t, err, device.ErrInvalid)
	require.ErrorContains(t, err, "the first is 1")
	_, err = onnx.Reshape(x, 29, nil)
	require.ErrorIs(t, err, device.ErrUnsupported)
	require.ErrorContains(t, err, "newest known here is 28")
	_, err = onnx.Run("Conv", 25, nil, x)
	require.ErrorIs(t, err, device.ErrUnsupported)
	require.ErrorContains(t, err, "Conv")
	_, err = onnx.Reshape(nil, 25, nil)
	require.ErrorIs(t, err, device.ErrInvalid)
	released, err := x.Alias()
	require.NoError(t, err)
	require.NoError(t, released.Release())
	for _, call := range []func() (*tensor.Tensor, error){
		func() (*tensor.Tensor, error) { return onnx.Reshape(released, 25, []int64{2}) },
		func() (*tensor.Tensor, error) { return onnx.Shape(released, 25) },
		func() (*tensor.Tensor, error) { return onnx.Size(released, 25) },
		func() (*tensor.Tensor, error) { return onnx.Identity(released, 25) },
	} {
		_, err := call()
		require.ErrorIs(t, err, tensor.ErrReleased)
	}
}
