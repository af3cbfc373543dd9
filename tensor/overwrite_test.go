package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// column is the place of a column of a matrix.
func column(i int64) func(layout.Layout) (layout.Layout, error) {
	return func(whole layout.Layout) (layout.Layout, error) { return whole.Slice(1, i, i+1, 1) }
}

// TestOverwrite: the result is the same memory, and its verdict is what was
// written.
func TestOverwrite(t *testing.T) {
	for name, open := range streams {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			x, err := tensor.FromSlice(s, []int32{1, 2, 3, 4, 5, 6}, 2, 3)
			require.NoError(t, err)
			y := keep(t)(tensor.FromSlice(s, []int32{7, 8, 9, 10}, 2, 2))
			s.ForbidCopies(true) // which this is none of
			z, err := x.Overwrite("Write",
				tensor.Part{Into: column(0), Src: y, From: column(1)},
				tensor.Part{Into: column(1), From: column(0)},
				tensor.Part{Into: column(2), Fill: []byte{5, 0, 0, 0}})
			require.NoError(t, err)
			require.NoError(t, x.Release())
			v := z.Verdict()
			require.Equal(t, tensor.Copy, v.Kind)
			require.EqualValues(t, 24, v.Bytes)
			require.NotEmpty(t, v.Class)
			got, err := tensor.Values[int32](z)
			require.NoError(t, err)
			require.Equal(t, []int32{8, 8, 5, 10, 10, 5}, got)
			require.NoError(t, z.Release())
			require.EqualValues(t, 16, s.Device().Stats().Live, "what is left is y")
		})
	}
}

// TestOverwriteErrors: after an error no reference is left over.
func TestOverwriteErrors(t *testing.T) {
	s := openCPU(t)
	x, err := tensor.FromSlice(s, []int32{1, 2, 3, 4}, 2, 2)
	require.NoError(t, err)
	flat := func(whole layout.Layout) (layout.Layout, error) { return whole.Reshape(5) }
	_, err = x.Overwrite("Write", tensor.Part{Into: flat})
	require.ErrorIs(t, err, device.ErrInvalid)
	require.ErrorContains(t, err, "Write of int32[2,2]")
	_, err = x.Overwrite("Write", tensor.Part{From: column(0)})
	require.ErrorIs(t, err, device.ErrInvalid)
	_, err = x.Overwrite("Write", tensor.Part{Src: x, From: flat})
	require.ErrorIs(t, err, device.ErrInvalid)
	_, err = x.Overwrite("Write", tensor.Part{}, tensor.Part{Src: x, From: flat})
	require.ErrorIs(t, err, device.ErrInvalid)
	require.True(t, x.Unshared())
	got, err := tensor.Values[int32](x)
	require.NoError(t, err)
	require.Equal(t, []int32{1, 2, 3, 4}, got, "the part before it has not run")
	require.NoError(t, x.Release())
	_, err = x.Overwrite("Write")
	require.ErrorIs(t, err, tensor.ErrReleased)
}

// TestUnsharedOnOtherStreams: work that another stream has yet to do may read what
// no other tensor has.
func TestUnsharedOnOtherStreams(t *testing.T) {
	s := openCPU(t)
	other, err := tensor.NewStream(s.Device())
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	part := func(x *tensor.Tensor) tensor.Part { return tensor.Part{Src: x} }
	for name, use := range map[string]func(on *tensor.Stream, x *tensor.Tensor) (*tensor.Tensor, error){
		"Assemble": func(on *tensor.Stream, x *tensor.Tensor) (*tensor.Tensor, error) {
			return tensor.Assemble(on, "Join", x.DType(), x.Shape(), part(x))
		},
		"CopyFrom": func(on *tensor.Stream, x *tensor.Tensor) (*tensor.Tensor, error) {
			y, err := tensor.Empty(on, x.DType(), x.Shape()...)
			require.NoError(t, err)
			return y, y.CopyFrom(x)
		},
		"Gather": func(on *tensor.Stream, x *tensor.Tensor) (*tensor.Tensor, error) {
			y, err := tensor.FromSlice(on, []int32{5, 6, 7, 8})
			require.NoError(t, err)
			defer y.Release()
			return y.Gather(0, x, layout.OutOfRangeError)
		},
		"To": func(on *tensor.Stream, x *tensor.Tensor) (*tensor.Tensor, error) { return x.To(on) },
	} {
		for _, on := range []*tensor.Stream{s, other} {
			x, err := tensor.FromSlice(s, []int32{1, 0, 3})
			require.NoError(t, err)
			y, err := use(on, x)
			require.NoError(t, err, name)
			require.NoError(t, y.Release())
			require.Equal(t, on == s, x.Unshared(), name)
			require.NoError(t, x.Release())
		}
	}
}

// TestUnsharedFromHost: the slice stays the caller's. Once its tensor was taken for
// one that may be written to.
func TestUnsharedFromHost(t *testing.T) {
	x, err := tensor.FromHost([]int32{1, 2, 3})
	require.NoError(t, err)
	require.False(t, x.Unshared())
	require.NoError(t, x.Release())
}

// The operation is named once where a source is released.
func TestAssembleOfAReleasedTensor(t *testing.T) {
	s := openCPU(t)
	x, err := tensor.FromSlice(s, []int32{1, 2, 3})
	require.NoError(t, err)
	require.NoError(t, x.Release())
	_, err = tensor.Assemble(s, "Join", x.DType(), x.Shape(), tensor.Part{Src: x})
	require.ErrorIs(t, err, tensor.ErrReleased)
	require.EqualError(t, err, "Join of int32[3]: invalid: the tensor has been released")
}
