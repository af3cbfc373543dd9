package onnx_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/tensor"
)

func init() {
	operatorTests = append(operatorTests, operatorTest{
		op: "Reshape", versions: []onnx.Opset{1, 5, 13, 14, 19, 21, 23, 24, 25},
		note:  "`allowzero` from 14",
		types: typesSince{1, 5, 5, 13, 19, 21, 23, 24, 25},
		direct: func(x *tensor.Tensor, v onnx.Opset) (*tensor.Tensor, error) {
			return onnx.Reshape(x, v, []int64{4, -1})
		},
		form: func(v onnx.Opset) (onnx.Attrs, [][]int64) {
			if v < 5 {
				return onnx.Attrs{onnx.Ints("shape", 4, -1), onnx.Ints("consumed_inputs", 0, 1)}, nil
			}
			return nil, [][]int64{{4, -1}}
		},
		want: func(a array) array { return a.Reshape(4, 6) },
	})
}

// ruleCase is a call that gives dims or an error that says something.
type ruleCase struct {
	v         onnx.Opset
	in        []int64
	arg       []int64
	allowZero bool
	want      []int64
	says      string
}

// TestReshapeRules checks every rule for the requested shape, called directly
// and by name.
func TestReshapeRules(t *testing.T) {
	const huge = 1 << 32
	for _, c := range []ruleCase{
		{v: 1, in: []int64{2, 3}, arg: []int64{3, 2}, want: []int64{3, 2}},
		{v: 1, in: []int64{2, 3}, arg: []int64{0, -1}, want: []int64{2, 3}},
		{v: 1, in: []int64{1}, arg: []int64{}, want: []int64{}},
		{v: 5, in: []int64{2, 3, 4}, arg: []int64{0, -1}, want: []int64{2, 12}},
		{v: 5, in: []int64{2, 3, 4}, arg: []int64{-1}, want: []int64{24}},
		{v: 5, in: []int64{2, 3, 4}, arg: []int64{4, 0, -1}, want: []int64{4, 3, 2}},
		{v: 25, in: []int64{2, 3, 4}, arg: []int64{1, 24, 1, 1, 1, 1, 1, 1, 1, -1}, want: []int64{1, 24, 1, 1, 1, 1, 1, 1, 1, 1}},
		{v: 13, in: []int64{1, 1}, arg: []int64{}, want: []int64{}},
		{v: 13, in: []int64{}, arg: []int64{1, 1}, want: []int64{1, 1}},
		{v: 13, in: []int64{}, arg: []int64{}, want: []int64{}},
		{v: 13, in: []int64{}, arg: []int64{-1}, want: []int64{1}},
		// Zero extents: copied, kept or inferred.
		{v: 14, in: []int64{0, 3}, arg: []int64{0, 7}, want: []int64{0, 7}},
		{v: 14, in: []int64{3, 0}, arg: []int64{7, 0}, want: []int64{7, 0}},
		{v: 14, in: []int64{0, 3}, arg: []int64{-1, 5}, want: []int64{0, 5}},
		{v: 14, in: []int64{0, 3}, arg: []int64{-1}, want: []int64{0}},
		{v: 14, in: []int64{0, 3}, arg: []int64{7, 0, 2}, allowZero: true, want: []int64{7, 0, 2}},
		{v: 14, in: []int64{0, 3}, arg: []int64{-1, 3}, allowZero: true, want: []int64{0, 3}},
		{v: 14, in: []int64{2, 3}, arg: []int64{-1}, allowZero: true, want: []int64{6}},
		{v: 25, in: []int64{0}, arg: []int64{huge, huge, 0}, allowZero: true, want: []int64{huge, huge, 0}},
		{v: 25, in: []int64{huge, 0, huge}, arg: []int64{3, 0}, want: []int64{3, 0}},

		{v: 14, in: []int64{2, 3}, arg: []int64{-1, -1}, says: "both -1"},
		{v: 14, in: []int64{2, 3}, arg: []int64{-2, 3}, says: "the least allowed is -1"},
		{v: 14, in: []int64{2, 3}, arg: []int64{math.MinInt64}, says: "the least allowed is -1"},
		{v: 14, in: []int64{0, 3}, arg: []int64{0, -1}, allowZero: true, says: "undetermined"},
		{v: 14, in: []int64{2, 3}, arg: []int64{-1, 0}, allowZero: true, says: "undetermined"},
		{v: 14, in: []int64{2, 3}, arg: []int64{0, 0}, allowZero: true, says: "6 elements do not fill 0"},
		{v: 14, in: []int64{0, 3}, arg: []int64{0, -1}, says: "multiply to 0"},
		{v: 14, in: []int64{2, 3}, arg: []int64{2, 3, 0}, says: "has rank 2"},
		{v: 14, in: []int64{}, arg: []int64{0}, says: "has rank 0"},
		{v: 14, in: []int64{2, 3}, arg: []int64{2, 2}, says: "6 elements do not fill 4"},
		{v: 14, in: []int64{2, 3}, arg: []int64{4, -1}, says: "no multiple of 4"},
		{v: 14, in: []int64{2, 3}, arg: []int64{}, says: "6 elements do not fill 1"},
		{v: 14, in: []int64{0}, arg: []int64{}, says: "0 elements do not fill 1"},
		{v: 14, in: []int64{0}, arg: []int64{huge, huge}, says: "overflow"},
		{v: 14, in: []int64{6}, arg: []int64{huge, huge, -1}, says: "overflow"},
		{v: 14, in: []int64{6}, arg: []int64{math.MaxInt64, 2}, says: "overflow"},
		{v: 13, in: []int64{6}, arg: []int64{6}, allowZero: true, says: `"allowzero" does not belong to this version; Reshape-14 has it`},
	} {
		t.Run(fmt.Sprintf("%d of %v to %v %v", c.v, c.in, c.arg, c.allowZero), func(t *testing.T) {
			s := open(t)
			a := numbered(layout.Int16, c.in...)
			x := upload(t, a, s, layout.Int16)
			if c.v == 1 {
				a = numbered(layout.Float32, c.in...)
				x = upload(t, a, s, layout.Float32)
			}
			var attrs onnx.Attrs
			if c.allowZero {
				attrs = onnx.Attrs{onnx.Int("allowzero", 1)}
			}
			more, named := [][]int64{c.arg}, attrs
			if c.v < 5 {
				more, named = nil, append(attrs, onnx.Ints("shape", c.arg...))
			}
			for _, call := range []func() (*tensor.Tensor, error){
				func() (*tensor.Tensor, error) { return onnx.Reshape(x, c.v, c.arg, attrs...) },
				func() (*tensor.Tensor, error) { return byRun(t, "Reshape", c.v, named, x, more) },
			} {
				y, err := call()
				if c.says != "" {
					require.ErrorIs(t, err, device.ErrInvalid)
					require.ErrorContains(t, err, c.says)
					require.ErrorContains(t, err, "Reshape-")
					continue
				}
				require.NoError(t, err)
				require.Equal(t, tensor.View, y.Verdict().Kind)
				same(t, x.DType(), a.Reshape(c.want...), y)
				require.NoError(t, y.Release())
			}
		})
	}
}

func TestReshapeCopiesOnlyWhereItMust(t *testing.T) {
	s := open(t)
	a := numbered(layout.Float32, 3, 4)
	x := uploadAs(t, a, s, layout.Float32, "transposed")
	y := held(t)(onnx.Reshape(x, 25, []int64{3, 2, 2}))
	require.Equal(t, tensor.View, y.Verdict().Kind)
	s.ForbidCopies(true)
	_, err := onnx.Reshape(x, 25, []int64{-1})
	require.ErrorIs(t, err, tensor.ErrCopy)
	require.ErrorIs(t, err, device.ErrUnsupported)
	require.ErrorContains(t, err, "Reshape-25")
	s.ForbidCopies(false)
	y = held(t)(onnx.Reshape(x, 25, []int64{-1}))
	require.Equal(t, tensor.Copy, y.Verdict().Kind)
	require.EqualValues(t, 48, y.Verdict().Bytes)
	same(t, layout.Float32, a.Reshape(12), y)
}

// TestReshapeInputs checks what the shape may be: as an input a vector of
// int64, as an attribute a list.
func TestReshapeInputs(t *testing.T) {
	s := open(t)
	x := held(t)(tensor.New(s, layout.Float32, 6))
	good := ints(t, s, 3, 2)
	scalar := held(t)(tensor.FromSlice(s, []int64{6}, []int64{}...))
	matrix := held(t)(tensor.FromSlice(s, []int64{3, 2}, 1, 2))
	short := held(t)(tensor.FromSlice(s, []int32{3, 2}))
	seq := &onnx.Sequence{Elem: layout.Int64}
	var none *tensor.Tensor
	for _, c := range []struct {
		v     onnx.Opset
		attrs onnx.Attrs
		in    []onnx.Value
		says  string
	}{
		{14, nil, []onnx.Value{x, good}, ""},
		{14, onnx.Attrs{onnx.Int("allowzero", 0)}, []onnx.Value{x, good}, ""},
		{1, onnx.Attrs{onnx.Ints("shape", 6)}, []onnx.Value{x}, ""},
		{14, nil, []onnx.Value{x, scalar}, "shape has shape []; it must have one axis"},
		{14, nil, []onnx.Value{x, matrix}, "must have one axis"},
		{14, nil, []onnx.Value{x, short}, "shape is int32; it must be int64"},
		{14, nil, []onnx.Value{x, seq}, "shape is a sequence of int64; it must be a tensor"},
		{14, nil, []onnx.Value{seq, good}, "a sequence of int64 is given; a tensor is needed"},
		{14, nil, []onnx.Value{x}, "1 inputs are given; it takes 2"},
		{14, nil, []onnx.Value{x, good, good}, "3 inputs are given"},
		{14, nil, []onnx.Value{x, nil}, "input 1 is missing"},
		{14, nil, []onnx.Value{none, good}, "input 0 is missing"},
		{14, nil, nil, "0 inputs are given"},
		{1, nil, []onnx.Value{x}, "attribute shape is missing"},
		{1, onnx.Attrs{onnx.Ints("shape", 6)}, []onnx.Value{x, good}, "2 inputs are given; it takes 1"},
		{1, onnx.Attrs{onnx.Int("shape", 6)}, []onnx.Value{x}, "is of kind int, want ints"},
		{5, onnx.Attrs{onnx.Ints("shape", 6)}, []onnx.Value{x, good}, `"shape" does not belong to this version; Reshape-1 has it`},
		{14, onnx.Attrs{onnx.Int("axis", 6)}, []onnx.Value{x, good}, `there is no attribute "axis"`},
		{14, onnx.Attrs{onnx.Int("allowzero", 2)}, []onnx.Value{x, good}, "allowzero is 2; it must be 0 or 1"},
		{14, onnx.Attrs{onnx.Ints("allowzero", 1)}, []onnx.Value{x, good}, "is of kind ints, want int"},
		{14, onnx.Attrs{onnx.Int("allowzero", 1), onnx.Int("allowzero", 0)}, []onnx.Value{x, good}, "given twice"},
	} {
		out, err := onnx.Run("Reshape", c.v, c.attrs, c.in...)
		if c.says == "" {
			require.NoError(t, err)
			require.NoError(t, out[0].Release())
			continue
		}
		require.ErrorIs(t, err, device.ErrInvalid, c.says)
		require.ErrorContains(t, err, c.says)
		require.ErrorContains(t, err, "Reshape-")
	}
	ref := onnx.Attr{Name: "allowzero", Ref: "z", RefKind: "int"}
	_, err := onnx.Run("Reshape", 14, onnx.Attrs{ref}, x, good)
	require.ErrorIs(t, err, device.ErrUnsupported)
}

// A shape may itself be a view: reversed, or one element repeated.
func TestReshapeShapeIsAView(t *testing.T) {
	s := open(t)
	x := held(t)(tensor.New(s, layout.Float32, 6))
	reversed := held(t)(ints(t, s, 3, 2).Slice(0, -1, math.MinInt64, -1))
	out, err := onnx.Run("Reshape", 14, nil, x, reversed)
	require.NoError(t, err)
	require.Equal(t, "[2,3]", out[0].(*tensor.Tensor).Shape().String())
	require.NoError(t, out[0].Release())
	ones := held(t)(ints(t, s, 1).Expand(3))
	_, err = onnx.Run("Reshape", 14, nil, x, ones)
	require.ErrorContains(t, err, "6 elements do not fill 1")
}

// Once ": attribute ...", without the operator's name.
func TestDirectReshapeErrorsAreNamed(t *testing.T) {
	x := held(t)(tensor.New(open(t), layout.Float32, 6))
	_, err := onnx.Reshape(x, 14, []int64{6}, onnx.Ints("allowzero", 1))
	require.ErrorContains(t, err, "Reshape-14 of float[6]: attribute")
}

// Once the attribute was ignored.
func TestDirectReshapeTakesOneShape(t *testing.T) {
	x := held(t)(tensor.New(open(t), layout.Float32, 6))
	_, err := onnx.Reshape(x, 1, []int64{6}, onnx.Ints("shape", 3, 2))
	require.ErrorIs(t, err, device.ErrInvalid)
}
