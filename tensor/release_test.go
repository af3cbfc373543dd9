package tensor_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// TestRelease: memory lives as long as any view of it, in whatever order they
// go, and is freed once.
func TestRelease(t *testing.T) {
	for _, open := range streams {
		s := open(t)
		x, err := tensor.FromSlice(s, []int32{0, 1, 2, 3, 4, 5}, 2, 3)
		require.NoError(t, err)
		y, err := x.Transpose()
		require.NoError(t, err)
		z, err := y.Slice(0, 1, 2, 1)
		require.NoError(t, err)
		require.NoError(t, x.Release())
		require.NoError(t, x.Release(), "a second Release does nothing")
		require.NoError(t, y.Release())
		require.EqualValues(t, 24, s.Device().Stats().Live)
		got, err := tensor.Values[int32](z)
		require.NoError(t, err)
		require.Equal(t, []int32{1, 4}, got)
		require.NoError(t, y.Release())
		require.NoError(t, z.Release())
		require.Zero(t, s.Device().Stats().Live)
		require.NoError(t, z.Release())
		var none *tensor.Tensor
		require.NoError(t, none.Release())
	}
}

// TestUseAfterRelease: every method that needs the memory says so, also while a
// view keeps the memory alive.
func TestUseAfterRelease(t *testing.T) {
	for _, viewed := range []bool{false, true} {
		s, other := openCPU(t), openFake(t)
		s.ForbidCopies(true)
		x, err := tensor.FromSlice(s, []int32{0, 1, 2, 3, 4, 5}, 2, 3)
		require.NoError(t, err)
		if viewed {
			keep(t)(x.Transpose())
		}
		dst := keep(t)(tensor.New(s, layout.Int32, 2, 3))
		strided, err := x.Transpose()
		require.NoError(t, err)
		require.NoError(t, x.Release())
		require.NoError(t, strided.Release())
		before := s.Device().Stats()
		for name, call := range map[string]func() (*tensor.Tensor, error){
			"Transpose":      func() (*tensor.Tensor, error) { return x.Transpose() },
			"Transpose perm": func() (*tensor.Tensor, error) { return x.Transpose(1, 0) },
			"Slice":          func() (*tensor.Tensor, error) { return x.Slice(0, 0, 1, 1) },
			"Expand":         func() (*tensor.Tensor, error) { return x.Expand(4, 2, 3) },
			"Squeeze":        func() (*tensor.Tensor, error) { return x.Squeeze() },
			"Unsqueeze":      func() (*tensor.Tensor, error) { return x.Unsqueeze(0) },
			"Alias":          func() (*tensor.Tensor, error) { return x.Alias() },
			"Reshape":        func() (*tensor.Tensor, error) { return x.Reshape(-1) },
			"Reshape copy":   func() (*tensor.Tensor, error) { return strided.Reshape(-1) },
			"Flatten":        func() (*tensor.Tensor, error) { return x.Flatten(1) },
			"Contiguous":     func() (*tensor.Tensor, error) { return strided.Contiguous() },
			"Clone":          func() (*tensor.Tensor, error) { return x.Clone() },
			"WithLayout":     func() (*tensor.Tensor, error) { return x.WithLayout("Identity", x.Layout()) },
			"To view":        func() (*tensor.Tensor, error) { return x.To(s) },
			"To transfer":    func() (*tensor.Tensor, error) { return x.To(other) },
			"Unpack":         func() (*tensor.Tensor, error) { return x.Unpack() },
			"Pack":           func() (*tensor.Tensor, error) { return x.Pack(layout.Int4) },
			"CopyFrom it":    func() (*tensor.Tensor, error) { return nil, dst.CopyFrom(x) },
			"CopyFrom to it": func() (*tensor.Tensor, error) { return nil, x.CopyFrom(dst) },
			"ReadInto":       func() (*tensor.Tensor, error) { return nil, x.ReadInto([]int32{}) },
			"Bytes":          func() (*tensor.Tensor, error) { _, err := x.Bytes(); return nil, err },
			"Values":         func() (*tensor.Tensor, error) { _, err := tensor.Values[string](x); return nil, err },
			"AppendInts":     func() (*tensor.Tensor, error) { _, err := x.AppendInts(nil); return nil, err },
		} {
			y, err := call()
			require.ErrorIs(t, err, tensor.ErrReleased, name)
			require.ErrorIs(t, err, device.ErrInvalid, name)
			require.ErrorContains(t, err, " of int32[", name)
			require.Nil(t, y, name)
		}
		require.Equal(t, before, s.Device().Stats())
		require.Contains(t, x.String(), "released")
		require.Equal(t, layout.Shape{2, 3}, x.Shape(), "what is known without the memory stays known")
	}
}

// TestReleaseConcurrently: goroutines make views, read them and release them
// while the tensor itself is released. Each call works or is ErrReleased.
func TestReleaseConcurrently(t *testing.T) {
	for _, open := range streams {
		s, other := open(t), openCPU(t)
		for range 30 {
			x, err := tensor.FromSlice(s, []int64{0, 1, 2, 3, 4, 5, 6, 7}, 2, 4)
			require.NoError(t, err)
			flat, err := x.Reshape(8)
			require.NoError(t, err)
			var wg sync.WaitGroup
			try := func(call func() (*tensor.Tensor, error)) {
				wg.Go(func() {
					for range 20 {
						y, err := call()
						if errors.Is(err, tensor.ErrReleased) {
							return
						}
						if err != nil {
							t.Error(err)
							return
						}
						if err := y.Release(); err != nil {
							t.Error(err)
						}
					}
				})
			}
			try(func() (*tensor.Tensor, error) { return x.Transpose() })
			try(func() (*tensor.Tensor, error) { return x.Clone() })
			try(func() (*tensor.Tensor, error) { return x.To(other) })
			try(func() (*tensor.Tensor, error) { _, err := x.Bytes(); return nil, err })
			try(func() (*tensor.Tensor, error) { _, err := flat.AppendInts(nil); return nil, err })
			try(func() (*tensor.Tensor, error) { return flat.Slice(0, 7, -9, -1) })
			for range 2 {
				wg.Go(func() {
					if err := errors.Join(x.Release(), flat.Release()); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			require.Zero(t, s.Device().Stats().Live)
		}
	}
}

// TestFailuresLeaveNothing: a device that fails in the middle of a call takes
// its memory back.
func TestFailuresLeaveNothing(t *testing.T) {
	inner, err := cpu.Open()
	require.NoError(t, err)
	dev := &fakeDevice{inner: inner}
	s := openOn(t, dev)
	x, _ := fill(t, s, layout.Int8, 1, 3, 4)
	y := keep(t)(x.Transpose())
	h, _ := fill(t, openCPU(t), layout.Int8, 1, 3)
	broken := &device.DriverError{Call: "clEnqueueWhatever", Code: -5, Name: "CL_OUT_OF_RESOURCES"}
	dev.fail = broken
	before := dev.Stats()
	for name, call := range map[string]func() (*tensor.Tensor, error){
		"FromSlice of float":    func() (*tensor.Tensor, error) { return tensor.FromSlice(s, []float32{1}) },
		"FromBytes of int8":     func() (*tensor.Tensor, error) { return tensor.FromBytes(s, layout.Int8, []byte{1}, 1) },
		"New of int8":           func() (*tensor.Tensor, error) { return tensor.New(s, layout.Int8, 1) },
		"Clone of int8[3,4]":    func() (*tensor.Tensor, error) { return x.Clone() },
		"Reshape of int8[4,3]":  func() (*tensor.Tensor, error) { return y.Reshape(12) },
		"ReadInto of int8[4,3]": func() (*tensor.Tensor, error) { return nil, y.ReadInto(make([]int8, 12)) },
		"Bytes of int8[3,4]":    func() (*tensor.Tensor, error) { _, err := x.Bytes(); return nil, err },
		"Pack of int8[3,4]":     func() (*tensor.Tensor, error) { return x.Pack(layout.Int2) },
		"To of int8[3]":         func() (*tensor.Tensor, error) { return h.To(s) },
		"CopyFrom of int8[3,4]": func() (*tensor.Tensor, error) {
			return nil, x.CopyFrom(x)
		},
	} {
		z, err := call()
		require.ErrorIs(t, err, device.ErrDriver, name)
		require.ErrorContains(t, err, name)
		require.Nil(t, z, name)
		require.Equal(t, before.Live, dev.Stats().Live, name)
	}
	dev.fail = nil
}
