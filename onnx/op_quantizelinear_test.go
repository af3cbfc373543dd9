package onnx_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/tensor"
)

func init() {
	versions := []onnx.Opset{10, 13, 19, 21, 23, 24, 25}
	operatorTests = append(operatorTests, operatorTest{
		op: "DequantizeLinear", versions: versions, note: "`axis` from 13, `block_size` from 21, `output_dtype` from 23; every step in floats of 32 bits",
	}, operatorTest{
		op: "QuantizeLinear", versions: versions, note: "`axis` from 13, `saturate` from 19, `block_size` and `output_dtype` from 21, `precision` from 23",
	}, operatorTest{
		op: "DynamicQuantizeLinear", versions: []onnx.Opset{11}, note: "reads its input on the host",
	})
}

// quantized is the first opset at which the operators have a type of codes.
var quantized = map[layout.DType]onnx.Opset{
	layout.Int8: 10, layout.Uint8: 10, layout.Int16: 21, layout.Uint16: 21, layout.Int4: 21, layout.Uint4: 21, layout.Int2: 25, layout.Uint2: 25,
	layout.Float8E4M3FN: 19, layout.Float8E4M3FNUZ: 19, layout.Float8E5M2: 19, layout.Float8E5M2FNUZ: 19, layout.Float4E2M1: 23,
}

// TestLinearTypes: what each version takes and makes.
func TestLinearTypes(t *testing.T) {
	s := open(t)
	one := held(t)(tensor.FromSlice(s, []float32{1}))
	x := held(t)(tensor.FromSlice(s, []float32{0, 1}))
	for v := onnx.Opset(10); v <= onnx.MaxOpset; v++ {
		for _, typ := range layout.DTypes() {
			first, is := quantized[typ]
			is = is && v >= first
			require.Equal(t, is || typ == layout.Int32, onnx.Allows("DequantizeLinear", v, typ), "%v at %d", typ, v)
			floats := typ == layout.Float32 || typ == layout.Int32 || v >= 19 && (typ == layout.Float16 || typ == layout.BFloat16)
			require.Equal(t, floats, onnx.Allows("QuantizeLinear", v, typ), "%v at %d", typ, v)
			zero := held(t)(tensor.New(s, typ, 1))
			y, err := runQuantizeLinear(x, v, one, zero)
			if !is {
				require.ErrorIs(t, err, device.ErrInvalid, "%v at %d", typ, v)
				continue
			}
			require.NoError(t, err, "%v at %d", typ, v)
			require.Equal(t, typ, y.DType())
			back := held(t)(runDequantizeLinear(y, v, one, zero))
			got, err := tensor.Values[float32](back)
			require.NoError(t, err)
			require.Equal(t, []float32{0, 1}, got)
			require.NoError(t, y.Release())
		}
	}
}

// TestLinearScales: one scale for all, for each index of an axis, and for blocks of it.
func TestLinearScales(t *testing.T) {
	s := open(t)
	codes := make([]int8, 24)
	for i := range codes {
		codes[i] = int8(5*i - 60)
	}
	x := held(t)(tensor.FromSlice(s, codes, 2, 4, 3))
	for _, c := range []struct {
		attrs []onnx.Attr
		dims  []int64
		at    func(i, j, k int) int
	}{
		{nil, []int64{}, func(_, _, _ int) int { return 0 }},
		{nil, []int64{1}, func(_, _, _ int) int { return 0 }},
		{nil, []int64{4}, func(_, j, _ int) int { return j }},
		{[]onnx.Attr{onnx.Int("axis", -1)}, []int64{3}, func(_, _, k int) int { return k }},
		{[]onnx.Attr{onnx.Int("axis", 0)}, []int64{2}, func(i, _, _ int) int { return i }},
		{[]onnx.Attr{onnx.Int("block_size", 2)}, []int64{2, 2, 3}, func(i, j, k int) int { return i*6 + j/2*3 + k }},
		{[]onnx.Attr{onnx.Int("block_size", 3)}, []int64{2, 2, 3}, func(i, j, k int) int { return i*6 + j/3*3 + k }},
		{[]onnx.Attr{onnx.Int("block_size", 2), onnx.Int("axis", 2)}, []int64{2, 4, 2}, func(i, j, k int) int { return i*8 + j*2 + k/2 }},
	} {
		n, err := layout.Shape(c.dims).Count()
		require.NoError(t, err)
		scales, zeros := make([]float32, n), make([]int8, n)
		for i := range scales {
			scales[i], zeros[i] = float32(i+1)/8, int8(3*i-7)
		}
		scale, zero := held(t)(tensor.FromSlice(s, scales, c.dims...)), held(t)(tensor.FromSlice(s, zeros, c.dims...))
		y := held(t)(runDequantizeLinear(x, 25, scale, zero, c.attrs...))
		got, err := tensor.Values[float32](y)
		require.NoError(t, err)
		var want []float32
		for i := range 24 {
			at := c.at(i/12, i/3%4, i%3)
			want = append(want, float32(int(codes[i])-int(zeros[at]))*scales[at])
		}
		require.Equal(t, want, got, "%v %v", c.attrs, c.dims)
		back := held(t)(runQuantizeLinear(y, 25, scale, zero, c.attrs...))
		again, err := tensor.Values[int8](back)
		require.NoError(t, err)
		require.Equal(t, codes, again, "%v %v", c.attrs, c.dims)

		// As a node of a graph, too.
		out, err := onnx.Run("DequantizeLinear", 25, c.attrs, x, scale, zero)
		require.NoError(t, err)
		got, err = tensor.Values[float32](held(t)(out[0].(*tensor.Tensor), nil))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

// TestLinearPrecision: the quotient is rounded to the scale's type, or to that asked for,
// before it is rounded to an integer; and the result's type may be asked for.
func TestLinearPrecision(t *testing.T) {
	s := open(t)
	x := held(t)(tensor.FromSlice(s, []float32{2.499, -300, float32(math.NaN()), float32(math.Inf(1))}))
	one := held(t)(tensor.FromSlice(s, []float32{1}))
	whole := held(t)(tensor.FromSlice(s, []int32{1}))
	short := held(t)(one.Cast(layout.BFloat16, device.Rounding{})) // 2.499 is 2.5 there
	for _, c := range []struct {
		scale *tensor.Tensor
		attrs []onnx.Attr
		want  []byte
	}{
		{one, nil, []byte{2, 0, 0, 255}},
		{whole, nil, []byte{2, 0, 0, 255}},
		{one, []onnx.Attr{onnx.Int("output_dtype", int64(layout.Int8))}, []byte{2, 0x80, 0, 127}},
		{one, []onnx.Attr{onnx.Int("output_dtype", int64(layout.Float8E5M2)), onnx.Int("saturate", 0)}, []byte{0x41, 0xdd, 0x7e, 0x7c}},
		{short, nil, []byte{2, 0, 0, 255}},
		{held(t)(tensor.FromSlice(s, []float32{.66640002})), []onnx.Attr{onnx.Int("precision", int64(layout.BFloat16))}, []byte{4, 0, 0, 255}},
		{held(t)(tensor.FromSlice(s, []float32{.71400001})), []onnx.Attr{onnx.Int("precision", int64(layout.BFloat16))}, []byte{4, 0, 0, 255}},
		{held(t)(tensor.FromSlice(s, []float32{.71420001})), nil, []byte{3, 0, 0, 255}},
	} {
		b, err := held(t)(runQuantizeLinear(x, 23, c.scale, nil, c.attrs...)).Bytes()
		require.NoError(t, err)
		require.Equal(t, c.want, b, "%v %v", c.scale.DType(), c.attrs)
	}
	codes := held(t)(tensor.FromSlice(s, []int8{3}))
	power := held(t)(tensor.FromBytes(s, layout.Float8E8M0, []byte{126}, 1))
	half := held(t)(runDequantizeLinear(codes, 24, power, nil, onnx.Int("output_dtype", int64(layout.Float16))))
	b, err := half.Bytes()
	require.NoError(t, err)
	require.Equal(t, []byte{0, 0x3e}, b) // 1.5
}

func TestLinearErrors(t *testing.T) {
	s := open(t)
	x := held(t)(tensor.New(s, layout.Float32, 2, 6))
	codes := held(t)(tensor.New(s, layout.Int8, 2, 6))
	one := held(t)(tensor.New(s, layout.Float32, 1))
	six := held(t)(tensor.New(s, layout.Float32, 6))
	eight := held(t)(tensor.New(s, layout.Int8, 1))
	four := held(t)(tensor.New(s, layout.Uint4, 1))
	power := held(t)(tensor.New(s, layout.Float8E8M0, 1))
	for _, c := range []struct {
		op    string
		v     onnx.Opset
		attrs onnx.Attrs
		in    []onnx.Value
		says  string
	}{
		{"QuantizeLinear", 10, nil, []onnx.Value{x, six}, "QuantizeLinear-10 of float[2,6]: the scale has the shape [6]; it must be one number"},
		{"QuantizeLinear", 13, onnx.Attrs{onnx.Int("axis", 0)}, []onnx.Value{x, six}, "the scale has the shape [6]; along axis 0, it must have 2 elements"},
		{"QuantizeLinear", 13, onnx.Attrs{onnx.Int("axis", 2)}, []onnx.Value{x, six}, "axis 2 is outside [-2,1]"},
		{"QuantizeLinear", 13, onnx.Attrs{onnx.Int("saturate", 0)}, []onnx.Value{x, one}, "QuantizeLinear-19 has it"},
		{"QuantizeLinear", 21, onnx.Attrs{onnx.Int("block_size", 4)}, []onnx.Value{x, six}, "the scale has the shape [6]; in blocks of 4 along axis 1, it must have [2,2]"},
		{"QuantizeLinear", 21, onnx.Attrs{onnx.Int("block_size", -4)}, []onnx.Value{x, one}, "block_size is -4"},
		{"QuantizeLinear", 21, onnx.Attrs{onnx.Int("output_dtype", 23)}, []onnx.Value{x, one}, "output_dtype is 23, which is the number of no type that it may be"},
		{"QuantizeLinear", 21, onnx.Attrs{onnx.Int("output_dtype", 3)}, []onnx.Value{x, one, four}, "the zero point is uint4, but output_dtype is int8"},
		{"QuantizeLinear", 23, onnx.Attrs{onnx.Int("precision", 11)}, []onnx.Value{x, one}, "precision is 11, which is the number of no type"},
		{"QuantizeLinear", 19, nil, []onnx.Value{x, one, four}, "the zero point is uint4, which is no type for it"},
		{"QuantizeLinear", 23, nil, []onnx.Value{x, power}, "the scale is float8e8m0[1], which is no type for it"},
		{"QuantizeLinear", 13, nil, []onnx.Value{codes, one}, "type int8 is not allowed"},
		{"QuantizeLinear", 13, nil, []onnx.Value{x, &onnx.Sequence{Elem: layout.Float32}}, "the scale is a sequence of float; it must be a tensor"},
		{"DequantizeLinear", 13, nil, []onnx.Value{codes, one, four}, "DequantizeLinear-13 of int8[2,6]: the zero point is uint4; it must be of the input's type"},
		{"DequantizeLinear", 13, nil, []onnx.Value{codes, six, eight}, "the zero point has the shape [1]; it must be that of the scale, [6]"},
		{"DequantizeLinear", 13, nil, []onnx.Value{codes, eight}, "the scale is int8[1], which is no type for it"},
		{"DequantizeLinear", 24, nil, []onnx.Value{codes, power}, "the scale is float8e8m0: output_dtype must be given"},
		{"DequantizeLinear", 13, nil, []onnx.Value{x, one}, "type float is not allowed, in no version of DequantizeLinear"},
		{"DynamicQuantizeLinear", 11, nil, []onnx.Value{codes}, "type int8 is not allowed, in no version of DynamicQuantizeLinear"},
	} {
		_, err := onnx.Run(c.op, c.v, c.attrs, c.in...)
		require.ErrorIs(t, err, device.ErrInvalid, "%s", c.says)
		require.ErrorContains(t, err, c.says)
	}
	_, err := runQuantizeLinear(x, 25, nil, nil)
	require.ErrorContains(t, err, "QuantizeLinear-25: 1 inputs are given")
	_, err = runDequantizeLinear(nil, 25, one, nil)
	require.ErrorIs(t, err, device.ErrInvalid)
}

func TestDynamicQuantizeLinear(t *testing.T) {
	s := open(t)
	for _, c := range []struct {
		x, y []float32
		s    float32
		z    uint8
	}{
		{[]float32{0, 2, -3, -2.5, 1.34, .5}, []float32{153, 255, 0, 26, 221, 179}, 5. / 255, 153},
		{[]float32{1, 2}, []float32{127, 255}, 2. / 255, 0},
		{[]float32{-1, -2}, []float32{128, 0}, 2. / 255, 255},
		{[]float32{0, 0}, []float32{0, 0}, 1. / 255, 0},
		{nil, nil, 1. / 255, 0},
	} {
		x := held(t)(tensor.FromSlice(s, c.x, int64(len(c.x))))
		out, err := calls("DynamicQuantizeLinear", 11, nil, x)
		require.NoError(t, err)
		y, scale, zero := out[0], out[1], out[2]
		codes := held(t)(held(t)(y, nil).Cast(layout.Float32, device.Rounding{}))
		got, err := tensor.Values[float32](codes)
		require.NoError(t, err)
		require.Equal(t, c.y, append([]float32(nil), got...))
		floats, err := tensor.Values[float32](held(t)(scale, nil))
		require.NoError(t, err)
		require.Equal(t, []float32{c.s}, floats)
		bytes, err := held(t)(zero, nil).Bytes()
		require.NoError(t, err)
		require.Equal(t, []byte{c.z}, bytes)
		require.Zero(t, zero.Rank())
	}
}
