package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// views are the calls that must cost next to nothing: each makes a view of a
// tensor of rank 4.
var views = []struct {
	name string
	of   func(*tensor.Tensor) (*tensor.Tensor, error)
}{
	{"Transpose", func(x *tensor.Tensor) (*tensor.Tensor, error) { return x.Transpose(0, 2, 1, 3) }},
	{"TransposeReverse", func(x *tensor.Tensor) (*tensor.Tensor, error) { return x.Transpose() }},
	{"Slice", func(x *tensor.Tensor) (*tensor.Tensor, error) { return x.Slice(1, 1, -1, 2) }},
	{"Reshape", func(x *tensor.Tensor) (*tensor.Tensor, error) { return x.Reshape(8, 32, 4) }},
	{"ReshapeInfer", func(x *tensor.Tensor) (*tensor.Tensor, error) { return x.Reshape(8, 32, -1) }},
	{"WithLayout", func(x *tensor.Tensor) (*tensor.Tensor, error) { return x.WithLayout("Identity", x.Layout()) }},
	{"Flatten", func(x *tensor.Tensor) (*tensor.Tensor, error) { return x.Flatten(2) }},
	{"Contiguous", func(x *tensor.Tensor) (*tensor.Tensor, error) { return x.Contiguous() }},
	{"Alias", (*tensor.Tensor).Alias},
	{"Expand", func(x *tensor.Tensor) (*tensor.Tensor, error) { return x.Expand(3, 8, 16, 2, 4) }},
	{"Squeeze", func(x *tensor.Tensor) (*tensor.Tensor, error) { return x.Squeeze() }},
	{"Unsqueeze", func(x *tensor.Tensor) (*tensor.Tensor, error) { return x.Unsqueeze(0) }},
}

// BenchmarkView counts a view and its release.
func BenchmarkView(b *testing.B) {
	x, err := tensor.New(tensor.Host(), layout.Float32, 8, 16, 2, 4)
	require.NoError(b, err)
	defer x.Release()
	for _, v := range views {
		b.Run(v.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				y, err := v.of(x)
				if err != nil {
					b.Fatal(err)
				}
				_ = y.Release()
			}
		})
	}
}

// TestViewAllocations: a view up to rank 8 allocates its Tensor and no more.
func TestViewAllocations(t *testing.T) {
	x, err := tensor.New(tensor.Host(), layout.Float32, 8, 16, 2, 4)
	require.NoError(t, err)
	defer x.Release()
	for _, v := range views {
		require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
			y, err := v.of(x)
			if err != nil {
				t.Fatal(err)
			}
			_ = y.Release()
		}), 1.0, v.name)
	}
}

// BenchmarkSmallCopy counts what a copy costs beside moving its 24 bytes.
func BenchmarkSmallCopy(b *testing.B) {
	x, err := tensor.New(tensor.Host(), layout.Float32, 2, 3)
	require.NoError(b, err)
	defer x.Release()
	y, err := x.Transpose()
	require.NoError(b, err)
	defer y.Release()
	b.ReportAllocs()
	for b.Loop() {
		z, err := y.Contiguous()
		if err != nil {
			b.Fatal(err)
		}
		_ = z.Release()
	}
}

// BenchmarkAppendInts counts reading a shape of four extents.
func BenchmarkAppendInts(b *testing.B) {
	x, err := tensor.FromSlice(tensor.Host(), []int64{8, 16, 2, 4})
	require.NoError(b, err)
	defer x.Release()
	var dims [8]int64
	b.ReportAllocs()
	for b.Loop() {
		if _, err := x.AppendInts(dims[:0]); err != nil {
			b.Fatal(err)
		}
	}
}
