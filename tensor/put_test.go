package tensor_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// grid is a tensor in plain Go.
type grid struct {
	dims []int64
	data []int32
}

func newGrid(rng *rand.Rand, dims ...int64) grid {
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	g := grid{dims, make([]int32, n)}
	for i := range g.data {
		g.data[i] = rng.Int32()
	}
	return g
}

func (g grid) at(index ...int64) *int32 {
	n := int64(0)
	for i, x := range index {
		n = n*g.dims[i] + x
	}
	return &g.data[n]
}

// each visits all indices in row-major order.
func (g grid) each(visit func(index []int64)) {
	index := make([]int64, len(g.dims))
	for range g.data {
		visit(index)
		for i := len(index) - 1; i >= 0; i-- {
			if index[i]++; index[i] < g.dims[i] {
				break
			}
			index[i] = 0
		}
	}
}

// meant is the element that an index of an extent means by a policy; -1: none.
func meant(index, extent int64, outside layout.OutOfRange) int64 {
	switch {
	case outside == layout.OutOfRangeClampZero:
		return max(0, min(index, extent-1))
	case outside == layout.OutOfRangeClamp:
		index = max(-extent, min(index, extent-1))
	case index < -extent || index >= extent:
		return -1
	}
	return (index + extent) % extent
}

// TestPut: puts of all kinds to tensors and views, by indices wherever these are, against
// a walk over all indices, in which the last one of several counts.
func TestPut(t *testing.T) {
	for name, open := range streams {
		t.Run(name, func(t *testing.T) {
			s, other := open(t), openCPU(t)
			for seed := range uint64(600) {
				rng := rand.New(rand.NewPCG(seed, 4))
				want := newGrid(rng, 1+rng.Int64N(5), 1+rng.Int64N(5), 1+rng.Int64N(5))
				x := keep(t)(tensor.FromSlice(s, want.data, want.dims...))
				outside, how := layout.OutOfRange(rng.IntN(4)), []device.Reduction{device.ReduceSet, device.ReduceAdd}[rng.IntN(2)]
				axis, kind := rng.IntN(3), rng.IntN(3)
				spread := int64(0)
				if outside != layout.OutOfRangeError {
					spread = 4
				}
				random := func(n int64) int32 { return int32(rng.Int64N(2*(n+spread)) - n - spread) }
				where := []*tensor.Stream{s, tensor.Host(), other}[rng.IntN(3)]
				var indices, src grid
				var to func(index []int64) []int64 // where an element of src goes; -1: nowhere
				switch kind {
				case 0: // Put
					indices = newGrid(rng, slices.Repeat([]int64{1 + rng.Int64N(3)}, rng.IntN(3))...)
					q := len(indices.dims)
					src = newGrid(rng, slices.Concat(want.dims[:axis], indices.dims, want.dims[axis+1:])...)
					to = func(index []int64) []int64 {
						i := meant(int64(*indices.at(index[axis : axis+q]...)), want.dims[axis], outside)
						return slices.Concat(index[:axis], []int64{i}, index[axis+q:])
					}
				case 1: // PutAlong
					dims := slices.Clone(want.dims)
					for i := range dims {
						dims[i] = 1 + rng.Int64N(dims[i])
					}
					dims[axis] = 1 + rng.Int64N(6)
					indices, src = newGrid(rng, dims...), newGrid(rng, dims...)
					to = func(index []int64) []int64 {
						out := slices.Clone(index)
						out[axis] = meant(int64(*indices.at(index...)), want.dims[axis], outside)
						return out
					}
				case 2: // PutND, of the first axis or two
					n := 1 + rng.Int64N(2)
					indices = newGrid(rng, 1+rng.Int64N(4), n)
					src = newGrid(rng, slices.Concat(indices.dims[:1], want.dims[n:])...)
					to = func(index []int64) (out []int64) {
						for k := range n {
							out = append(out, meant(int64(*indices.at(index[0], k)), want.dims[k], outside))
						}
						return append(out, index[1:]...)
					}
				}
				number := int64(0)
				for i := range indices.data {
					extent := want.dims[axis]
					if kind == 2 {
						extent = want.dims[number%indices.dims[1]]
					}
					indices.data[i] = random(extent)
					number++
				}
				at := keep(t)(tensor.FromSlice(where, indices.data, append([]int64{}, indices.dims...)...))
				from := keep(t)(tensor.FromSlice(s, src.data, src.dims...))
				var err error
				switch kind {
				case 0:
					err = x.Put(axis-3*rng.IntN(2), at, from, how, outside)
				case 1:
					err = x.PutAlong(axis, at, from, how, outside)
				case 2:
					err = x.PutND(at, from, how, outside)
				}
				require.NoError(t, err, "seed %d", seed)
				src.each(func(index []int64) {
					if i := to(index); !slices.Contains(i, -1) {
						if how == device.ReduceSet {
							*want.at(i...) = 0
						}
						*want.at(i...) += *src.at(index...)
					}
				})
				got, err := tensor.Values[int32](x)
				require.NoError(t, err)
				require.Equal(t, want.data, got, "seed %d: kind %d, axis %d, %v, %v", seed, kind, axis, outside, how)
			}
		})
	}
}

// TestPutRules: errors name the operation, the shapes and the rule.
func TestPutRules(t *testing.T) {
	s := openCPU(t)
	x, _ := fill(t, s, layout.Float32, 1, 4, 6)
	rows, _ := fill(t, s, layout.Float32, 2, 2, 6)
	two := keep(t)(tensor.FromSlice(s, []int64{1, 3}))
	far := keep(t)(tensor.FromSlice(s, []int64{1, 4}))
	half := keep(t)(tensor.FromSlice(s, []float32{1, 3}))
	one, _ := fill(t, s, layout.Int32, 1, 2, 6)
	for says, err := range map[string]error{
		"Put to float[4,6] of float[2,6] by int64[2]: index 4 is outside [-4,3] of extent 4": x.Put(0, far, rows, device.ReduceSet, layout.OutOfRangeError),
		"the elements have the shape [2,6]; [4,2] is what the indices ask for":               x.Put(1, two, rows, device.ReduceSet, layout.OutOfRangeError),
		"the elements are int32, to be put to float":                                         x.Put(0, two, one, device.ReduceSet, layout.OutOfRangeError),
		"indices are float[2]; they must be int32 or int64":                                  x.Put(0, half, rows, device.ReduceSet, layout.OutOfRangeError),
		"axis 2":               x.Put(2, two, rows, device.ReduceSet, layout.OutOfRangeError),
		"the tensor is nil":    x.Put(0, two, nil, device.ReduceSet, layout.OutOfRangeError),
		"there are no indices": x.Put(0, nil, rows, device.ReduceSet, layout.OutOfRangeError),
		"OutOfRange(9) is given for indices out of range":                         x.Put(0, two, rows, device.ReduceSet, 9),
		"there is no Reduction(99)":                                               x.Put(0, two, rows, device.Reduction(99), layout.OutOfRangeError),
		"indices have the shape [2]; they must have as many axes as the elements": x.PutAlong(0, two, rows, device.ReduceSet, layout.OutOfRangeError),
		"starts have the shape [2]; there must be one for each axis":              keep(t)(x.Reshape(4, 6, 1)).PutAt(two, keep(t)(rows.Reshape(2, 6, 1))),
		"on axis 0 it must be in [0,4]":                                           x.PutAt(two, keep(t)(tensor.New(s, layout.Float32, 5, 6))),
	} {
		require.ErrorIs(t, err, device.ErrInvalid, says)
		require.ErrorContains(t, err, says)
	}
	require.NoError(t, x.Put(0, two, rows, device.ReduceSet, layout.OutOfRangeError))
	require.NoError(t, s.Wait())
}

// TestSliceAt: slices whose starts are in memory, wherever that is, are clamped to what
// there is.
func TestSliceAt(t *testing.T) {
	for name, open := range streams {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			for seed := range uint64(100) {
				rng := rand.New(rand.NewPCG(seed, 5))
				a := newGrid(rng, 1+rng.Int64N(6), 1+rng.Int64N(6))
				x := keep(t)(tensor.FromSlice(s, a.data, a.dims...))
				dims := []int64{1 + rng.Int64N(a.dims[0]), 1 + rng.Int64N(a.dims[1])}
				starts := []int32{rng.Int32N(16) - 5, rng.Int32N(16) - 5}
				first := func(k int) int64 { return max(0, min(int64(starts[k]), a.dims[k]-dims[k])) }
				where := []*tensor.Stream{s, tensor.Host()}[rng.IntN(2)]
				at := keep(t)(tensor.FromSlice(where, starts))
				y := keep(t)(x.SliceAt(at, dims...))
				if where == s && name == "fake" {
					require.Equal(t, tensor.Copy, y.Verdict().Kind)
				}
				got, err := tensor.Values[int32](y)
				require.NoError(t, err)
				part := newGrid(rng, dims...)
				part.each(func(i []int64) {
					require.Equal(t, *a.at(i[0]+first(0), i[1]+first(1)), *grid{dims, got}.at(i...))
				})
				require.NoError(t, x.PutAt(at, keep(t)(tensor.FromSlice(s, part.data, dims...))))
				part.each(func(i []int64) { *a.at(i[0]+first(0), i[1]+first(1)) = *part.at(i...) })
				got, err = tensor.Values[int32](x)
				require.NoError(t, err)
				require.Equal(t, a.data, got)
			}
		})
	}
}

// TestPutSlices compares slices put at each part's own start with loops.
func TestPutSlices(t *testing.T) {
	for name, open := range streams {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			for seed := range uint64(100) {
				rng := rand.New(rand.NewPCG(seed, 6))
				a := newGrid(rng, 1+rng.Int64N(6), 1+rng.Int64N(6))
				x := keep(t)(tensor.FromSlice(s, a.data, a.dims...))
				part := newGrid(rng, a.dims[0], 1+rng.Int64N(a.dims[1]))
				starts := make([]int64, a.dims[0])
				for i := range starts {
					starts[i] = rng.Int64N(a.dims[1] - part.dims[1] + 1)
				}
				where := []*tensor.Stream{s, tensor.Host()}[rng.IntN(2)]
				at := keep(t)(tensor.FromSlice(where, starts))
				require.NoError(t, x.PutSlices(1, at, keep(t)(tensor.FromSlice(s, part.data, part.dims...))))
				part.each(func(i []int64) { *a.at(i[0], starts[i[0]]+i[1]) = *part.at(i...) })
				got, err := tensor.Values[int32](x)
				require.NoError(t, err)
				require.Equal(t, a.data, got)

				wrong := []int64{-1, a.dims[1] - part.dims[1] + 1, -a.dims[1]}[rng.IntN(3)]
				starts[rng.IntN(len(starts))] = wrong
				at = keep(t)(tensor.FromSlice(where, starts))
				err = x.PutSlices(1, at, keep(t)(tensor.FromSlice(s, part.data, part.dims...)))
				if err == nil {
					_, err = x.Bytes()
				}
				require.ErrorIs(t, err, device.ErrInvalid)
				require.ErrorContains(t, err, fmt.Sprintf("index %d is outside [0,%d] of extent", wrong, a.dims[1]-part.dims[1]))
			}
			x, starts := keep(t)(tensor.New(s, layout.Int8, 2, 4, 3)), keep(t)(tensor.New(s, layout.Int64, 2))
			for says, call := range map[string]func() error{
				"axis 0 has the parts":     func() error { return x.PutSlices(0, starts, x) },
				"axis 3 is outside [-3,2]": func() error { return x.PutSlices(3, starts, x) },
				"starts have the shape [3]; there must be one for each of the 2 parts": func() error { return x.PutSlices(1, keep(t)(tensor.New(s, layout.Int64, 3)), x) },
				"indices are int8[2]; they must be int32 or int64":                     func() error { return x.PutSlices(1, keep(t)(tensor.New(s, layout.Int8, 2)), x) },
				"the slices have the shape [2,5,3]: it may differ along axis 1 only":   func() error { return x.PutSlices(1, starts, keep(t)(tensor.New(s, layout.Int8, 2, 5, 3))) },
				"the slices have the shape [2,4,2]: it may differ along axis 1 only":   func() error { return x.PutSlices(1, starts, keep(t)(tensor.New(s, layout.Int8, 2, 4, 2))) },
				"the slices have the shape [2,4]: it must have as many axes":           func() error { return x.PutSlices(1, starts, keep(t)(tensor.New(s, layout.Int8, 2, 4))) },
				"PutSlices: the tensor is nil":                                         func() error { return x.PutSlices(1, starts, nil) },
			} {
				err := call()
				require.ErrorIs(t, err, device.ErrInvalid)
				require.ErrorContains(t, err, says)
			}
		})
	}
}

// TestGatherOutside: what indices out of range make of gathers, on the host and on the
// device.
func TestGatherOutside(t *testing.T) {
	for name, open := range streams {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			x := keep(t)(tensor.FromSlice(s, []int16{10, 11, 12}))
			for _, where := range []*tensor.Stream{s, tensor.Host()} {
				at := keep(t)(tensor.FromSlice(where, []int32{-9, -1, 1, 7}))
				for outside, want := range map[layout.OutOfRange][]int16{
					layout.OutOfRangeSkip: {0, 12, 11, 0}, layout.OutOfRangeClamp: {10, 12, 11, 12}, layout.OutOfRangeClampZero: {10, 10, 11, 12},
				} {
					y := keep(t)(x.Gather(0, at, outside))
					got, err := tensor.Values[int16](y)
					require.NoError(t, err)
					require.Equal(t, want, got, "%v", outside)
				}
			}
		})
	}
}
