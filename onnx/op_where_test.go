package onnx_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/tensor"
)

func init() {
	operatorTests = append(operatorTests, operatorTest{op: "Where", versions: []onnx.Opset{9, 16}, note: "the types are those of the values, inputs 1 and 2"})
}

// whereTypes are by version, copied from ONNX's text.
var whereTypes = typesSince{9, 9, 9, 16}

func TestWhere(t *testing.T) {
	s := open(t)
	cond := held(t)(tensor.FromSlice(s, []bool{true, false, true}, 3, 1))
	x, y := filled(t, s, 3, 2), held(t)(tensor.FromSlice(s, []int32{-1, -2}))
	for _, v := range []onnx.Opset{9, 16, 23} {
		z := held(t)(runWhere(cond, x, y, v))
		hasValues(t, z, []int64{3, 2}, 1, 2, -1, -2, 5, 6)
		require.Equal(t, tensor.Copy, z.Verdict().Kind)
		out, err := onnx.Run("Where", v, nil, cond, x, y)
		require.NoError(t, err)
		hasValues(t, held(t)(out[0].(*tensor.Tensor), nil), []int64{3, 2}, 1, 2, -1, -2, 5, 6)
	}
	for _, at := range layout.DTypes() {
		if at == layout.String && !s.Device().Info().Strings {
			continue
		}
		one := held(t)(tensor.New(s, at, 3))
		for _, v := range []onnx.Opset{9, 15, 16, 24} {
			out, err := onnx.Run("Where", v, nil, held(t)(tensor.New(s, layout.Bool)), one, one)
			if since := whereTypes.of(at); since > 0 && v >= since {
				require.NoError(t, err, "%v at %d", at, v)
				require.NoError(t, out[0].Release())
			} else {
				require.ErrorIs(t, err, device.ErrInvalid, "%v at %d", at, v)
			}
		}
	}
}

// TestWhereOfStrings: strings stay where they are, and the condition comes to them.
func TestWhereOfStrings(t *testing.T) {
	s := open(t)
	words := held(t)(tensor.FromHost([]string{"a", "b", "c"}, 3))
	none := held(t)(tensor.FromHost([]string{""}))
	cond := held(t)(tensor.FromSlice(s, []bool{false, true, false}))
	out, err := onnx.Run("Where", 16, nil, cond, words, none)
	require.NoError(t, err)
	got, err := tensor.Values[string](held(t)(out[0].(*tensor.Tensor), nil))
	require.NoError(t, err)
	require.Equal(t, []string{"", "b", ""}, got)
}

// Once strings on two devices were an error: those of a session on the cpu device, and a
// constant of the host's.
func TestBugWhereOfStringsApart(t *testing.T) {
	s := open(t)
	if !s.Device().Info().Strings {
		t.Skip("the device holds no strings")
	}
	here := held(t)(tensor.FromSlice(s, []string{"a", "b"}))
	there := held(t)(tensor.FromHost([]string{"c"}))
	for _, on := range []*tensor.Stream{s, tensor.Host()} {
		cond := held(t)(tensor.FromSlice(on, []bool{false, true}))
		for want, xy := range map[[2]string][2]*tensor.Tensor{{"c", "b"}: {here, there}, {"a", "c"}: {there, here}} {
			out, err := onnx.Run("Where", 16, nil, cond, xy[0], xy[1])
			require.NoError(t, err)
			got, err := tensor.Values[string](held(t)(out[0].(*tensor.Tensor), nil))
			require.NoError(t, err)
			require.Equal(t, want[:], got)
		}
	}
}

// TestWhereOfHostValues: what the host has comes to the session's device, whichever of the
// three that is.
func TestWhereOfHostValues(t *testing.T) {
	s := open(t)
	for on := range 8 {
		at := func(i int) *tensor.Stream {
			if on>>i&1 == 1 {
				return tensor.Host()
			}
			return s
		}
		cond := held(t)(tensor.FromSlice(at(0), []bool{true, false, true}, 3, 1))
		x := held(t)(tensor.FromSlice(at(1), []int32{1, 2, 3, 4, 5, 6}, 3, 2))
		y := held(t)(tensor.FromSlice(at(2), []int32{-1, -2}))
		out, err := onnx.Run("Where", 16, nil, cond, x, y)
		require.NoError(t, err)
		z := held(t)(out[0].(*tensor.Tensor), nil)
		hasValues(t, z, []int64{3, 2}, 1, 2, -1, -2, 5, 6)
		if on != 7 {
			require.Same(t, s.Device(), z.Stream().Device())
		}
	}
}

func TestWhereErrors(t *testing.T) {
	s := open(t)
	cond := held(t)(tensor.FromSlice(s, []bool{true, false}))
	x, y := filled(t, s, 2), filled(t, s, 3)
	for _, c := range []struct {
		cond, x, y *tensor.Tensor
		says       string
	}{
		{cond, x, y, "extents 2 and 3 differ"},
		{x, x, x, "the condition is int32[2]; it must be bool"},
		{cond, x, cond, "they must be of one type"},
		{nil, x, x, "input 0 is missing"},
		{cond, x, nil, "2 inputs are given; it takes 3"},
	} {
		_, err := runWhere(c.cond, c.x, c.y, 16)
		require.ErrorIs(t, err, device.ErrInvalid, c.says)
		require.ErrorContains(t, err, c.says)
	}
}
