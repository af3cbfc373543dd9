package backends

import (
	"testing"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/backends/notimplemented"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/stretchr/testify/require"
)

// An operation that this package does not know is the Go backend's, and so is the computation
// that uses its result.
func TestUnknownOperation(t *testing.T) {
	b, err := New("cpu")
	require.NoError(t, err)
	defer b.Finalize()
	b.core.Few = 0
	shape := shapes.Make(dtypes.Float32, 2, 2)
	build := func() (f *function, unknown backends.Op) {
		f = b.Builder(t.Name()).(*function)
		x, err := f.Parameter("x", shape, nil)
		require.NoError(t, err)
		unknown, err = f.Builder.Neg(x) // not recorded
		require.NoError(t, err)
		return f, unknown
	}
	f, y := build()
	z, err := f.Transpose(y, 1, 0)
	require.NoError(t, err)
	exec, err := f.Compile([]backends.Op{z, y, z}, nil)
	require.NoError(t, err)
	defer exec.Finalize()
	x, err := b.BufferFromFlatData(0, []float32{1, 2, 3, 4}, shape)
	require.NoError(t, err)
	out, err := exec.Execute([]backends.Buffer{x}, nil, 0)
	require.NoError(t, err)
	for i, want := range [][]float32{{-1, -3, -2, -4}, {-1, -2, -3, -4}, {-1, -3, -2, -4}} {
		got := make([]float32, 4)
		require.NoError(t, b.BufferToFlatData(out[i], got))
		require.Equal(t, want, got)
	}
	require.Zero(t, b.Stats().Layout)

	f, y = build()
	z, err = f.Reverse(y, 0) // which the Go backend lacks
	require.NoError(t, err)
	_, err = f.Compile([]backends.Op{z}, nil)
	require.ErrorIs(t, err, notimplemented.NotImplementedError)
	require.ErrorContains(t, err, "has Reverse, and Reverse of a result that is not recorded beside it")
}
