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
		op: "Squeeze", versions: []onnx.Opset{1, 11, 13, 21, 23, 24, 25},
		note:  "axes are an attribute up to 11, then an input",
		types: typesSince{1, 1, 1, 13, 21, 21, 23, 24, 25},
		form:  axesForm(1),
		want:  func(a array) array { return a.Reshape(2, 3, 4) },
	}, operatorTest{
		op: "Unsqueeze", versions: []onnx.Opset{1, 11, 13, 21, 23, 24, 25},
		note:  "axes are an attribute up to 11, then an input",
		types: typesSince{1, 1, 1, 13, 21, 21, 23, 24, 25},
		form:  axesForm(5, 0),
		want:  func(a array) array { return a.Reshape(1, 2, 1, 3, 4, 1) },
	})
}

// axesCase is a call with a list of axes, nil for none given.
type axesCase struct {
	v    onnx.Opset
	in   []int64
	axes []int64
	want []int64
	says string
}

// checkAxes runs cases by name, with axes as an attribute before
// opset 13 and as an input from it.
func checkAxes(t *testing.T, op string, cases []axesCase) {
	for _, c := range cases {
		t.Run(fmt.Sprintf("%d of %v by %v", c.v, c.in, c.axes), func(t *testing.T) {
			s := open(t)
			a := numbered(layout.Float32, c.in...)
			for _, view := range views {
				x := uploadAs(t, a, s, layout.Float32, view)
				var attrs onnx.Attrs
				var more [][]int64
				if c.axes != nil {
					attrs, more = axesForm(c.axes...)(c.v)
				}
				y, err := byRun(t, op, c.v, attrs, x, more)
				if c.says != "" {
					require.ErrorIs(t, err, device.ErrInvalid)
					require.ErrorContains(t, err, c.says)
					continue
				}
				require.NoError(t, err)
				require.Equal(t, tensor.View, y.Verdict().Kind)
				same(t, layout.Float32, a.Reshape(c.want...), y)
				require.NoError(t, y.Release())
			}
		})
	}
}

func TestSqueezeRules(t *testing.T) {
	checkAxes(t, "Squeeze", []axesCase{
		{1, []int64{1, 3, 1}, nil, []int64{3}, ""},
		{1, []int64{1, 3, 1}, []int64{2}, []int64{1, 3}, ""},
		{1, []int64{1, 3, 1}, []int64{2, 0}, []int64{3}, ""},
		{11, []int64{1, 3, 1}, []int64{-1}, []int64{1, 3}, ""},
		{13, []int64{1, 3, 1}, []int64{-3, 2}, []int64{3}, ""},
		{25, []int64{1, 3, 1}, nil, []int64{3}, ""},
		{25, []int64{}, nil, []int64{}, ""},
		{25, []int64{1, 1}, nil, []int64{}, ""},
		{25, []int64{1, 0}, nil, []int64{0}, ""},
		{25, []int64{0, 1}, []int64{1}, []int64{0}, ""},
		// An empty input names no axis; an empty attribute is one left out.
		{25, []int64{1, 3, 1}, []int64{}, []int64{1, 3, 1}, ""},
		{11, []int64{1, 3, 1}, []int64{}, []int64{3}, ""},
		{1, []int64{1, 3, 1}, []int64{}, []int64{3}, ""},

		{1, []int64{1, 3, 1}, []int64{-1}, []int64{1, 3}, ""},
		{10, []int64{1, 3, 1}, []int64{-3}, []int64{3, 1}, ""},
		{10, []int64{1, 3, 1}, []int64{-4}, nil, "axis -4 is outside [-3,2]"},
		{11, []int64{1, 3, 1}, []int64{1}, nil, "axis 1 has extent 3, not 1"},
		{11, []int64{1, 0, 1}, []int64{1}, nil, "axis 1 has extent 0, not 1"},
		{11, []int64{1, 3, 1}, []int64{0, -3}, nil, "axis -3 is listed twice"},
		{11, []int64{1, 3, 1}, []int64{3}, nil, "axis 3 is outside [-3,2]"},
		{25, []int64{1, 3, 1}, []int64{-4}, nil, "axis -4 is outside [-3,2]"},
		{25, []int64{}, []int64{0}, nil, "axis 0: the tensor has no axes"},
		{25, []int64{1}, []int64{math.MinInt64}, nil, "is outside [-1,0]"},
		{25, []int64{1}, []int64{math.MaxInt64}, nil, "is outside ["},
		{25, []int64{1}, []int64{1 << 32}, nil, "is outside ["},
	})
}

func TestUnsqueezeRules(t *testing.T) {
	checkAxes(t, "Unsqueeze", []axesCase{
		{1, []int64{2, 3}, []int64{0}, []int64{1, 2, 3}, ""},
		{1, []int64{2, 3}, []int64{3, 0}, []int64{1, 2, 3, 1}, ""},
		{1, []int64{2, 3}, []int64{}, []int64{2, 3}, ""},
		{11, []int64{2, 3}, []int64{-1}, []int64{2, 3, 1}, ""},
		{11, []int64{2, 3}, []int64{-4, 1}, []int64{1, 1, 2, 3}, ""},
		{13, []int64{}, []int64{0}, []int64{1}, ""},
		{13, []int64{}, []int64{1, 0, -1}, []int64{1, 1, 1}, ""},
		{25, []int64{0}, []int64{0}, []int64{1, 0}, ""},
		{25, []int64{2, 3}, []int64{}, []int64{2, 3}, ""},
		{25, []int64{2}, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9}, []int64{2, 1, 1, 1, 1, 1, 1, 1, 1, 1}, ""},

		{1, []int64{2, 3}, []int64{-1}, []int64{2, 3, 1}, ""},
		{11, []int64{2, 3}, []int64{0, 0}, nil, "axis 0 is listed twice"},
		{13, []int64{2, 3}, []int64{0, -4}, nil, "axis -4 is listed twice"},
		{13, []int64{2, 3}, []int64{3}, nil, "axis 3 is outside [-3,2]"},
		{13, []int64{2, 3}, []int64{-4}, nil, "axis -4 is outside [-3,2]"},
		{13, []int64{2, 3}, []int64{math.MinInt64}, nil, "is outside ["},
	})
}

// TestAxesInputs checks the forms: attribute or input, and what each refuses.
func TestAxesInputs(t *testing.T) {
	s := open(t)
	x := held(t)(tensor.New(s, layout.Float32, 1, 3))
	zero := ints(t, s, 0)
	scalar := held(t)(tensor.FromSlice(s, []int64{0}, []int64{}...))
	short := held(t)(tensor.FromSlice(s, []int32{0}))
	attr := onnx.Attrs{onnx.Ints("axes", 0)}
	for _, op := range []string{"Squeeze", "Unsqueeze"} {
		for _, c := range []struct {
			v     onnx.Opset
			attrs onnx.Attrs
			in    []onnx.Value
			says  string
		}{
			{12, attr, []onnx.Value{x}, ""},
			{13, nil, []onnx.Value{x, zero}, ""},
			{12, attr, []onnx.Value{x, zero}, "2 inputs are given; it takes 1"},
			{13, attr, []onnx.Value{x, zero}, fmt.Sprintf(`"axes" does not belong to this version; %s-1 has it`, op)},
			{13, nil, []onnx.Value{x, scalar}, ""},
			{13, nil, []onnx.Value{x, short}, "axes is int32; it must be int64"},
			{13, nil, []onnx.Value{x, x}, "axes is float; it must be int64"},
			{12, onnx.Attrs{onnx.Int("axes", 0)}, []onnx.Value{x}, "is of kind int, want ints"},
			{13, nil, []onnx.Value{x, zero, zero}, "3 inputs are given"},
		} {
			out, err := onnx.Run(op, c.v, c.attrs, c.in...)
			if c.says == "" {
				require.NoError(t, err)
				require.NoError(t, out[0].Release())
				continue
			}
			require.ErrorIs(t, err, device.ErrInvalid)
			require.ErrorContains(t, err, c.says)
		}
	}
	_, err := onnx.Run("Unsqueeze", 12, nil, x)
	require.ErrorContains(t, err, "Unsqueeze-11: attribute axes is missing")
	_, err = onnx.Run("Unsqueeze", 13, nil, x)
	require.ErrorContains(t, err, "1 inputs are given; it takes 2")
	_, err = onnx.Run("Unsqueeze", 13, nil, x, nil)
	require.ErrorContains(t, err, "input 1 is missing")
	out, err := onnx.Run("Squeeze", 13, nil, x, nil)
	require.NoError(t, err)
	require.Equal(t, "[3]", out[0].(*tensor.Tensor).Shape().String())
	require.NoError(t, out[0].Release())
}
