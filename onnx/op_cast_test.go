package onnx_test

import (
	"context"
	"math"
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
		op: "Cast", versions: []onnx.Opset{1, 6, 9, 13, 19, 21, 23, 24, 25},
		note: "strings from 9, on the host; `saturate` from 19, `round_mode` from 24",
	}, operatorTest{
		op: "CastLike", versions: []onnx.Opset{15, 19, 21, 23, 24, 25},
	}, operatorTest{
		op: "BitCast", versions: []onnx.Opset{26},
		note: "between types of one width: a view",
	})
}

// str returns an attribute that is text.
func str(name, value string) onnx.Attr { return onnx.Attr{Name: name, Value: value} }

// TestCastVersions: what ONNX's text leaves open is as its test cases of the
// opset's time have it.
func TestCastVersions(t *testing.T) {
	s := open(t)
	x := held(t)(tensor.FromSlice(s, []float32{9, -9, float32(math.NaN()), 1.01171875}))
	for _, c := range []struct {
		v    onnx.Opset
		to   layout.DType
		want []byte
	}{
		{21, layout.Int4, []byte{0x87, 0x10}},
		{23, layout.Int4, []byte{0x87, 0x10}},
		{24, layout.Int4, []byte{0x79, 0x10}},
		{28, layout.Uint4, []byte{0x79, 0x10}},
		{23, layout.Float4E2M1, []byte{0xf7, 0x27}},
		{25, layout.Float4E2M1, []byte{0xf7, 0x28}},
		{13, layout.BFloat16, []byte{0x10, 0x41, 0x10, 0xc1, 0xc0, 0x7f, 0x81, 0x3f}},
		{24, layout.BFloat16, []byte{0x10, 0x41, 0x10, 0xc1, 0xc0, 0x7f, 0x82, 0x3f}},
		{19, layout.Float8E4M3FN, []byte{0x51, 0xd1, 0x7f, 0x38}},
	} {
		like := held(t)(tensor.New(s, c.to, 1))
		got := held(t)(runCast(x, c.v, c.to))
		require.Equal(t, tensor.Copy, got.Verdict().Kind)
		b, err := got.Bytes()
		require.NoError(t, err)
		require.Equal(t, c.want, b, "Cast to %v at opset %d", c.to, c.v)
		if c.v >= 15 {
			b, err = held(t)(runCastLike(x, like, c.v)).Bytes()
			require.NoError(t, err)
			require.Equal(t, c.want, b, "CastLike to %v at opset %d", c.to, c.v)
		}
		out, err := onnx.Run("Cast", c.v, onnx.Attrs{onnx.Int("to", int64(c.to))}, x)
		require.NoError(t, err)
		b, err = held(t)(out[0].(*tensor.Tensor), nil).Bytes()
		require.NoError(t, err)
		require.Equal(t, c.want, b, "running Cast to %v at opset %d", c.to, c.v)
	}
}

func TestCastAttributes(t *testing.T) {
	s := open(t)
	x := held(t)(tensor.FromSlice(s, []float32{1000, 1.25, 0}))
	for _, c := range []struct {
		to    layout.DType
		attrs []onnx.Attr
		want  []byte
	}{
		{layout.Float8E5M2FNUZ, nil, []byte{0x68, 0x41, 0}},
		{layout.Float8E4M3FN, nil, []byte{0x7e, 0x3a, 0}},
		{layout.Float8E4M3FN, []onnx.Attr{onnx.Int("saturate", 0)}, []byte{0x7f, 0x3a, 0}},
		{layout.Float8E8M0, nil, []byte{137, 128, 0}},
		{layout.Float8E8M0, []onnx.Attr{str("round_mode", "down")}, []byte{136, 127, 0}},
		{layout.Float8E8M0, []onnx.Attr{str("round_mode", "nearest"), onnx.Int("saturate", 0)}, []byte{137, 127, 255}},
	} {
		b, err := held(t)(runCast(x, 25, c.to, c.attrs...)).Bytes()
		require.NoError(t, err)
		require.Equal(t, c.want, b, "%v %v", c.to, c.attrs)
		b, err = held(t)(runCastLike(x, held(t)(tensor.New(s, c.to, 0)), 25, c.attrs...)).Bytes()
		require.NoError(t, err)
		require.Equal(t, c.want, b, "like %v %v", c.to, c.attrs)
	}

	// The versions that took a name.
	for v, to := range map[onnx.Opset]string{1: "INT32", 5: "INT32", 6: "INT32", 8: "INT32"} {
		out, err := onnx.Run("Cast", v, onnx.Attrs{str("to", to)}, x)
		require.NoError(t, err)
		ints, err := tensor.Values[int32](held(t)(out[0].(*tensor.Tensor), nil))
		require.NoError(t, err)
		require.Equal(t, []int32{1000, 1, 0}, ints)
	}
	for says, call := range map[string]struct {
		op    string
		v     onnx.Opset
		attrs onnx.Attrs
	}{
		"Cast-13: attribute to is missing":                                                {"Cast", 13, nil},
		`Cast-1: attribute to is "int32", which names no element type`:                    {"Cast", 1, onnx.Attrs{str("to", "int32")}},
		`Cast-1: attribute "to" is of kind int`:                                           {"Cast", 1, onnx.Attrs{onnx.Int("to", 6)}},
		`Cast-9: attribute "to" is of kind string`:                                        {"Cast", 9, onnx.Attrs{str("to", "INT32")}},
		"Cast-13: attribute to is 99, which is the number of no element type":             {"Cast", 13, onnx.Attrs{onnx.Int("to", 99)}},
		"Cast-13: attribute to is -1, which is the number of no":                          {"Cast", 13, onnx.Attrs{onnx.Int("to", -1)}},
		"Cast-13: attribute to is 257, which":                                             {"Cast", 13, onnx.Attrs{onnx.Int("to", 257)}},
		"Cast-13: type float8e5m2 is not allowed; Cast allows it from opset 19":           {"Cast", 13, onnx.Attrs{onnx.Int("to", 19)}},
		"Cast-25: type complex64 is not allowed, in no version of Cast":                   {"Cast", 25, onnx.Attrs{onnx.Int("to", 14)}},
		`Cast-13: attribute "saturate" does not belong to this version; Cast-19 has it`:   {"Cast", 13, onnx.Attrs{onnx.Int("to", 1), onnx.Int("saturate", 1)}},
		`Cast-23: attribute "round_mode" does not belong to this version; Cast-24 has it`: {"Cast", 23, onnx.Attrs{onnx.Int("to", 1), str("round_mode", "up")}},
		`Cast-24: attribute round_mode is "sideways"; it must be up, down or nearest`:     {"Cast", 24, onnx.Attrs{onnx.Int("to", 1), str("round_mode", "sideways")}},
		"Cast-24: attribute saturate is 2; it must be 0 or 1":                             {"Cast", 24, onnx.Attrs{onnx.Int("to", 1), onnx.Int("saturate", 2)}},
		"BitCast-26 of float[3]: to int64: elements of 32 and of 64 bits":                 {"BitCast", 26, onnx.Attrs{onnx.Int("to", 7)}},
		"BitCast-26: type string is not allowed, in no version of BitCast":                {"BitCast", 26, onnx.Attrs{onnx.Int("to", 8)}},
		"BitCast: opset 25: the operator exists from opset 26":                            {"BitCast", 25, onnx.Attrs{onnx.Int("to", 6)}},
		"CastLike-25: 1 inputs are given; it takes 2":                                     {"CastLike", 25, nil},
		"CastLike: opset 14: the operator exists from opset 15":                           {"CastLike", 14, nil},
		`CastLike-25: there is no attribute "to"`:                                         {"CastLike", 25, onnx.Attrs{onnx.Int("to", 1)}},
	} {
		_, err := onnx.Run(call.op, call.v, call.attrs, x)
		require.ErrorIs(t, err, device.ErrInvalid, "%s", says)
		require.ErrorContains(t, err, says)
	}
	complexes := held(t)(tensor.New(s, layout.Complex64, 3))
	_, err := runCast(complexes, 25, layout.Float32)
	require.ErrorContains(t, err, "type complex64 is not allowed, in no version of Cast")
	_, err = runCastLike(x, complexes, 25)
	require.ErrorContains(t, err, "CastLike-25 of float[3]: type complex64 is not allowed, in no version of CastLike")
	_, err = runCastLike(x, nil, 25)
	require.ErrorIs(t, err, device.ErrInvalid)
	_, err = onnx.Run("CastLike", 25, nil, x, &onnx.Sequence{Elem: layout.Int8})
	require.ErrorContains(t, err, "it must be a tensor")
}

func TestBitCast(t *testing.T) {
	x := held(t)(tensor.FromSlice(open(t), []float32{1, -2.5}))
	y := held(t)(runBitCast(x, 26, layout.Uint32))
	require.Equal(t, tensor.View, y.Verdict().Kind)
	got, err := tensor.Values[uint32](y)
	require.NoError(t, err)
	require.Equal(t, []uint32{0x3f800000, 0xc0200000}, got)
}

// TestCastText: strings are on the host, whatever device a session is on.
// On a device of the host's memory without strings, a cast to strings failed once: it is
// on tensor.Host, as from any other device without.
func TestBugCastToStringsWithoutStrings(t *testing.T) {
	x := held(t)(tensor.FromSlice(openHostFake(t), []int64{1, -2}, 2))
	y := held(t)(runCast(x, 25, layout.String))
	require.Same(t, tensor.Host(), y.Stream())
	words, err := tensor.Values[string](y)
	require.NoError(t, err)
	require.Equal(t, []string{"1", "-2"}, words)
}

func TestCastText(t *testing.T) {
	dev, _ := openFake(t)
	m := &model.Model{
		Opsets: map[string]int64{"": 21},
		Graph: &model.Graph{
			Inputs: []model.ValueInfo{{Name: "x"}, {Name: "words"}},
			Nodes: []model.Node{
				{OpType: "Cast", Inputs: []string{"x"}, Outputs: []string{"text"}, Attrs: model.Attrs{onnx.Int("to", int64(layout.String))}},
				{OpType: "Cast", Inputs: []string{"words"}, Outputs: []string{"y"}, Attrs: model.Attrs{onnx.Int("to", int64(layout.Int8))}},
			},
			Outputs: []model.ValueInfo{{Name: "text"}, {Name: "y"}},
		},
	}
	sess, err := onnx.NewSession(dev, m)
	require.NoError(t, err)
	defer func() { require.NoError(t, sess.Close()) }()
	x := held(t)(tensor.FromSlice(dev, []float32{.5, 314.15926}))
	words := held(t)(tensor.FromSlice(tensor.Host(), []string{"12", "-1"}))
	out, err := sess.Run(context.Background(), onnx.Values{"x": x, "words": words})
	require.NoError(t, err)
	defer func() { require.NoError(t, out.Release()) }()
	text, err := out.Tensor("text")
	require.NoError(t, err)
	got, err := tensor.Values[string](text)
	require.NoError(t, err)
	require.Equal(t, []string{"0.5", "314.15927"}, got)
	y, err := out.Tensor("y")
	require.NoError(t, err)
	ints, err := tensor.Values[int8](y)
	require.NoError(t, err)
	require.Equal(t, []int8{12, -1}, ints)

	broken := held(t)(tensor.FromSlice(tensor.Host(), []string{"12", "twelve"}))
	_, err = sess.Run(context.Background(), onnx.Values{"x": x, "words": broken})
	require.ErrorIs(t, err, device.ErrInvalid)
	require.ErrorContains(t, err, `string 1, "twelve", is not a number that can be cast to int8`)
}
