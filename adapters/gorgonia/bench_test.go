package gorgonia_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/restride/restride/adapters/gorgonia"
	"github.com/restride/restride/layout"
	"github.com/stretchr/testify/require"

	gt "gorgonia.org/tensor"
)

// contender is an engine that is measured.
type contender struct {
	name        string
	engine      gt.Engine
	materialize func(gt.Tensor) (gt.Tensor, error)
	repack      func(testing.TB, layout.DType) func() error // of Llama's queries
}

var contenders = []contender{
	{"gorgonia", gt.StdEng{}, func(t gt.Tensor) (gt.Tensor, error) { return gt.Materialize(t), nil }, repackByGorgonia},
	{"restride", gorgonia.Host{}, gorgonia.Host{}.Materialize, repackByRestride},
}

// measured are operations on float32 tensors of four axes.
var measured = []struct {
	name    string
	prepare func(tb testing.TB, c contender, x *gt.Dense) func() error
}{
	{"heads: [b, s, h, d] by (0, 2, 1, 3), in place", func(_ testing.TB, _ contender, x *gt.Dense) func() error {
		return func() error { return transposed(x, 0, 2, 1, 3) }
	}},
	{"a matrix transposed in place", func(tb testing.TB, _ contender, x *gt.Dense) func() error {
		s := x.Shape()
		require.NoError(tb, x.Reshape(s[0]*s[1], s[2]*s[3]))
		return func() error { return transposed(x, 1, 0) }
	}},
	{"Materialize of half the columns", func(tb testing.TB, c contender, x *gt.Dense) func() error {
		v, err := x.Slice(nil, nil, nil, gt.S(0, x.Shape()[3]/2))
		require.NoError(tb, err)
		return func() error { _, err := c.materialize(v); return err }
	}},
	{"Concat of two along the first axis", func(_ testing.TB, _ contender, x *gt.Dense) func() error {
		return func() error { _, err := x.Concat(0, x); return err }
	}},
	{"Concat of two along the last axis", func(_ testing.TB, _ contender, x *gt.Dense) func() error {
		return func() error { _, err := x.Concat(3, x); return err }
	}},
	{"Stack of two along axis 3 of 5", func(_ testing.TB, _ contender, x *gt.Dense) func() error {
		return func() error { _, err := x.Stack(3, x); return err }
	}},
	{"Repeat twice along axis 1", func(_ testing.TB, _ contender, x *gt.Dense) func() error {
		return func() error { _, err := x.Repeat(1, 2); return err }
	}},
	{"Repeat twice along the last axis", func(_ testing.TB, _ contender, x *gt.Dense) func() error {
		return func() error { _, err := x.Repeat(3, 2); return err }
	}},
}

func transposed(x *gt.Dense, axes ...int) error {
	if err := x.T(axes...); err != nil {
		return err
	}
	return x.Transpose()
}

// measuredSizes are the sizes of small tensors, where calls matter, and of large ones.
var measuredSizes = []struct {
	name  string
	shape []int
}{{"512 B", []int{2, 4, 2, 8}}, {"16 KiB", []int{2, 16, 8, 16}}, {"1 MiB", []int{4, 128, 8, 64}}, {"16 MiB", []int{8, 512, 16, 64}}}

// filled is an engine's tensor whose memory has been written: unwritten pages are all one page.
func filled(tb testing.TB, e gt.Engine, shape ...int) *gt.Dense {
	x := gt.New(gt.WithShape(shape...), gt.Of(gt.Float32), gt.WithEngine(e))
	require.NoError(tb, x.Memset(float32(1)))
	return x
}

func BenchmarkEngines(b *testing.B) {
	for _, m := range measured {
		for _, size := range measuredSizes {
			for _, c := range contenders {
				b.Run(fmt.Sprintf("case=%s/size=%s/engine=%s", m.name, size.name, c.name), func(b *testing.B) {
					run := m.prepare(b, c, filled(b, c.engine, size.shape...))
					for b.Loop() {
						require.NoError(b, run())
					}
				})
			}
		}
	}
}

const rows, columns, heads = 4096, 4096, 32

func BenchmarkRepack(b *testing.B) {
	for _, t := range []layout.DType{layout.Float32, layout.BFloat16} {
		for _, c := range contenders {
			b.Run(fmt.Sprintf("type=%v/engine=%s", t, c.name), func(b *testing.B) {
				run := c.repack(b, t)
				b.SetBytes(rows * columns * int64(t.Bits()/8))
				for b.Loop() {
					require.NoError(b, run())
				}
			})
		}
	}
}

func repackByRestride(tb testing.TB, t layout.DType) func() error {
	p, err := gorgonia.Rotary(heads, rows, columns)
	require.NoError(tb, err)
	src, dst := weights(t), weights(t)
	return func() error { return p.Bytes(dst, src, t) }
}

// repackByGorgonia converts bfloat16 through float32, gorgonia's only way.
func repackByGorgonia(tb testing.TB, t layout.DType) func() error {
	repack := func(x []float32) ([]float32, error) {
		y := gt.New(gt.WithShape(rows, columns), gt.WithBacking(x))
		if err := y.Reshape(heads, 2, rows/heads/2, columns); err != nil {
			return nil, err
		}
		if err := y.T(0, 2, 1, 3); err != nil {
			return nil, err
		}
		if err := y.Reshape(rows, columns); err != nil {
			return nil, err
		}
		return x, y.Transpose()
	}
	if t == layout.Float32 {
		x := slices.Repeat([]float32{1}, rows*columns)
		return func() error { _, err := repack(x); return err }
	}
	src, dst := weights(t), weights(t)
	return func() error {
		x := make([]float32, rows*columns)
		for i := range x {
			x[i] = math.Float32frombits(uint32(src[2*i])<<16 | uint32(src[2*i+1])<<24)
		}
		y, err := repack(x)
		for i, v := range y {
			bits := math.Float32bits(v) >> 16
			dst[2*i], dst[2*i+1] = byte(bits), byte(bits>>8)
		}
		return err
	}
}

func weights(t layout.DType) []byte { return slices.Repeat([]byte{1}, rows*columns*t.Bits()/8) }
