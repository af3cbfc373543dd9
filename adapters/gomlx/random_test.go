package gomlx

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/gobackend"
	"github.com/gomlx/compute/shapes"
	"github.com/stretchr/testify/require"
)

// Random computations give the same bytes as the Go backend alone.
func TestRandom(t *testing.T) {
	reference, err := gobackend.New("")
	require.NoError(t, err)
	onDevices(t, func(t *testing.T, b *Backend) {
		n := uint64(300)
		if testing.Short() {
			n = 60
		}
		for seed := range n {
			var ops []string
			of := parameters(rand.New(rand.NewPCG(seed, 1)))
			data := make([]any, len(of))
			for i, s := range of {
				data[i] = counted(s)
			}
			build := func(f compute.Function, in values) values {
				g := &grower{t: t, rng: rand.New(rand.NewPCG(seed, 2)), f: f, all: in}
				for range 1 + g.rng.IntN(12) {
					g.grow()
				}
				ops = g.ops
				return g.some()
			}
			if b.core.Few = 0; b.core.Shared() && seed%3 == 0 {
				b.core.Few = 64
			}
			want := run(t, reference, of, data, build)
			require.Equal(t, want, run(t, b, of, data, build), "seed %d: %v", seed, ops)
		}
		require.Positive(t, b.Stats().Layout)
		require.Positive(t, b.Stats().Fallback)
	})
}

func parameters(rng *rand.Rand) []shapes.Shape {
	of := make([]shapes.Shape, 1+rng.IntN(3))
	for i := range of {
		dims := make([]int, rng.IntN(4))
		for k := range dims {
			dims[k] = 1 + rng.IntN(4)
		}
		of[i] = shapes.Make([]dtypes.DType{dtypes.Float32, dtypes.Int32, dtypes.Int64, dtypes.BFloat16}[rng.IntN(4)], dims...)
	}
	return of
}

// grower adds random operations to a function.
type grower struct {
	t   *testing.T
	rng *rand.Rand
	f   compute.Function
	all values
	ops []string
}

func (g *grower) shape(x compute.Value) shapes.Shape {
	s, err := g.f.Shape(x)
	require.NoError(g.t, err)
	return s
}

func (g *grower) pick() (compute.Value, shapes.Shape) {
	x := g.all[g.rng.IntN(len(g.all))]
	return x, g.shape(x)
}

// some returns values to be results. The first one is a separate node: the Go backend panics if
// parameters come after all nodes of the results.
func (g *grower) some() values {
	last, err := g.f.Identity(g.all[len(g.all)-1])
	require.NoError(g.t, err)
	out := values{last}
	for range g.rng.IntN(3) {
		x, _ := g.pick()
		out = append(out, x)
	}
	return out
}

// grow adds an operation, if it picks one that its operand allows.
func (g *grower) grow() {
	x, s := g.pick()
	grown := []func(compute.Value, shapes.Shape) (compute.Value, error){
		g.transpose, g.reshape, g.slice, g.reverse, g.broadcast, g.concatenate, g.pad, g.convert, g.where, g.gather, g.iota,
		func(x compute.Value, _ shapes.Shape) (compute.Value, error) { return g.f.Identity(x) },
		func(x compute.Value, _ shapes.Shape) (compute.Value, error) { return g.f.Max(x, x) },
		func(x compute.Value, s shapes.Shape) (compute.Value, error) {
			if s.Rank() == 0 {
				return nil, nil
			}
			return g.f.ReduceMax(x, g.rng.IntN(s.Rank()))
		},
		func(x compute.Value, s shapes.Shape) (compute.Value, error) {
			one, err := g.f.Constant(counted(shapes.Make(s.DType)))
			if err != nil {
				return nil, err
			}
			return g.f.Max(x, one)
		},
	}
	k := g.rng.IntN(len(grown))
	y, err := grown[k](x, s)
	g.ops = append(g.ops, fmt.Sprintf("%d of %s", k, s))
	require.NoError(g.t, err, "%v", g.ops)
	if y != nil && g.shape(y).Size() < 1<<12 {
		g.all = append(g.all, y)
	}
}

func (g *grower) transpose(x compute.Value, s shapes.Shape) (compute.Value, error) {
	return g.f.Transpose(x, g.rng.Perm(s.Rank())...)
}

func (g *grower) reshape(x compute.Value, s shapes.Shape) (compute.Value, error) {
	left, dims := s.Size(), []int{}
	for n := range 4 {
		if n += 2; left%n == 0 && g.rng.IntN(2) == 0 {
			dims, left = append(dims, n), left/n
		}
	}
	dims = append(dims, left)
	g.rng.Shuffle(len(dims), func(i, j int) { dims[i], dims[j] = dims[j], dims[i] })
	return g.f.Reshape(x, dims...)
}

func (g *grower) slice(x compute.Value, s shapes.Shape) (compute.Value, error) {
	var from, to, step []int
	for _, n := range s.Dimensions {
		a := g.rng.IntN(n)
		from, to, step = append(from, a), append(to, a+1+g.rng.IntN(n-a)), append(step, 1+g.rng.IntN(2))
	}
	return g.f.Slice(x, from, to, step)
}

func (g *grower) reverse(x compute.Value, s shapes.Shape) (compute.Value, error) {
	return g.f.Reverse(x, g.rng.Perm(s.Rank())[:g.rng.IntN(s.Rank()+1)]...)
}

func (g *grower) broadcast(x compute.Value, s shapes.Shape) (compute.Value, error) {
	at := g.rng.IntN(s.Rank() + 1)
	var dims, axes []int
	for i := range s.Rank() + 1 {
		switch {
		case i == at:
			dims = append(dims, 1+g.rng.IntN(3))
			continue
		case i < at:
			dims = append(dims, s.Dimensions[i])
		default:
			dims = append(dims, s.Dimensions[i-1])
		}
		axes = append(axes, i)
	}
	return g.f.BroadcastInDim(x, shapes.Make(s.DType, dims...), axes)
}

func (g *grower) concatenate(x compute.Value, s shapes.Shape) (compute.Value, error) {
	if s.Rank() == 0 {
		return nil, nil
	}
	y, err := g.f.Reverse(x, g.rng.IntN(s.Rank()))
	if err != nil {
		return nil, err
	}
	return g.f.Concatenate(g.rng.IntN(s.Rank()), x, y, x)
}

func (g *grower) pad(x compute.Value, s shapes.Shape) (compute.Value, error) {
	flat, err := g.f.Reshape(x, s.Size())
	if err != nil {
		return nil, err
	}
	value, err := g.f.Slice(flat, []int{s.Size() - 1}, []int{s.Size()}, []int{1})
	if err != nil {
		return nil, err
	}
	if value, err = g.f.Reshape(value); err != nil {
		return nil, err
	}
	by := make([]compute.PadAxis, s.Rank())
	for i := range by { // the Go backend panics where Start or End is negative
		by[i] = compute.PadAxis{Start: g.rng.IntN(3), End: g.rng.IntN(3), Interior: g.rng.IntN(3)}
	}
	return g.f.Pad(x, value, by...)
}

func (g *grower) convert(x compute.Value, _ shapes.Shape) (compute.Value, error) {
	return g.f.ConvertDType(x, []dtypes.DType{dtypes.Float32, dtypes.Float64, dtypes.Int32, dtypes.Uint64}[g.rng.IntN(4)])
}

func (g *grower) where(x compute.Value, s shapes.Shape) (compute.Value, error) {
	y, err := g.reverse(x, s)
	if err != nil {
		return nil, err
	}
	less, err := g.f.LessThan(x, y)
	if err != nil {
		return nil, err
	}
	return g.f.Where(less, x, y)
}

// gather reads windows at indices, some of them out of range.
func (g *grower) gather(x compute.Value, s shapes.Shape) (compute.Value, error) {
	if s.Rank() == 0 {
		return nil, nil
	}
	axis := g.rng.IntN(s.Rank())
	at := make([]int32, 6)
	for i := range at {
		at[i] = int32(g.rng.IntN(s.Dimensions[axis]+3) - 1)
	}
	vector := g.rng.IntN(3)
	dims := slices.Insert([]int{2, 3}, vector, 1)
	starts, err := g.f.Constant(at, dims...)
	if err != nil {
		return nil, err
	}
	var offset, collapsed []int
	sizes := append([]int{}, s.Dimensions...)
	sizes[axis] = 1 + g.rng.IntN(s.Dimensions[axis])
	if sizes[axis] == 1 {
		collapsed = []int{axis}
	}
	windows := s.Rank() - len(collapsed)
	first := g.rng.IntN(min(windows, 2) + 1)
	for i := range windows {
		if offset = append(offset, i); i >= first {
			offset[i] += 2
		}
	}
	return g.f.Gather(x, starts, vector, offset, collapsed, []int{axis}, sizes, false)
}

func (g *grower) iota(_ compute.Value, s shapes.Shape) (compute.Value, error) {
	if s.Rank() == 0 || s.DType == dtypes.Bool {
		return nil, nil
	}
	return g.f.Iota(s, g.rng.IntN(s.Rank()))
}
