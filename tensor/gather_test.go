package tensor_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// gatherCase is a random gather: what to call, and what it must give.
type gatherCase struct {
	name string
	dims []int64 // of the indices
	call func(x, indices *tensor.Tensor) (*tensor.Tensor, error)
	n    func(k int64) int64 // the extent that the index at a place of indices is for
	// from is the index in the elements for one in the result; at reads an index.
	shape []int64
	from  func(index []int64, at func(index ...int64) int64) []int64
}

func randomGather(rng *rand.Rand, dims []int64) gatherCase {
	rank := len(dims)
	small := func(n int) []int64 {
		d := make([]int64, n)
		for i := range d {
			d[i] = rng.Int64N(4) + 1
		}
		return d
	}
	axis := rng.IntN(rank)
	named := axis
	if rng.IntN(2) == 0 {
		named -= rank
	}
	extent := func(int64) int64 { return dims[axis] }
	switch rng.IntN(3) {
	case 0:
		of := small(rng.IntN(3))
		return gatherCase{
			fmt.Sprint("Gather ", named, of), of,
			func(x, indices *tensor.Tensor) (*tensor.Tensor, error) {
				return x.Gather(named, indices, layout.OutOfRangeError)
			}, extent,
			slices.Concat(dims[:axis], of, dims[axis+1:]),
			func(index []int64, at func(...int64) int64) []int64 {
				return slices.Concat(index[:axis], []int64{at(index[axis : axis+len(of)]...)}, index[axis+len(of):])
			},
		}
	case 1:
		of := slices.Clone(dims)
		for i := range of {
			if i == axis {
				of[i] = rng.Int64N(6) + 1
			} else {
				of[i] = rng.Int64N(of[i]) + 1
			}
		}
		return gatherCase{
			fmt.Sprint("TakeAlong ", named, of), of,
			func(x, indices *tensor.Tensor) (*tensor.Tensor, error) {
				return x.TakeAlong(named, indices, layout.OutOfRangeError)
			}, extent, of,
			func(index []int64, at func(...int64) int64) []int64 {
				from := slices.Clone(index)
				from[axis] = at(index...)
				return from
			},
		}
	}
	batch := rng.IntN(rank)
	n := rng.IntN(rank-batch) + 1
	of := slices.Concat(dims[:batch], small(rng.IntN(3)), []int64{int64(n)})
	last := len(of) - 1
	return gatherCase{
		fmt.Sprint("GatherND ", batch, of), of,
		func(x, indices *tensor.Tensor) (*tensor.Tensor, error) {
			return x.GatherND(batch, indices, layout.OutOfRangeError)
		},
		func(k int64) int64 { return dims[batch+int(k%int64(n))] },
		slices.Concat(of[:last], dims[batch+n:]),
		func(index []int64, at func(...int64) int64) []int64 {
			from := slices.Clone(index[:batch])
			for k := range n {
				from = append(from, at(append(slices.Clone(index[:last]), int64(k))...))
			}
			return append(from, index[last:]...)
		},
	}
}

// TestGather: gathers of random tensors and views by random indices, wherever
// these are, against a walk over all indices.
func TestGather(t *testing.T) {
	for name, open := range streams {
		t.Run(name, func(t *testing.T) {
			s, other := open(t), openCPU(t)
			views := 0
			for seed := range uint64(1500) {
				rng := rand.New(rand.NewPCG(seed, 1))
				types := []layout.DType{layout.Int4, layout.Uint2, layout.Uint8, layout.Float16, layout.Float32, layout.Complex128, layout.String}
				of := types[rng.IntN(len(types))]
				if of == layout.String && name == "fake" {
					continue
				}
				dims := make([]int64, rng.IntN(4)+1)
				for i := range dims {
					dims[i] = rng.Int64N(5) + 1
				}
				whole, a := fill(t, s, of, seed, dims...)
				x := keep(t)(whole.Alias())
				if rng.IntN(2) == 0 {
					perm := rng.Perm(len(dims))
					x, a = keep(t)(whole.Transpose(perm...)), transposed(a, perm)
				}
				g := randomGather(rng, a.Dims)
				count := int64(1)
				for _, n := range g.dims {
					count *= n
				}
				values := make([]int64, count)
				regular := rng.IntN(3) == 0 // perhaps a view
				for k := range values {
					n := g.n(int64(k))
					if values[k] = rng.Int64N(2*n) - n; regular {
						values[k] = (int64(k) * int64(seed%3)) % n
					}
				}
				where := []*tensor.Stream{s, tensor.Host(), other}[rng.IntN(3)]
				indices := keep(t)(tensor.FromSlice(where, values, append([]int64{}, g.dims...)...))
				if rng.IntN(2) == 0 {
					narrow := make([]int32, len(values))
					for i, v := range values {
						narrow[i] = int32(v)
					}
					indices = keep(t)(tensor.FromSlice(where, narrow, append([]int64{}, g.dims...)...))
				}
				want := a.From(g.shape, func(index, from []int64) {
					copy(from, g.from(index, func(i ...int64) int64 {
						p := int64(0)
						for axis, i := range i {
							p = p*g.dims[axis] + i
						}
						return values[p]
					}))
					for axis := range from {
						if from[axis] < 0 {
							from[axis] += a.Dims[axis]
						}
					}
				})
				y, err := g.call(x, indices)
				require.NoError(t, err, "seed %d: %s of %v", seed, g.name, x.Layout())
				requireIs(t, want, y, "seed %d: %s of %v", seed, g.name, x.Layout())
				if y.Verdict().Kind == tensor.View {
					views++
				} else {
					require.Equal(t, tensor.Copy, y.Verdict().Kind)
					require.Equal(t, "take", y.Verdict().Class)
				}
				require.NoError(t, y.Release())
			}
			assert.Greater(t, views, 50)
		})
	}
}

func counted(n int) []int32 {
	all := make([]int32, n)
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

// TestGatherViews: what indices on Host make a view, what a copy, and
// what is transferred.
func TestGatherViews(t *testing.T) {
	s := openFake(t)
	x := keep(t)(tensor.FromSlice(s, counted(24), 4, 6))
	events := trace(t, s)
	for _, c := range []struct {
		indices []int64
		dims    []int64
		view    string
	}{
		{[]int64{2}, []int64{}, "[6]:{1}+12"},
		{[]int64{-1}, []int64{1}, "[1,6]:{0,1}+18"},
		{[]int64{0, 1, 2, 3}, nil, "[4,6]:{6,1}+0"},
		{[]int64{-1, -2, 1}, nil, "[3,6]:{-6,1}+18"},
		{[]int64{1, 3}, nil, "[2,6]:{12,1}+6"},
		{[]int64{2, 2, 2}, nil, "[3,6]:{0,1}+12"},
		{[]int64{0, 1, 2, 3}, []int64{2, 2}, "[2,2,6]:{12,6,1}+0"},
		{[]int64{0, 2, 1, 3}, []int64{2, 2}, "[2,2,6]:{6,12,1}+0"},
		{[]int64{}, []int64{0}, "[0,6]:{0,0}+0"},
		{[]int64{0, 1, 3}, nil, ""},
		{[]int64{0, 1, 3, 2}, []int64{2, 2}, ""},
	} {
		indices := keep(t)(tensor.FromHost(c.indices, c.dims...))
		events.take()
		before := s.Device().Stats()
		y := keep(t)(x.Gather(0, indices, layout.OutOfRangeError))
		after := s.Device().Stats()
		if c.view != "" {
			require.Equal(t, c.view, y.Layout().String())
			require.Equal(t, tensor.Verdict{}, y.Verdict())
			require.Zero(t, after.Uploads-before.Uploads)
			require.Len(t, events.take(), 1)
			continue
		}
		n := int64(len(c.indices))
		require.Equal(t, tensor.Verdict{Kind: tensor.Copy, Bytes: n * 24, Class: "take"}, y.Verdict())
		require.EqualValues(t, 8*n, after.HostToDevice-before.HostToDevice)
		told := events.take()
		require.Len(t, told, 2)
		require.Contains(t, told[0], "To int64 [")
		require.Contains(t, told[0], fmt.Sprintf("transfer of %d bytes", 8*n))
		require.Contains(t, told[1], "Gather int32")
	}
}

// TestGatherErrors: what is refused, and when an index out of range is told.
func TestGatherErrors(t *testing.T) {
	for name, open := range streams {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			x := keep(t)(tensor.FromSlice(s, counted(24), 4, 6))
			scalar := keep(t)(tensor.FromSlice(s, counted(1), []int64{}...))
			host := func(dims []int64, values ...int64) *tensor.Tensor { return keep(t)(tensor.FromHost(values, dims...)) }
			two := host([]int64{2}, 0, 1)
			floats := keep(t)(tensor.FromHost([]float32{1}))
			gone := host([]int64{1}, 0)
			require.NoError(t, gone.Release())
			for _, c := range []struct {
				call func() (*tensor.Tensor, error)
				says string
			}{
				{func() (*tensor.Tensor, error) { return x.Gather(2, two, layout.OutOfRangeError) }, "Gather of int32[4,6]: axis 2 is outside [-2,1]"},
				{func() (*tensor.Tensor, error) { return scalar.Gather(0, two, layout.OutOfRangeError) }, "axis 0 is outside"},
				{func() (*tensor.Tensor, error) { return x.Gather(0, nil, layout.OutOfRangeError) }, "there are no indices"},
				{func() (*tensor.Tensor, error) { return x.Gather(0, floats, layout.OutOfRangeError) }, "indices are float[1]; they must be int32 or int64"},
				{func() (*tensor.Tensor, error) { return x.Gather(0, gone, layout.OutOfRangeError) }, "released"},
				{func() (*tensor.Tensor, error) { return x.Gather(0, host([]int64{3}, 0, 3, 4), layout.OutOfRangeError) }, "Gather of int32[4,6] by int64[3]: index 4 is outside [-4,3] of extent 4"},
				{func() (*tensor.Tensor, error) { return x.Gather(1, host([]int64{3}, 0, 3, -7), layout.OutOfRangeError) }, "index -7 is outside [-6,5] of extent 6"},
				{func() (*tensor.Tensor, error) { return x.Gather(1, host([]int64{}, 6), layout.OutOfRangeError) }, "index 6 is outside"},
				{func() (*tensor.Tensor, error) { return x.TakeAlong(0, two, layout.OutOfRangeError) }, "indices have the shape [2]; they must have as many axes"},
				{func() (*tensor.Tensor, error) {
					return x.TakeAlong(0, host([]int64{1, 7}, 0, 0, 0, 0, 0, 0, 0), layout.OutOfRangeError)
				}, "on axis 1 they must not be longer"},
				{func() (*tensor.Tensor, error) {
					return x.TakeAlong(-2, host([]int64{1, 2}, 0, -5), layout.OutOfRangeError)
				}, "index -5 is outside [-4,3]"},
				{func() (*tensor.Tensor, error) {
					return x.GatherND(0, host([]int64{1, 3}, 0, 0, 0), layout.OutOfRangeError)
				}, "tuples of 3 for 2 axes"},
				{func() (*tensor.Tensor, error) {
					return x.GatherND(1, host([]int64{3, 1}, 0, 0, 0), layout.OutOfRangeError)
				}, "the first 1 axes must be the same"},
				{func() (*tensor.Tensor, error) { return x.GatherND(-1, two, layout.OutOfRangeError) }, "-1 batch axes"},
				{func() (*tensor.Tensor, error) { return x.GatherND(1, two, layout.OutOfRangeError) }, "1 batch axes"},
				{func() (*tensor.Tensor, error) { return scalar.GatherND(0, two, layout.OutOfRangeError) }, "both sides must have axes"},
				{func() (*tensor.Tensor, error) {
					return x.GatherND(0, host([]int64{2, 2}, 0, 0, 3, 6), layout.OutOfRangeError)
				}, "index 6 is outside [-6,5]"},
				{func() (*tensor.Tensor, error) { return x.GatherND(0, host([]int64{1, 0}), layout.OutOfRangeError) }, "tuples of 0"},
			} {
				y, err := c.call()
				require.ErrorIs(t, err, device.ErrInvalid)
				require.ErrorContains(t, err, c.says)
				require.Nil(t, y)
			}
			s.ForbidCopies(true)
			keep(t)(x.Gather(0, host([]int64{3}, 0, 3, 1), layout.OutOfRangeError)) // a copy by its name
			require.NoError(t, keep(t)(x.Gather(0, host([]int64{2}, 3, 1), layout.OutOfRangeError)).Release())
		})
	}
}

// Once the error was of the engine's, about a buffer of no bytes.
func TestGatherFromAnAxisWithoutElements(t *testing.T) {
	for name, open := range streams {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			x := keep(t)(tensor.New(s, layout.Float32, 2, 0))
			for _, where := range []*tensor.Stream{tensor.Host(), s} {
				indices := keep(t)(tensor.FromSlice(where, []int64{0, -1, 5, 0}, 2, 2))
				for op, call := range map[string]func() (*tensor.Tensor, error){
					"Gather":    func() (*tensor.Tensor, error) { return x.Gather(1, indices, layout.OutOfRangeError) },
					"TakeAlong": func() (*tensor.Tensor, error) { return x.TakeAlong(1, indices, layout.OutOfRangeError) },
					"GatherND":  func() (*tensor.Tensor, error) { return x.GatherND(0, indices, layout.OutOfRangeError) },
				} {
					_, err := call()
					require.ErrorIs(t, err, device.ErrInvalid)
					require.EqualError(t, err, op+" of float[2,0] by int64[2,2]: there are indices of an axis of extent 0, which has no elements")
				}
			}
		})
	}
}

// Indices of a result without elements were not looked at.
func TestGatherChecksIndicesOfAnEmptyResult(t *testing.T) {
	for name, open := range streams {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			x := keep(t)(tensor.New(s, layout.Float16, 5, 0))
			y := keep(t)(tensor.New(s, layout.Float16, 0, 5))
			for _, where := range []*tensor.Stream{tensor.Host(), s, openCPU(t)} {
				one := func(values ...int64) *tensor.Tensor { return keep(t)(tensor.FromSlice(where, values)) }
				pairs := func(values ...int64) *tensor.Tensor {
					return keep(t)(tensor.FromSlice(where, values, int64(len(values)/2), 2))
				}
				cube := keep(t)(tensor.New(s, layout.Float16, 5, 3, 0))
				none := keep(t)(tensor.New(s, layout.Float16, 0, 0))
				for _, c := range []struct {
					x           *tensor.Tensor
					right       *tensor.Tensor
					wrong       *tensor.Tensor
					call        func(x, indices *tensor.Tensor) (*tensor.Tensor, error)
					shape, says string
				}{
					{x, one(4, 0, -5), one(4, 0, 9), func(x, i *tensor.Tensor) (*tensor.Tensor, error) { return x.Gather(0, i, layout.OutOfRangeError) }, "[3,0]", "index 9 is outside [-5,4] of extent 5"},
					{y, one(4, 0, -5), one(-6), func(x, i *tensor.Tensor) (*tensor.Tensor, error) { return x.Gather(1, i, layout.OutOfRangeError) }, "[0,3]", "index -6 is outside [-5,4] of extent 5"},
					{y, one(), one(0), func(x, i *tensor.Tensor) (*tensor.Tensor, error) { return x.Gather(0, i, layout.OutOfRangeError) }, "[0,5]", "an axis of extent 0"},
					{none, one(), one(0), func(x, i *tensor.Tensor) (*tensor.Tensor, error) { return x.Gather(0, i, layout.OutOfRangeError) }, "[0,0]", "an axis of extent 0"},
					{cube, pairs(4, 2, -5, -3, 0, 1), pairs(4, 2, 3, 3), func(x, i *tensor.Tensor) (*tensor.Tensor, error) { return x.GatherND(0, i, layout.OutOfRangeError) }, "[3,0]", "index 3 is outside [-3,2] of extent 3"},
				} {
					s.ForbidCopies(true) // no element is copied
					z := keep(t)(c.call(c.x, c.right))
					require.Equal(t, c.shape, z.Shape().String())
					want := tensor.Verdict{}
					if where == s && !s.IsHost() && c.right.Count() > 0 { // a byte, taken for each index or tuple
						want = tensor.Verdict{Kind: tensor.Copy, Bytes: 1 + c.right.Dim(0), Class: "take"}
					}
					require.Equal(t, want, z.Verdict())
					_, err := c.call(c.x, c.wrong)
					s.ForbidCopies(false)
					require.ErrorIs(t, err, device.ErrInvalid)
					require.ErrorContains(t, err, c.says)
				}
				y := keep(t)(tensor.New(s, layout.Float16, 0, 5))
				require.Equal(t, "[0,5]", keep(t)(y.TakeAlong(1, keep(t)(tensor.New(where, layout.Int64, 0, 5)), layout.OutOfRangeError)).Shape().String())
			}
		})
	}
}

// One index, broadcast, was as much work as it stands for: 2^40 bytes of the device's.
func TestBugGatherOfAnEmptyResultByABroadcast(t *testing.T) {
	for name, open := range streams {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			x := keep(t)(tensor.New(s, layout.Float16, 5, 3, 0))
			for _, where := range []*tensor.Stream{tensor.Host(), s} {
				for index, right := range map[int32]bool{2: true, 5: false} {
					one := keep(t)(tensor.FromSlice(where, []int32{1, index}, 1, 2))
					many := keep(t)(one.Expand(1<<40, 2))
					for op, gather := range map[string]func(int, *tensor.Tensor, layout.OutOfRange) (*tensor.Tensor, error){"Gather": x.Gather, "GatherND": x.GatherND} {
						y, err := gather(0, many, layout.OutOfRangeError)
						if err == nil {
							err = errors.Join(s.Wait(), y.Release())
						}
						if right {
							require.NoError(t, err, op)
						} else {
							require.ErrorIs(t, err, device.ErrInvalid, op)
							require.ErrorContains(t, err, "index 5 is outside", op)
						}
					}
				}
			}
		})
	}
}
