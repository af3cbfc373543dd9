package onnx_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/tensor"
)

func init() {
	operatorTests = append(operatorTests, operatorTest{
		op: "Pad", versions: []onnx.Opset{1, 2, 11, 13, 18, 19, 21, 23, 24, 25},
		note:  "attributes up to 2, then inputs; negative pads from 2, axes from 18, `wrap` from 19",
		types: typesSince{1, 11, 13, 13, 21, 21, 23, 24, 25},
		form: func(v onnx.Opset) (onnx.Attrs, [][]int64) {
			mode, pads := onnx.Attr{Name: "mode", Value: "reflect"}, []int64{0, 0, 1, 2, 0, 0, 0, 1}
			switch {
			case v < 2:
				return onnx.Attrs{mode, onnx.Ints("paddings", pads...)}, nil
			case v < 11:
				return onnx.Attrs{mode, onnx.Ints("pads", pads...)}, nil
			}
			return onnx.Attrs{mode}, [][]int64{pads}
		},
		want: func(a array) array { return a.Padded("reflect", []int64{0, 0, 1, 2, 0, 0, 0, 1}, "") },
	})
}

var padModes = []tensor.PadMode{tensor.PadConstant, tensor.PadEdge, tensor.PadReflect, tensor.PadWrap}

// zeroLike returns a zero as long as the elements of an array, which are numbered.
func zeroLike(a array) string {
	if strings.HasPrefix(a.Elems[0], "s0") {
		return ""
	}
	return strings.Repeat("\x00", len(a.Elems[0]))
}

func TestPad(t *testing.T) {
	for _, c := range []struct {
		mode tensor.PadMode
		in   []int64 // in rows of 3
		pads []int64
		axes []int64
		want []int64
		dims string
	}{
		{tensor.PadConstant, []int64{1, 2, 3}, []int64{1, 0, 0, 2}, nil, []int64{9, 9, 9, 9, 9, 1, 2, 3, 9, 9}, "[2,5]"},
		{tensor.PadConstant, []int64{1, 2, 3, 4, 5, 6}, []int64{1, -1}, []int64{-1}, []int64{9, 1, 2, 9, 4, 5}, "[2,3]"},
		{tensor.PadConstant, []int64{1, 2, 3}, []int64{-1, 2}, []int64{0}, []int64{9, 9, 9, 9, 9, 9}, "[2,3]"},
		{tensor.PadEdge, []int64{1, 2, 3, 4, 5, 6}, []int64{1, 2, 0, 1}, nil, []int64{1, 1, 1, 2, 3, 3, 1, 1, 1, 2, 3, 3, 4, 4, 4, 5, 6, 6}, "[3,6]"},
		{tensor.PadReflect, []int64{1, 2, 3, 4, 5, 6}, []int64{1, 1, 0, 2}, nil, []int64{5, 4, 5, 6, 5, 4, 2, 1, 2, 3, 2, 1, 5, 4, 5, 6, 5, 4}, "[3,6]"},
		{tensor.PadReflect, []int64{1, 2, 3}, []int64{7, 6}, []int64{1}, []int64{2, 3, 2, 1, 2, 3, 2, 1, 2, 3, 2, 1, 2, 3, 2, 1}, "[1,16]"},
		{tensor.PadReflect, []int64{1, 2, 3}, []int64{1, 1}, []int64{0}, []int64{1, 2, 3, 1, 2, 3, 1, 2, 3}, "[3,3]"},
		{tensor.PadWrap, []int64{1, 2, 3, 4, 5, 6}, []int64{1, 1, 0, 1}, nil, []int64{6, 4, 5, 6, 4, 3, 1, 2, 3, 1, 6, 4, 5, 6, 4}, "[3,5]"},
		{tensor.PadWrap, []int64{1, 2, 3}, []int64{4, 5}, []int64{1}, []int64{3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2}, "[1,12]"},
		{tensor.PadWrap, []int64{1, 2, 3}, []int64{-1, 2}, []int64{1}, []int64{2, 3, 2, 3}, "[1,4]"},
		{tensor.PadEdge, []int64{1, 2, 3, 4, 5, 6}, []int64{-1, 0, 0, -1}, nil, []int64{4, 5}, "[1,2]"},
	} {
		onFake, _ := openFake(t)
		for _, s := range []*tensor.Stream{open(t), onFake} {
			x := held(t)(tensor.FromSlice(s, c.in, int64(len(c.in)/3), 3))
			y := held(t)(runPad(x, 25, c.mode, c.pads, c.axes, ints(t, s, 9)))
			got, err := tensor.Values[int64](y)
			require.NoError(t, err)
			require.Equal(t, c.want, got, "%s %v", c.mode, c.pads)
			require.Equal(t, c.dims, y.Shape().String())
		}
	}
}

// TestPadOneAxis checks every mode with all pads to both sides, shorter and much
// longer than the axis.
func TestPadOneAxis(t *testing.T) {
	s := open(t)
	for n := range int64(6) {
		a := numbered(layout.Int16, n)
		x := uploadAs(t, a, s, layout.Int16, "strided")
		for _, mode := range padModes {
			for before := int64(-3); before < 14; before++ {
				for after := int64(-3); after < 14; after++ {
					y, err := runPad(x, 19, mode, []int64{before, after}, nil, nil)
					left := n + min(before, 0) + min(after, 0)
					if left < 0 || left == 0 && mode != tensor.PadConstant && max(before, after) > 0 {
						require.ErrorIs(t, err, device.ErrInvalid)
						continue
					}
					require.NoError(t, err)
					want, have := a.Padded(string(mode), []int64{before, after}, "\x00\x00"), download(t, y)
					if fmt.Sprint(want) != fmt.Sprint(array{Dims: have.Dims, Elems: have.Elems}) {
						t.Fatalf("%s of %d by %d and %d: %v, want %v", mode, n, before, after, have, want)
					}
					require.Equal(t, before > 0 || after > 0, y.Verdict().Kind == tensor.Copy || y.Count() == 0 && before+after > 0)
					require.NoError(t, y.Release())
				}
			}
		}
	}
}

// TestPadRandom checks random pads of random tensors of every width.
func TestPadRandom(t *testing.T) {
	onCPU := open(t)
	onFake, _ := openFake(t)
	const seed = 11
	rng := rand.New(rand.NewPCG(seed, seed))
	types := []layout.DType{layout.Int2, layout.Uint4, layout.Bool, layout.BFloat16, layout.Float32, layout.Int64, layout.Complex128, layout.String}
	for range 1500 {
		typ := types[rng.IntN(len(types))]
		s := onCPU
		if typ != layout.String && rng.IntN(2) == 0 {
			s = onFake
		}
		dims := make([]int64, rng.IntN(5))
		pads := make([]int64, 2*len(dims))
		mode := padModes[rng.IntN(4)]
		for i := range dims {
			dims[i] = rng.Int64N(4)
			if mode != tensor.PadConstant {
				dims[i]++
			}
			for k := range 2 {
				if rng.IntN(2) == 0 {
					pads[i+k*len(dims)] = rng.Int64N(6)
				} else if left := dims[i] - max(-pads[i], 0); left > 1 {
					pads[i+k*len(dims)] = -rng.Int64N(left)
				}
			}
		}
		// As a list of axes, in any order.
		var list, axes []int64
		for _, axis := range rng.Perm(len(dims)) {
			if pads[axis] != 0 || pads[len(dims)+axis] != 0 || rng.IntN(2) == 0 {
				list, axes = append(list, pads[axis]), append(axes, int64(axis-rng.IntN(2)*len(dims)))
			}
		}
		for _, axis := range axes {
			list = append(list, pads[len(dims)+int(axis+int64(len(dims)))%max(len(dims), 1)])
		}
		a := numbered(typ, dims...)
		x := uploadAs(t, a, s, typ, views[rng.IntN(len(views))])
		value := numbered(typ, 3).Reshape(3)
		v := held(t)(upload(t, value, s, typ).Slice(0, 2, 3, 1))
		in := []onnx.Value{x, ints(t, tensor.Host(), list...), v, ints(t, tensor.Host(), axes...)}
		out, err := onnx.Run("Pad", 25, onnx.Attrs{{Name: "mode", Value: string(mode)}}, in...)
		require.NoError(t, err, "seed %d: %s of %v by %v", seed, mode, dims, pads)
		same(t, typ, a.Padded(string(mode), pads, value.Elems[2]), out[0].(*tensor.Tensor))
		require.NoError(t, out[0].Release())
	}
}

func TestPadErrors(t *testing.T) {
	s := open(t)
	x := held(t)(tensor.New(s, layout.Float32, 2, 3))
	none := held(t)(tensor.New(s, layout.Float32, 2, 0))
	scalar := held(t)(tensor.New(s, layout.Float32, []int64{}...))
	const most = math.MaxInt64
	for _, c := range []struct {
		x    *tensor.Tensor
		v    onnx.Opset
		mode tensor.PadMode
		pads []int64
		axes []int64
		says string
	}{
		{x, 13, tensor.PadConstant, []int64{1, 2, 3}, nil, "Pad-13 of float[2,3]: 3 pads for 2 axes: there must be two for each"},
		{x, 18, tensor.PadConstant, []int64{1, 2, 3, 4}, []int64{0}, "4 pads for 1 axes"},
		{scalar, 18, tensor.PadConstant, []int64{1, 1}, nil, "2 pads for 0 axes"},
		{x, 13, tensor.PadConstant, []int64{1, 2}, []int64{0}, "4 inputs are given; it takes 2 or 3"},
		{x, 18, tensor.PadConstant, []int64{1, 2, 1, 2}, []int64{0, -2}, "axis 0 is listed twice"},
		{x, 18, tensor.PadConstant, []int64{1, 2}, []int64{2}, "axis 2 is outside [-2,1]"},
		{x, 18, tensor.PadConstant, []int64{1, 2}, []int64{math.MinInt64}, "is outside [-2,1]"},
		{scalar, 18, tensor.PadConstant, []int64{1, 2}, []int64{0}, "the tensor has no axes"},
		{x, 18, tensor.PadWrap, []int64{0, 0, 0, 0}, nil, "mode wrap is not in this version; Pad has it from opset 19"},
		{x, 19, "mirror", []int64{0, 0, 0, 0}, nil, `mode "mirror": it must be constant, edge, reflect or, from opset 19, wrap`},
		{x, 1, tensor.PadConstant, []int64{0, -1, 0, 0}, nil, "axis 1: pads -1 and 0: Pad allows negative ones from opset 2"},
		{x, 2, tensor.PadConstant, []int64{-2, 0, -1, 0}, nil, "axis 0: pads -2 and -1 remove more than its 2 elements"},
		{x, 25, tensor.PadEdge, []int64{5, 0, -3, 0}, nil, "axis 0: pads 5 and -3 remove more than its 2 elements"},
		{x, 25, tensor.PadConstant, []int64{math.MinInt64, 0, math.MinInt64, 0}, nil, "remove more than its 2 elements"},
		{x, 25, tensor.PadConstant, []int64{most, 0, most, 0}, nil, "add more than 64 bits hold"},
		{x, 25, tensor.PadConstant, []int64{most - 1, 0, 0, 0}, nil, "add more than 64 bits hold"},
		{x, 25, tensor.PadConstant, []int64{1 << 40, 1 << 40, 0, 0}, nil, "Pad-25 of float[2,3]"},
		{none, 25, tensor.PadEdge, []int64{0, 1, 0, 0}, nil, "axis 1 has no elements that mode edge could repeat"},
		{none, 25, tensor.PadWrap, []int64{0, 0, 0, 1}, nil, "axis 1 has no elements that mode wrap could repeat"},
		{x, 25, tensor.PadReflect, []int64{-2, 0, 1, 0}, nil, "axis 0 has no elements that mode reflect could repeat"},
	} {
		_, err := runPad(c.x, c.v, c.mode, c.pads, c.axes, nil)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, c.says)
	}
	_, err := runPad(x, 25, tensor.PadEdge, []int64{1 << 50, 0, 0, 0}, nil, nil)
	require.ErrorIs(t, err, device.ErrOutOfMemory)

	pads, long := ints(t, s, 0, 0, 0, 1), ints(t, s, 1)
	two := held(t)(tensor.FromSlice(s, []float32{1, 2}))
	short := held(t)(tensor.FromSlice(s, []int32{0, 0, 0, 1}))
	mode := func(v any) onnx.Attrs { return onnx.Attrs{{Name: "mode", Value: v}} }
	for _, c := range []struct {
		v     onnx.Opset
		attrs onnx.Attrs
		in    []onnx.Value
		says  string
	}{
		{13, nil, []onnx.Value{x, pads, long}, "constant_value is int64; it must be of the type of the input"},
		{13, mode("edge"), []onnx.Value{x, pads, two}, "constant_value has shape [2]; it must have one element"},
		{13, nil, []onnx.Value{x, short}, "pads is int32; it must be int64"},
		{18, nil, []onnx.Value{x, pads, nil, two}, "axes is float; it must be int64 or int32"},
		{13, nil, []onnx.Value{x, pads, nil, long}, "4 inputs are given; it takes 2 or 3"},
		{18, mode("wrap"), []onnx.Value{x, pads}, "from opset 19"},
		{18, mode(int64(1)), []onnx.Value{x, pads}, "is of kind int, want string"},
		{1, nil, []onnx.Value{x}, "attribute paddings is missing"},
		{2, nil, []onnx.Value{x}, "attribute pads is missing"},
		{2, onnx.Attrs{onnx.Ints("paddings", 0, 0, 0, 0)}, []onnx.Value{x}, "Pad-1 has it"},
		{2, onnx.Attrs{onnx.Ints("pads", 0, 0, 0, 0), onnx.Int("value", 1)}, []onnx.Value{x}, "is of kind int, want float"},
		{11, onnx.Attrs{onnx.Ints("pads", 0, 0, 0, 0)}, []onnx.Value{x, pads}, "Pad-2 has it"},
		{13, nil, []onnx.Value{x}, "1 inputs are given"},
		{13, nil, []onnx.Value{x, pads, &onnx.Sequence{Elem: layout.Float32}}, "constant_value is a sequence of float; it must be a tensor"},
	} {
		_, err := onnx.Run("Pad", c.v, c.attrs, c.in...)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, c.says)
	}
}

// TestPadValue: before opset 11 the value is an attribute, a float whatever the
// input is.
func TestPadValue(t *testing.T) {
	s := open(t)
	pad := func(v onnx.Opset, name string, typ layout.DType, value float32) array {
		x := upload(t, numbered(typ, 1), s, typ)
		out, err := onnx.Run("Pad", v, onnx.Attrs{onnx.Ints(name, 0, 1), {Name: "value", Value: value}}, x)
		require.NoError(t, err)
		defer out[0].Release()
		return download(t, out[0].(*tensor.Tensor))
	}
	require.Equal(t, "\x00\x00\xc0\x3f", pad(2, "pads", layout.Float32, 1.5).Elems[1])
	require.Equal(t, "\x00\x00\x00\x00\x00\x00\xf8\x3f", pad(1, "paddings", layout.Float64, 1.5).Elems[1])
	inf := float32(math.Inf(-1))
	for _, c := range []struct {
		value float32
		bits  uint16
	}{
		{0, 0}, {float32(math.Copysign(0, -1)), 0x8000}, {1, 0x3c00}, {-2, 0xc000}, {1.5, 0x3e00},
		{65504, 0x7bff}, {65519.99, 0x7bff}, {65520, 0x7c00}, {inf, 0xfc00}, {1e30, 0x7c00},
		{1 + 1.0/2048, 0x3c00}, {1 + 3.0/2048, 0x3c02}, {1 + 1.01/2048, 0x3c01}, {2047.0/1024 + 1.0/2048, 0x4000},
		{0x1p-14, 0x0400}, {0x1p-24, 1}, {0x1p-25, 0}, {0x1.8p-25, 1}, {0x3p-25, 2}, {0x0.ffep-14, 0x0400}, {0x0.ffcp-14, 0x03ff},
	} {
		require.Equal(t, string([]byte{byte(c.bits), byte(c.bits >> 8)}), pad(2, "pads", layout.Float16, c.value).Elems[1], "%v", c.value)
	}
	require.Equal(t, "\x00\x7e", pad(2, "pads", layout.Float16, float32(math.NaN())).Elems[1])
}

// TestPadLaunches: the border and the data are set once each, and long padding
// takes few launches.
func TestPadLaunches(t *testing.T) {
	s, dev := openFake(t)
	x := held(t)(tensor.New(s, layout.Float32, 30, 30))
	for _, c := range []struct {
		mode tensor.PadMode
		pads []int64
		want int64
	}{
		{tensor.PadConstant, []int64{1, 1, 1, 1}, 5},
		{tensor.PadConstant, []int64{0, 0, 0, 1}, 2},
		{tensor.PadConstant, []int64{-30, 0, 7, 0}, 1},
		{tensor.PadEdge, []int64{1, 1, 1, 1}, 5},
		{tensor.PadReflect, []int64{29, 29, 29, 29}, 5},
		{tensor.PadWrap, []int64{30, 30, 30, 30}, 5},
		{tensor.PadWrap, []int64{0, 0, 0, 30 * 1023}, 11},
	} {
		before := dev.Stats().Launches
		y := held(t)(runPad(x, 25, c.mode, c.pads, nil, nil))
		require.Equal(t, c.want, dev.Stats().Launches-before, "%s %v", c.mode, c.pads)
		require.Equal(t, 4*y.Count(), y.Verdict().Bytes, "each element is set once")
	}
}

// TestPadSession: what only crops is a view, and what only a Concat uses is
// written straight into its output, whatever the mode.
func TestPadSession(t *testing.T) {
	s, dev := openFake(t)
	for _, mode := range padModes {
		attr := onnx.Attr{Name: "mode", Value: string(mode)}
		m := graphOf(layout.Float32,
			node("Pad", "crop", []string{"x", "less", "value"}, attr),
			node("Pad", "more", []string{"crop", "pads", "value"}, attr),
			node("Concat", "y", []string{"x", "more", "x"}, onnx.Int("axis", 1)),
		)
		value := constant(t, "value", []float32{7})
		value.Dims = layout.Shape{}
		m.Graph.Initializers = append(m.Graph.Initializers, constant(t, "less", []int64{-1, 0, 0, 0}), constant(t, "pads", []int64{1, 2, 0, 1}), value)
		sess := session(t, s, m)
		reports := map[string]string{}
		sess.OnNode(func(n onnx.NodeReport) { reports[n.Output] = fmt.Sprint(n.Kind, " ", n.Elided, " ", n.Why) })
		a := numbered(layout.Float32, 2, 3)
		x := upload(t, a, s, layout.Float32)
		downloads := dev.Stats().Downloads
		out := run(t, sess, onnx.Values{"x": x})
		require.Equal(t, downloads, dev.Stats().Downloads)
		fill := "\x00\x00\xe0\x40"
		more := a.Take(0, []int64{1}).Padded(string(mode), []int64{1, 2, 0, 1}, fill)
		want := each([]int64{2, 12}, func(i []int64) string {
			if i[1] >= 3 && i[1] < 9 {
				return more.Elem([]int64{i[0], i[1] - 3})
			}
			return a.Elem([]int64{i[0], i[1] % 9})
		})
		y, err := out.Tensor("y")
		require.NoError(t, err)
		same(t, layout.Float32, want, y)
		require.Equal(t, "view false a window: offset 3, strides [3,1]", reports["crop"])
		require.Equal(t, "view true not made: its user writes it straight into its own output", reports["more"])
		require.Contains(t, reports["y"], "put together from")
	}
}

// TestPadReport: what is made by itself says of how many parts. Pads and values
// that the device has are read from it.
func TestPadReport(t *testing.T) {
	s, _ := openFake(t)
	m := graphOf(layout.Float32, node("Pad", "y", []string{"x", "pads", "value"}))
	m.Graph.Inputs = append(m.Graph.Inputs, input("pads", layout.Int64), input("value", layout.Float32))
	sess := session(t, s, m)
	var report onnx.NodeReport
	sess.OnNode(func(n onnx.NodeReport) { report = n })
	x, one := held(t)(tensor.FromSlice(s, []float32{1, 2})), held(t)(tensor.FromSlice(s, []float32{3}))
	out := run(t, sess, onnx.Values{"x": x, "pads": ints(t, s, 1, 1), "value": one})
	require.Equal(t, []float32{3, 1, 2, 3}, valuesOf[float32](t, out, "y"))
	require.Equal(t, tensor.Copy, report.Kind)
	require.EqualValues(t, 16, report.Bytes)
	require.EqualValues(t, 20, report.Read)
	require.Equal(t, "put together from 3 parts; 20 bytes of shape or axes were read from the device", report.Why)
}

// TestPadHighRank: many axes, all padded, must not take a step for each pair.
func TestPadHighRank(t *testing.T) {
	const rank = layout.MaxRank
	s := open(t)
	dims, pads := make([]int64, rank), make([]int64, 2*rank)
	for i := range dims {
		pads[i] = 1
	}
	x := held(t)(tensor.New(s, layout.Int8, dims...))
	y := held(t)(runPad(x, 25, tensor.PadConstant, pads, nil, nil))
	require.EqualValues(t, 1, y.Count())
}
