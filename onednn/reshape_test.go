package onednn_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onednn"
	"github.com/restride/restride/tensor"
)

// open returns a stream of a new cpu device that must be empty in the end.
func open(t *testing.T) *tensor.Stream {
	dev, err := cpu.Open()
	require.NoError(t, err)
	s, err := tensor.NewStream(dev)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.Zero(t, dev.Stats().Live)
		require.NoError(t, s.Close())
		require.NoError(t, dev.Close())
	})
	return s
}

// iota returns a tensor of the given extents whose elements count from 0.
func iota(t *testing.T, s *tensor.Stream, dims ...int64) *tensor.Tensor {
	n, err := layout.Shape(dims).Count()
	require.NoError(t, err)
	data := make([]float32, n)
	for i := range data {
		data[i] = float32(i)
	}
	return keep(t)(tensor.FromSlice(s, data, dims...))
}

func keep(t *testing.T) func(*tensor.Tensor, error) *tensor.Tensor {
	return func(x *tensor.Tensor, err error) *tensor.Tensor {
		t.Helper()
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, x.Release()) })
		return x
	}
}

// cases are oneDNN's rules for the shape, the same for both operations.
var cases = []struct {
	in, shape []int64
	special   bool
	out       []int64 // nil: refused
	says      string
}{
	{[]int64{3, 4, 5}, []int64{0, -1}, true, []int64{3, 20}, ""}, // oneDNN's own example
	{[]int64{3, 4, 5}, []int64{0, 0, 0}, true, []int64{3, 4, 5}, ""},
	{[]int64{3, 4, 5}, []int64{-1, 0}, true, []int64{15, 4}, ""},
	{[]int64{3, 4, 5}, []int64{12, 5}, true, []int64{12, 5}, ""},
	{[]int64{3, 4, 5}, []int64{-1}, false, []int64{60}, ""},
	{[]int64{3, 4, 5}, []int64{60, -1, 1}, false, []int64{60, 1, 1}, ""},
	{[]int64{1, 1}, []int64{}, false, []int64{}, ""},
	{[]int64{}, []int64{-1}, true, []int64{1}, ""},
	{[]int64{}, []int64{1, 1, 1, 1, 1, 1, 1, 1, 1}, true, []int64{1, 1, 1, 1, 1, 1, 1, 1, 1}, ""},
	{[]int64{0, 3}, []int64{0, 7}, false, []int64{0, 7}, ""},
	{[]int64{0, 3}, []int64{3, 0}, false, []int64{3, 0}, ""},
	{[]int64{0, 3}, []int64{0, 5}, true, []int64{0, 5}, ""},
	{[]int64{0, 3}, []int64{-1, 3}, true, []int64{0, 3}, ""},

	{[]int64{3, 4, 5}, []int64{0, -1}, false, nil, "-1"},
	{[]int64{3, 4, 5}, []int64{0, 20}, false, nil, "0 "},
	{[]int64{0, 3}, []int64{0, -1}, false, nil, "-1"},
	{[]int64{0, 3}, []int64{0, -1}, true, nil, "-1"},
	{[]int64{3, 4, 5}, []int64{-1, -1}, true, nil, "at most one"},
	{[]int64{3, 4, 5}, []int64{-2, 30}, true, nil, "-2"},
	{[]int64{3, 4, 5}, []int64{60, 1, 1, 0}, true, nil, "rank 3"},
	{[]int64{3, 4, 5}, []int64{7, -1}, true, nil, "7"},
	{[]int64{3, 4, 5}, []int64{7, 8}, true, nil, "56"},
	{[]int64{3, 4, 5}, []int64{}, true, nil, "[]"},
	{[]int64{3, 4, 5}, []int64{1 << 40, 1 << 40}, true, nil, "overflow"},
	{[]int64{0}, []int64{1 << 32, 1 << 32}, true, nil, "overflow"},
}

// requireShape compares the result of a call with its case.
func requireShape(t *testing.T, i int, op string, src, got *tensor.Tensor, err error) {
	t.Helper()
	c := cases[i]
	name := fmt.Sprint(op, " ", c.in, " to ", c.shape, c.special)
	if c.out == nil {
		require.ErrorIs(t, err, device.ErrInvalid, name)
		require.ErrorContains(t, err, op+" of float", name)
		require.ErrorContains(t, err, c.says, name)
		require.Nil(t, got, name)
		return
	}
	keep(t)(got, err)
	require.Equal(t, layout.Shape(c.out), got.Shape(), name)
	require.Equal(t, tensor.View, got.Verdict().Kind, name)
	require.Same(t, src.Buffer(), got.Buffer(), name)
}

func TestStaticReshape(t *testing.T) {
	s := open(t)
	for i, c := range cases {
		src := iota(t, s, c.in...)
		got, err := onednn.StaticReshape(src, c.shape, c.special)
		requireShape(t, i, "StaticReshape", src, got, err)
	}
}

func TestDynamicReshape(t *testing.T) {
	s, fake := open(t), openFake(t)
	for i, c := range cases {
		src := iota(t, s, c.in...)
		for _, on := range []*tensor.Stream{s, fake, tensor.Host()} {
			long := keep(t)(tensor.FromSlice(on, c.shape))
			got, err := onednn.DynamicReshape(src, long, c.special)
			requireShape(t, i, "DynamicReshape", src, got, err)

			short := make([]int32, len(c.shape))
			for i, d := range c.shape {
				short[i] = int32(d)
			}
			if slices.Contains(c.shape, 1<<40) || slices.Contains(c.shape, 1<<32) {
				continue
			}
			got, err = onednn.DynamicReshape(src, keep(t)(tensor.FromSlice(on, short)), c.special)
			requireShape(t, i, "DynamicReshape", src, got, err)
		}
	}
}

// TestDynamicReshapeTransfer: a shape on a device with its own memory is read by a transfer,
// which is reported; one on the host by none.
func TestDynamicReshapeTransfer(t *testing.T) {
	fake := openFake(t)
	src := iota(t, fake, 2, 3)
	onDevice := keep(t)(tensor.FromSlice(fake, []int64{3, -1}))
	onHost := keep(t)(tensor.FromHost([]int64{3, -1}))
	var told []string
	fake.Trace(func(e tensor.Event) { told = append(told, e.Op+" "+e.Verdict.String()) })
	keep(t)(onednn.DynamicReshape(src, onHost, false))
	require.Equal(t, []string{"Reshape view"}, told)
	told = nil
	keep(t)(onednn.DynamicReshape(src, onDevice, false))
	require.Equal(t, []string{"AppendInts transfer of 16 bytes", "Reshape view"}, told)
}

func TestTypes(t *testing.T) {
	s := open(t)
	shape := keep(t)(tensor.FromHost([]int64{6}))
	for _, of := range layout.DTypes() {
		src := keep(t)(tensor.New(s, of, 2, 3))
		for op, call := range map[string]func() (*tensor.Tensor, error){
			"StaticReshape":  func() (*tensor.Tensor, error) { return onednn.StaticReshape(src, []int64{6}, false) },
			"DynamicReshape": func() (*tensor.Tensor, error) { return onednn.DynamicReshape(src, shape, false) },
		} {
			got, err := call()
			switch of {
			case layout.Float32, layout.Float16, layout.BFloat16:
				require.Equal(t, layout.Shape{6}, keep(t)(got, err).Shape())
			default:
				require.ErrorIs(t, err, device.ErrInvalid)
				require.EqualError(t, err, fmt.Sprintf("%s: src is of type %v; oneDNN Graph allows f32, f16 and bf16", op, of))
				require.Nil(t, got)
			}
		}
	}
	src := iota(t, s, 2, 3)
	for _, of := range layout.DTypes() {
		if of != layout.Int32 && of != layout.Int64 {
			_, err := onednn.DynamicReshape(src, keep(t)(tensor.New(s, of, 1)), false)
			require.ErrorIs(t, err, device.ErrInvalid)
			require.ErrorContains(t, err, fmt.Sprintf("DynamicReshape: shape is %v[1]", of))
		}
	}
	for _, dims := range [][]int64{{}, {1, 1}} {
		_, err := onednn.DynamicReshape(src, keep(t)(tensor.New(s, layout.Int64, dims...)), false)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, "one axis")
	}
}

// TestCopies: results that strides cannot express are copied, under the operation's name, or
// refused where copies are forbidden.
func TestCopies(t *testing.T) {
	for _, open := range []func(*testing.T) *tensor.Stream{open, openFake} {
		s := open(t)
		src := iota(t, s, 2, 3)
		turned := keep(t)(src.Transpose())
		var told []string
		s.Trace(func(e tensor.Event) { told = append(told, e.Op+" "+e.Kind.String()) })
		got := keep(t)(onednn.StaticReshape(turned, []int64{0, -1, 1}, true))
		require.Equal(t, tensor.View, got.Verdict().Kind)
		got = keep(t)(onednn.StaticReshape(turned, []int64{-1}, true))
		require.Equal(t, tensor.Copy, got.Verdict().Kind)
		require.EqualValues(t, 24, got.Verdict().Bytes)
		require.Equal(t, []string{"Reshape view", "Reshape copy"}, told)
		values, err := tensor.Values[float32](got)
		require.NoError(t, err)
		require.Equal(t, []float32{0, 3, 1, 4, 2, 5}, values)

		s.ForbidCopies(true)
		_, err = onednn.StaticReshape(turned, []int64{-1}, true)
		require.ErrorIs(t, err, tensor.ErrCopy)
		require.ErrorContains(t, err, "StaticReshape of float[3,2]: ")
	}
}

// TestMissingAndReleased: a nil tensor, or a released one, is an error.
func TestMissingAndReleased(t *testing.T) {
	s := open(t)
	src := iota(t, s, 2, 3)
	shape := keep(t)(tensor.FromHost([]int64{6}))
	_, err := onednn.StaticReshape(nil, []int64{6}, false)
	require.ErrorIs(t, err, device.ErrInvalid)
	_, err = onednn.DynamicReshape(nil, shape, false)
	require.ErrorIs(t, err, device.ErrInvalid)
	_, err = onednn.DynamicReshape(src, nil, false)
	require.ErrorIs(t, err, device.ErrInvalid)

	gone, err := src.Alias()
	require.NoError(t, err)
	require.NoError(t, gone.Release())
	_, err = onednn.StaticReshape(gone, []int64{6}, false)
	require.ErrorIs(t, err, tensor.ErrReleased)
	require.ErrorContains(t, err, "StaticReshape")
	goneShape, err := shape.Alias()
	require.NoError(t, err)
	require.NoError(t, goneShape.Release())
	_, err = onednn.DynamicReshape(src, goneShape, false)
	require.ErrorIs(t, err, tensor.ErrReleased)
	require.ErrorContains(t, err, "DynamicReshape")
}

// TestAllocations: a view allocates only the result.
func TestAllocations(t *testing.T) {
	src := iota(t, open(t), 2, 3, 4, 5)
	shape := []int64{0, -1, 5}
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		y, err := onednn.StaticReshape(src, shape, true)
		if err != nil {
			t.Fatal(err)
		}
		_ = y.Release()
	}), 1.0)
}
