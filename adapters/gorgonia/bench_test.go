package gorgonia_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/restride/restride/adapters/gorgonia"
	"github.com/restride/restride/layout"
	"github.com/stretchr/testify/require"

	gt "gorgonia.org/tensor"
)

// sizes are of small tensors, where calls count, and of large ones.
var sizes = []struct {
	name  string
	shape []int
}{{"tiny", []int{2, 4, 2, 4}}, {"16KiB", []int{2, 16, 8, 16}}, {"1MiB", []int{4, 128, 8, 64}}, {"16MiB", []int{8, 512, 16, 64}}}

// beside measures StdEng and Host in the same run, on tensors of each size.
func beside(b *testing.B, run func(b *testing.B, x *gt.Dense, materialize func(gt.Tensor) (gt.Tensor, error))) {
	own := func(t gt.Tensor) (gt.Tensor, error) { return gt.Materialize(t), nil }
	for _, size := range sizes {
		for _, e := range []struct {
			name        string
			engine      gt.Engine
			materialize func(gt.Tensor) (gt.Tensor, error)
		}{{"gorgonia", gt.StdEng{}, own}, {"restride", gorgonia.Host{}, gorgonia.Host{}.Materialize}} {
			b.Run(fmt.Sprintf("size=%s/engine=%s", size.name, e.name), func(b *testing.B) {
				x := gt.New(gt.WithShape(size.shape...), gt.Of(gt.Float32), gt.WithEngine(e.engine))
				b.SetBytes(int64(x.MemSize()))
				run(b, x, e.materialize)
			})
		}
	}
}

// Heads of attention: [batch, sequence, head, size] by (0, 2, 1, 3).
func BenchmarkTransposeHeads(b *testing.B) {
	beside(b, func(b *testing.B, x *gt.Dense, _ func(gt.Tensor) (gt.Tensor, error)) {
		for b.Loop() {
			require.NoError(b, x.T(0, 2, 1, 3))
			require.NoError(b, x.Transpose())
		}
	})
}

func BenchmarkTransposeMatrix(b *testing.B) {
	beside(b, func(b *testing.B, x *gt.Dense, _ func(gt.Tensor) (gt.Tensor, error)) {
		require.NoError(b, x.Reshape(x.Shape()[0]*x.Shape()[1], x.Shape()[2]*x.Shape()[3]))
		for b.Loop() {
			require.NoError(b, x.T())
			require.NoError(b, x.Transpose())
		}
	})
}

// Half of the columns.
func BenchmarkMaterializeSlice(b *testing.B) {
	beside(b, func(b *testing.B, x *gt.Dense, materialize func(gt.Tensor) (gt.Tensor, error)) {
		v, err := x.Slice(nil, nil, nil, gt.S(0, x.Shape()[3]/2))
		require.NoError(b, err)
		b.SetBytes(int64(x.MemSize()) / 2)
		for b.Loop() {
			_, err := materialize(v)
			require.NoError(b, err)
		}
	})
}

func BenchmarkConcatRows(b *testing.B)    { benchmarkConcat(b, 0) }
func BenchmarkConcatColumns(b *testing.B) { benchmarkConcat(b, 3) }

func benchmarkConcat(b *testing.B, axis int) {
	beside(b, func(b *testing.B, x *gt.Dense, _ func(gt.Tensor) (gt.Tensor, error)) {
		b.SetBytes(2 * int64(x.MemSize()))
		for b.Loop() {
			_, err := x.Concat(axis, x)
			require.NoError(b, err)
		}
	})
}

func BenchmarkStackInner(b *testing.B) {
	beside(b, func(b *testing.B, x *gt.Dense, _ func(gt.Tensor) (gt.Tensor, error)) {
		b.SetBytes(2 * int64(x.MemSize()))
		for b.Loop() {
			_, err := x.Stack(3, x)
			require.NoError(b, err)
		}
	})
}

func BenchmarkRepeatRows(b *testing.B)    { benchmarkRepeat(b, 1) }
func BenchmarkRepeatColumns(b *testing.B) { benchmarkRepeat(b, 3) }

func benchmarkRepeat(b *testing.B, axis int) {
	beside(b, func(b *testing.B, x *gt.Dense, _ func(gt.Tensor) (gt.Tensor, error)) {
		b.SetBytes(2 * int64(x.MemSize()))
		for b.Loop() {
			_, err := x.Repeat(axis, 2)
			require.NoError(b, err)
		}
	})
}

// Llama's queries: 4096 by 4096, 32 heads. Of bfloat16, gorgonia's way leads over float32.
func BenchmarkRepackRotary(b *testing.B) {
	const rows, columns, heads = 4096, 4096, 32
	p, err := gorgonia.Rotary(heads, rows, columns)
	require.NoError(b, err)
	std := func(x []float32) []float32 {
		y := gt.New(gt.WithShape(rows, columns), gt.WithBacking(x))
		require.NoError(b, y.Reshape(p.Shape...))
		require.NoError(b, y.T(0, 2, 1, 3))
		require.NoError(b, y.Reshape(rows, columns))
		require.NoError(b, y.Transpose())
		return y.Data().([]float32)
	}
	b.Run("type=f32/engine=gorgonia", func(b *testing.B) {
		x := make([]float32, rows*columns)
		b.SetBytes(int64(4 * len(x)))
		for b.Loop() {
			std(x)
		}
	})
	b.Run("type=f32/engine=restride", func(b *testing.B) {
		x := make([]float32, rows*columns)
		b.SetBytes(int64(4 * len(x)))
		for b.Loop() {
			_, err := gorgonia.Repacked(p, x)
			require.NoError(b, err)
		}
	})
	src, dst := make([]byte, 2*rows*columns), make([]byte, 2*rows*columns)
	b.Run("type=bf16/engine=gorgonia", func(b *testing.B) {
		b.SetBytes(int64(len(src)))
		for b.Loop() {
			x := make([]float32, rows*columns)
			for i := range x {
				x[i] = math.Float32frombits(uint32(src[2*i])<<16 | uint32(src[2*i+1])<<24)
			}
			for i, v := range std(x) {
				bits := math.Float32bits(v) >> 16
				dst[2*i], dst[2*i+1] = byte(bits), byte(bits>>8)
			}
		}
	})
	b.Run("type=bf16/engine=restride", func(b *testing.B) {
		b.SetBytes(int64(len(src)))
		for b.Loop() {
			require.NoError(b, p.Bytes(dst, src, layout.BFloat16))
		}
	})
}
