package onnx_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

func init() {
	operatorTests = append(operatorTests, operatorTest{
		op: "ConstantOfShape", versions: []onnx.Opset{9, 20, 21, 23, 24, 25},
	})
}

// fillSince is the first opset at which ConstantOfShape makes a type, 0 for
// never: written out from ONNX's text.
func fillSince(t layout.DType) onnx.Opset {
	switch t {
	case layout.String, layout.Complex64, layout.Complex128:
		return 0
	case layout.BFloat16, layout.Float8E4M3FN, layout.Float8E4M3FNUZ, layout.Float8E5M2, layout.Float8E5M2FNUZ:
		return 20
	case layout.Int4, layout.Uint4:
		return 21
	case layout.Float4E2M1:
		return 23
	case layout.Float8E8M0:
		return 24
	case layout.Int2, layout.Uint2:
		return 25
	}
	return 9
}

// TestConstantOfShapeTypes makes every type at every opset, in every way.
func TestConstantOfShapeTypes(t *testing.T) {
	onCPU := open(t)
	onFake, dev := openFake(t)
	for _, typ := range layout.DTypes() {
		one := numbered(typ, 3).Take(0, []int64{2}) // not all zeros
		want := array{Dims: []int64{3, 5}, Elems: slices.Repeat(one.Elems, 15)}
		value := tensorOf(one, typ)
		for v := onnx.Opset(1); v <= onnx.MaxOpset; v++ {
			first := fillSince(typ)
			allowed := first != 0 && v >= first
			require.Equal(t, allowed, onnx.Allows("ConstantOfShape", v, typ), "%v at opset %d", typ, v)
			m := model.New("filled", int64(v))
			m.Graph.Outputs = outputs("y")
			m.Graph.Initializers = []model.Tensor{constant(t, "shape", []int64{3, 5})}
			m.Graph.Nodes = []model.Node{node("ConstantOfShape", "y", []string{"shape"}, onnx.Attr{Name: "value", Value: value})}
			for _, s := range []*tensor.Stream{onCPU, onFake} {
				if !allowed {
					_, err := runConstantOfShape(v, []int64{3, 5}, value)
					require.ErrorIs(t, err, device.ErrInvalid)
					says := "type " + typ.String() + " is not allowed"
					if v < 9 {
						says = "the operator exists from opset 9"
					}
					require.ErrorContains(t, err, says)
					_, err = onnx.NewSession(s, m)
					require.ErrorContains(t, err, says)
					continue
				}
				y, err := runConstantOfShape(v, []int64{3, 5}, value)
				require.NoError(t, err)
				same(t, typ, want, y)
				require.NoError(t, y.Release())
				before := dev.Stats()
				sess, err := onnx.NewSession(s, m)
				require.NoError(t, err)
				out, err := sess.Run(t.Context(), nil)
				require.NoError(t, err)
				require.Equal(t, before.Uploads, dev.Stats().Uploads, "the value is an argument of the kernel")
				y, err = out.Tensor("y")
				require.NoError(t, err)
				require.Same(t, s, y.Stream())
				same(t, typ, want, y)
				require.NoError(t, out.Release())
				require.NoError(t, sess.Close())
			}
		}
	}
}

func TestConstantOfShape(t *testing.T) {
	for _, c := range []struct{ shape, dims []int64 }{
		{[]int64{4}, []int64{4}}, {nil, nil}, {[]int64{2, 0, 3}, []int64{2, 0, 3}}, {[]int64{1, 2, 1}, []int64{1, 2, 1}},
		{[]int64{0, 1 << 62, 1 << 62}, []int64{0, 1 << 62, 1 << 62}},
	} {
		y := held(t)(runConstantOfShape(9, c.shape, nil))
		require.Equal(t, layout.Float32, y.DType())
		require.Equal(t, layout.Shape(c.dims).String(), y.Shape().String())
		got, err := tensor.Values[float32](y)
		require.NoError(t, err)
		require.Equal(t, make([]float32, count(c.dims)), got)
	}
	y := held(t)(byRun(t, "ConstantOfShape", 9, nil, ints(t, tensor.Host(), 2), nil))
	require.Equal(t, layout.Shape{2}, y.Shape())
	// A scalar is one element too, and so is one of more axes.
	for _, dims := range []layout.Shape{nil, {1, 1}} {
		value := &model.Tensor{Type: layout.Bool, Dims: dims, Data: []byte{1}}
		got, err := tensor.Values[bool](held(t)(runConstantOfShape(9, []int64{2}, value)))
		require.NoError(t, err)
		require.Equal(t, []bool{true, true}, got)
	}
}

func TestConstantOfShapeErrors(t *testing.T) {
	s := open(t)
	for _, c := range []struct {
		shape []int64
		value *model.Tensor
		says  string
	}{
		{[]int64{2, -1}, nil, "ConstantOfShape-25 of int64[2]: [2,-1]: extent -1 of axis 1 is negative"},
		{[]int64{1 << 32, 1 << 31}, nil, "the number of elements overflows int64"},
		{[]int64{1 << 62}, nil, "the size in bytes overflows int64"},
		{[]int64{2}, tensorOf(numbered(layout.Int8, 2), layout.Int8), "ConstantOfShape-25: value has shape [2]; it must have one element"},
		{[]int64{2}, tensorOf(numbered(layout.Int8, 0), layout.Int8), "value has shape [0]"},
		{[]int64{2}, &model.Tensor{Type: layout.Int8, Dims: layout.Shape{1 << 40, 1 << 40}}, "it must have one element"},
		{[]int64{2}, &model.Tensor{Type: layout.Int16, Data: []byte{1}}, "ConstantOfShape-25"},
		{[]int64{2}, &model.Tensor{}, "is not allowed"},
	} {
		_, err := runConstantOfShape(25, c.shape, c.value)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, c.says)
	}
	for _, c := range []struct {
		in   onnx.Value
		says string
	}{
		{filled(t, s, 2), "ConstantOfShape-9 of int32[2]: the shape is int32; it must be int64"},
		{held(t)(tensor.New(s, layout.BFloat16, 2)), "the shape is bfloat16; it must be int64"},
		{held(t)(tensor.New(s, layout.Int64, 1, 2)), "the shape has shape [1,2]; it must have one axis"},
		{&onnx.Sequence{Elem: layout.Int64}, "a tensor is needed"},
		{nil, "input 0 is missing"},
		{ints(t, s, 2, -3), "extent -3 of axis 1 is negative"},
	} {
		_, err := onnx.Run("ConstantOfShape", 9, nil, c.in)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, c.says)
	}
	_, err := onnx.Run("ConstantOfShape", 9, onnx.Attrs{onnx.Int("value", 1)}, ints(t, s, 2))
	require.ErrorContains(t, err, `attribute "value" is of kind int, want tensor`)
}

// What a Concat will not be made of is refused where it is asked for.
func TestConstantOfShapeOfTooMuchForConcat(t *testing.T) {
	s, _ := openFake(t)
	m := graphOf(layout.Float32,
		node("ConstantOfShape", "zeros", []string{"shape"}),
		node("Concat", "y", []string{"x", "zeros"}, onnx.Int("axis", 0)),
	)
	for _, shape := range [][]int64{{-1}, {1 << 62}} {
		m.Graph.Initializers = []model.Tensor{constant(t, "shape", shape)}
		sess := session(t, s, m)
		_, err := sess.Run(t.Context(), onnx.Values{"x": held(t)(tensor.New(s, layout.Float32, 2))})
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, "ConstantOfShape-21 of int64[1]:")
	}
}
