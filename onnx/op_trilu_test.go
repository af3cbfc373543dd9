package onnx_test

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/tensor"
)

func init() {
	operatorTests = append(operatorTests, operatorTest{
		op: "Trilu", versions: []onnx.Opset{14},
		types: typesSince{14, 14, 14, 14},
		form:  func(onnx.Opset) (onnx.Attrs, [][]int64) { return onnx.Attrs{onnx.Int("upper", 0)}, [][]int64{{1}} },
		want:  func(a array) array { return a.Trilu(false, 1, zeroLike(a)) },
	})
}

// TestTriluOfAllSizes checks each diagonal of every matrix of up to 40 rows and
// columns, which lies in a batch of three: what is written outside of the triangle
// would be missed there.
func TestTriluOfAllSizes(t *testing.T) {
	s := open(t)
	want, got := make([]bool, 3*40*40), make([]bool, 3*40*40)
	ones := make([]bool, len(got))
	for i := range ones {
		ones[i] = true
	}
	for rows := range 41 {
		for columns := range 41 {
			if testing.Short() && rows*columns > 200 {
				continue
			}
			n := 3 * rows * columns
			x, err := tensor.FromSlice(s, ones[:n], 3, int64(rows), int64(columns))
			require.NoError(t, err)
			for k := -rows - 1; k <= columns+1; k++ {
				upper := (rows+columns+k)%2 == 0 // each k is some other's mirror image
				for i := range n {
					d := i%columns - i/columns%rows
					want[i] = d >= k
					if !upper {
						want[i] = d <= k
					}
				}
				y, err := runTrilu(x, 14, upper, int64(k))
				require.NoError(t, err)
				require.NoError(t, y.ReadInto(got[:n]))
				if !equal(want[:n], got[:n]) {
					t.Fatalf("upper %v, %dx%d, k %d: %v", upper, rows, columns, k, got[:n])
				}
				require.NoError(t, y.Release())
			}
			require.NoError(t, x.Release())
		}
	}
}

func equal(a, b []bool) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// TestTriluRandom checks random batches of random matrices of every width.
func TestTriluRandom(t *testing.T) {
	onCPU := open(t)
	onFake, _ := openFake(t)
	const seed = 17
	rng := rand.New(rand.NewPCG(seed, seed))
	types := []layout.DType{layout.Bool, layout.Int8, layout.BFloat16, layout.Float32, layout.Int64, layout.Complex128, layout.String}
	for range 600 {
		typ := types[rng.IntN(len(types))]
		s := onCPU
		if typ != layout.String && rng.IntN(2) == 0 {
			s = onFake
		}
		dims := []int64{rng.Int64N(3), rng.Int64N(3) + 1, rng.Int64N(9), rng.Int64N(9)}[rng.IntN(3):]
		upper, k := rng.IntN(2), rng.Int64N(20)-10
		a := numbered(typ, dims...)
		x := uploadAs(t, a, s, typ, views[rng.IntN(len(views))])
		at := held(t)(tensor.FromSlice(tensor.Host(), []int64{k}, make([]int64, 0, 1)...))
		out, err := onnx.Run("Trilu", 14, onnx.Attrs{onnx.Int("upper", int64(upper))}, x, at)
		require.NoError(t, err, "seed %d: %v, k %d", seed, dims, k)
		same(t, typ, a.Trilu(upper == 1, k, zeroOf(typ)), out[0].(*tensor.Tensor))
		require.NoError(t, out[0].Release())
	}
}

func TestTrilu(t *testing.T) {
	s := open(t)
	x := held(t)(tensor.FromSlice(s, []int32{1, 2, 3, 4, 5, 6, 7, 8, 9}, 3, 3))
	for _, c := range []struct {
		upper bool
		k     int64
		want  []int32
		kind  tensor.Kind
	}{
		{true, 0, []int32{1, 2, 3, 0, 5, 6, 0, 0, 9}, tensor.Copy},
		{true, 1, []int32{0, 2, 3, 0, 0, 6, 0, 0, 0}, tensor.Copy},
		{true, -1, []int32{1, 2, 3, 4, 5, 6, 0, 8, 9}, tensor.Copy},
		{true, -2, []int32{1, 2, 3, 4, 5, 6, 7, 8, 9}, tensor.View},
		{true, math.MinInt64, []int32{1, 2, 3, 4, 5, 6, 7, 8, 9}, tensor.View},
		{true, 3, make([]int32, 9), tensor.Copy},
		{true, math.MaxInt64, make([]int32, 9), tensor.Copy},
		{false, 0, []int32{1, 0, 0, 4, 5, 0, 7, 8, 9}, tensor.Copy},
		{false, -2, []int32{0, 0, 0, 0, 0, 0, 7, 0, 0}, tensor.Copy},
		{false, 2, []int32{1, 2, 3, 4, 5, 6, 7, 8, 9}, tensor.View},
		{false, math.MaxInt64, []int32{1, 2, 3, 4, 5, 6, 7, 8, 9}, tensor.View},
		{false, math.MinInt64, make([]int32, 9), tensor.Copy},
	} {
		y := held(t)(runTrilu(x, 14, c.upper, c.k))
		got, err := tensor.Values[int32](y)
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%v %d", c.upper, c.k)
		require.Equal(t, c.kind, y.Verdict().Kind)
	}
	// The defaults: upper, and the main diagonal.
	out, err := onnx.Run("Trilu", 14, nil, x)
	require.NoError(t, err)
	same(t, layout.Int32, numberedLike(1, 2, 3, 0, 5, 6, 0, 0, 9).Reshape(3, 3), out[0].(*tensor.Tensor))
	require.NoError(t, out[0].Release())
}

// numberedLike returns an int32 array.
func numberedLike(values ...int32) array {
	a := array{Dims: []int64{int64(len(values))}}
	for _, v := range values {
		a.Elems = append(a.Elems, string([]byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24)}))
	}
	return a
}

// TestTriluLaunches: their number grows with the logarithm of the matrix, and not
// with the batches.
func TestTriluLaunches(t *testing.T) {
	s, dev := openFake(t)
	for _, n := range []int64{1, 2, 3, 7, 8, 100, 511, 512, 1000} {
		x := held(t)(tensor.New(s, layout.Int8, 5, n, n))
		for _, k := range []int64{-1, 0, 1, n / 2, n} {
			for _, upper := range []bool{true, false} {
				before := dev.Stats().Launches
				y, err := runTrilu(x, 14, upper, k)
				require.NoError(t, err)
				require.NoError(t, y.Release())
				require.LessOrEqual(t, dev.Stats().Launches-before, int64(2*bits.Len64(uint64(n))+3), "%d, %d", n, k)
			}
		}
	}
	x := held(t)(tensor.New(s, layout.Int8, 512, 512))
	y := held(t)(runTrilu(x, 14, true, 0))
	require.EqualValues(t, 512*512+512*511/2, y.Verdict().Bytes, "zeros are set once, over the copy")
}

func TestTriluErrors(t *testing.T) {
	s := open(t)
	x := held(t)(tensor.New(s, layout.Float32, 2, 3))
	flat := held(t)(tensor.New(s, layout.Float32, 4))
	short := held(t)(tensor.FromSlice(s, []int32{0}))
	for _, c := range []struct {
		attrs onnx.Attrs
		in    []onnx.Value
		says  string
	}{
		{nil, []onnx.Value{flat}, "Trilu-14 of float[4]: it takes matrices: the input must have two axes or more"},
		{nil, []onnx.Value{x, short}, "k is int32; it must be int64"},
		{nil, []onnx.Value{x, ints(t, s, 1, 2)}, "k has shape [2]; it must be one number"},
		{nil, []onnx.Value{x, ints(t, s)}, "k has shape [0]; it must be one number"},
		{nil, []onnx.Value{x, &onnx.Sequence{Elem: layout.Int64}}, "k is a sequence of int64"},
		{onnx.Attrs{onnx.Int("upper", 2)}, []onnx.Value{x}, "attribute upper is 2; it must be 0 or 1"},
		{onnx.Attrs{onnx.Int("lower", 1)}, []onnx.Value{x}, `there is no attribute "lower"`},
		{nil, nil, "0 inputs are given"},
	} {
		_, err := onnx.Run("Trilu", 14, c.attrs, c.in...)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, c.says)
	}
	_, err := runTrilu(nil, 14, true, 0)
	require.ErrorIs(t, err, device.ErrInvalid)
}

// TestTriluSession: a mask that only a Concat uses is written into it.
func TestTriluSession(t *testing.T) {
	s, _ := openFake(t)
	m := graphOf(layout.Float32,
		node("Trilu", "lower", []string{"x", "k"}, onnx.Int("upper", 0)),
		node("Concat", "y", []string{"x", "lower", "x"}, onnx.Int("axis", 2)),
		node("Trilu", "all", []string{"x", "far"}),
	)
	m.Graph.Initializers = append(m.Graph.Initializers, constant(t, "k", []int64{-1}), constant(t, "far", []int64{-9}))
	m.Graph.Outputs = outputs("y", "all")
	sess := session(t, s, m)
	reports := map[string]string{}
	sess.OnNode(func(n onnx.NodeReport) { reports[n.Output] = fmt.Sprint(n.Kind, " ", n.Elided, " ", n.Why) })
	a := numbered(layout.Float32, 2, 7, 5)
	out := run(t, sess, onnx.Values{"x": uploadAs(t, a, s, layout.Float32, "transposed")})
	lower := a.Trilu(false, -1, "\x00\x00\x00\x00")
	y, err := out.Tensor("y")
	require.NoError(t, err)
	same(t, layout.Float32, each([]int64{2, 7, 15}, func(i []int64) string {
		if i[2] >= 5 && i[2] < 10 {
			return lower.Elem([]int64{i[0], i[1], i[2] - 5})
		}
		return a.Elem([]int64{i[0], i[1], i[2] % 5})
	}), y)
	require.Contains(t, reports["lower"], "true not made")
	require.Equal(t, "view false nothing changes", reports["all"])
}
