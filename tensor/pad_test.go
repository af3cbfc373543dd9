package tensor_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// dilated puts fill between the elements along an axis.
func dilated(a array, axis int, between int64, fill string) array {
	dims := append([]int64{}, a.Dims...)
	if dims[axis] > 1 {
		dims[axis] += (dims[axis] - 1) * between
	}
	out := array{Dims: dims}
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	index := make([]int64, len(dims))
	for at := range n {
		for i := len(dims) - 1; i >= 0; i-- {
			index[i], at = at%dims[i], at/dims[i]
		}
		e := fill
		if index[axis]%(between+1) == 0 {
			index[axis] /= between + 1
			e = a.Elem(index)
		}
		out.Elems = append(out.Elems, e)
	}
	return out
}

// TestPad checks random paddings, with elements between others too, against arrays that
// are taken apart and padded axis by axis.
func TestPad(t *testing.T) {
	modes := []tensor.PadMode{tensor.PadConstant, tensor.PadConstant, tensor.PadEdge, tensor.PadReflect, tensor.PadWrap}
	for name, open := range streams {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			rng := rand.New(rand.NewPCG(7, 7))
			for try := range 300 {
				of := []layout.DType{layout.Uint4, layout.Int16, layout.Float64}[rng.IntN(3)]
				dims := make([]int64, rng.IntN(4))
				for i := range dims {
					dims[i] = 1 + rng.Int64N(4)
				}
				x, want := fill(t, s, of, uint64(try), dims...)
				mode := modes[rng.IntN(len(modes))]
				packed := []byte{5, 0, 0, 0, 0, 0, 0, 0}[:(of.Bits()+7)/8]
				pads, flat := make([]tensor.Padding, len(dims)), make([]int64, 2*len(dims))
				for i := range pads {
					p := &pads[i]
					if mode == tensor.PadConstant {
						p.Between = rng.Int64N(3)
					}
					want = dilated(want, i, p.Between, string(packed))
					p.Before, p.After = rng.Int64N(5)-1, rng.Int64N(5)-1
					if max(-p.Before, 0)+max(-p.After, 0) >= want.Dims[i] {
						p.Before, p.After = 1, 0
					}
					flat[i], flat[i+len(dims)] = p.Before, p.After
				}
				want = want.Padded(string(mode), flat, string(packed))
				requireIs(t, want, keep(t)(x.Pad(mode, packed, pads...)), try, " ", mode, pads)
			}
		})
	}
}

func TestPadErrors(t *testing.T) {
	s := openCPU(t)
	x := keep(t)(tensor.New(s, layout.Float32, 2, 3))
	const most = math.MaxInt64
	before := s.Device().Stats()
	for _, c := range []struct {
		mode tensor.PadMode
		fill []byte
		pads []tensor.Padding
		says string
	}{
		{"constant", nil, []tensor.Padding{{}}, "Pad of float[2,3]: 1 paddings for 2 axes"},
		{"mirror", nil, []tensor.Padding{{}, {}}, `mode "mirror": it must be constant, edge, reflect or wrap`},
		{"constant", []byte{1}, []tensor.Padding{{}, {}}, "an element of 1 bytes to fill with; float has 4"},
		{"edge", nil, []tensor.Padding{{}, {Between: 1}}, "axis 1: 1 elements between each two: that is for mode constant"},
		{"constant", nil, []tensor.Padding{{Between: -1}, {}}, "axis 0: -1 elements between"},
		{"constant", nil, []tensor.Padding{{}, {Between: most}}, "add more than 64 bits hold"},
		{"constant", nil, []tensor.Padding{{Before: most}, {}}, "add more than 64 bits hold"},
		{"constant", nil, []tensor.Padding{{Between: most / 2, After: most / 2}, {}}, "add more than 64 bits hold"},
		{"constant", nil, []tensor.Padding{{Before: -3, Between: 1, After: -1}, {}}, "axis 0: pads -3 and -1 remove more than its 3 elements"},
		{"wrap", nil, []tensor.Padding{{Before: -2, After: 1}, {}}, "axis 0 has no elements that mode wrap could repeat"},
		{"constant", nil, []tensor.Padding{{Before: 1 << 40}, {Before: 1 << 40}}, "overflows int64"},
	} {
		_, err := x.Pad(c.mode, c.fill, c.pads...)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, c.says)
	}
	require.Equal(t, before, s.Device().Stats())
	_, err := x.Pad(tensor.PadEdge, nil, tensor.Padding{Before: 1 << 50}, tensor.Padding{})
	require.ErrorIs(t, err, device.ErrOutOfMemory)
	require.Equal(t, tensor.View, keep(t)(x.Pad(tensor.PadConstant, nil, tensor.Padding{Before: -1}, tensor.Padding{After: -1})).Verdict().Kind)
	require.NoError(t, x.Release())
	for _, n := range []int64{1, -1} {
		_, err = x.Pad(tensor.PadConstant, nil, tensor.Padding{Before: n}, tensor.Padding{})
		require.ErrorIs(t, err, tensor.ErrReleased)
	}
}

// A border of zeros, and zeros between the elements, as the gradient of a strided
// convolution wants them.
func ExampleTensor_Pad() {
	x, _ := tensor.FromSlice(tensor.Host(), []int8{1, 2, 3})
	defer x.Release()
	y, _ := x.Pad(tensor.PadConstant, nil, tensor.Padding{Before: 1, After: 2, Between: 1})
	defer y.Release()
	fmt.Println(y)
	// Output: int8[8] on cpu: [0 1 0 2 0 3 0 0]
}
