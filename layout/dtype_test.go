package layout_test

import (
	"testing"

	"github.com/restride/restride/layout"
	"github.com/stretchr/testify/require"
)

// onnxTypes is TensorProto.DataType as onnx.proto has it at opset 25, with the
// names of ONNX's type strings.
var onnxTypes = []struct {
	t         layout.DType
	number    int
	name      string
	bits      int
	container layout.DType
}{
	{layout.Float32, 1, "float", 32, 0},
	{layout.Uint8, 2, "uint8", 8, 0},
	{layout.Int8, 3, "int8", 8, 0},
	{layout.Uint16, 4, "uint16", 16, 0},
	{layout.Int16, 5, "int16", 16, 0},
	{layout.Int32, 6, "int32", 32, 0},
	{layout.Int64, 7, "int64", 64, 0},
	{layout.String, 8, "string", 0, 0},
	{layout.Bool, 9, "bool", 8, 0},
	{layout.Float16, 10, "float16", 16, 0},
	{layout.Float64, 11, "double", 64, 0},
	{layout.Uint32, 12, "uint32", 32, 0},
	{layout.Uint64, 13, "uint64", 64, 0},
	{layout.Complex64, 14, "complex64", 64, 0},
	{layout.Complex128, 15, "complex128", 128, 0},
	{layout.BFloat16, 16, "bfloat16", 16, 0},
	{layout.Float8E4M3FN, 17, "float8e4m3fn", 8, 0},
	{layout.Float8E4M3FNUZ, 18, "float8e4m3fnuz", 8, 0},
	{layout.Float8E5M2, 19, "float8e5m2", 8, 0},
	{layout.Float8E5M2FNUZ, 20, "float8e5m2fnuz", 8, 0},
	{layout.Uint4, 21, "uint4", 4, layout.Uint8},
	{layout.Int4, 22, "int4", 4, layout.Int8},
	{layout.Float4E2M1, 23, "float4e2m1", 4, layout.Uint8},
	{layout.Float8E8M0, 24, "float8e8m0", 8, 0},
	{layout.Uint2, 25, "uint2", 2, layout.Uint8},
	{layout.Int2, 26, "int2", 2, layout.Int8},
}

func TestDTypeTable(t *testing.T) {
	require.Len(t, onnxTypes, 26)
	all := layout.DTypes()
	require.Len(t, all, 26)
	for i, c := range onnxTypes {
		require.Equal(t, c.t, all[i])
		require.Equal(t, c.number, int(c.t))
		require.True(t, c.t.Valid())
		require.Equal(t, c.name, c.t.String())
		require.Equal(t, c.bits, c.t.Bits(), c.name)
		require.Equal(t, c.container, c.t.Container(), c.name)
		back, err := layout.ParseDType(c.name)
		require.NoError(t, err)
		require.Equal(t, c.t, back)
	}
}

func TestBit(t *testing.T) {
	require.False(t, layout.Bit.Valid())
	require.True(t, layout.Bit.Storable())
	require.Equal(t, 1, layout.Bit.Bits())
	require.Equal(t, layout.Invalid, layout.Bit.Container())
	back, err := layout.ParseDType("bit")
	require.NoError(t, err)
	require.Equal(t, layout.Bit, back)
	require.NotContains(t, layout.DTypes(), layout.Bit)
	bytes, err := layout.Shape{3, 3}.Bytes(layout.Bit)
	require.NoError(t, err)
	require.EqualValues(t, 2, bytes)
}

func TestDTypeInvalid(t *testing.T) {
	for _, x := range []layout.DType{layout.Invalid, 27, 127, 129, 255} {
		require.False(t, x.Valid())
		require.False(t, x.Storable())
		require.Zero(t, x.Bits())
		require.Equal(t, layout.Invalid, x.Container())
		require.Contains(t, x.String(), "dtype(")
	}
	for _, name := range []string{"", "Float", "float32", "dtype(0)", "int4 "} {
		_, err := layout.ParseDType(name)
		refused(t, err, "ParseDType")
	}
}
