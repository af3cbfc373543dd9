package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// Of an axis without elements every index is out of range: with OutsideSkip results are
// zero and puts do nothing, with the other policies it is an error.
func TestBugIndicesOfNoElements(t *testing.T) {
	for name, open := range streams {
		s := open(t)
		types := []layout.DType{layout.Int4, layout.Float32, layout.Complex128}
		if s.Device().Info().Strings {
			types = append(types, layout.String)
		}
		for _, of := range types {
			for _, on := range []*tensor.Stream{s, tensor.Host()} {
				none := keep(t)(tensor.New(s, of, 0, 3))
				at := keep(t)(tensor.FromSlice(on, []int32{0, 1, -1, 5}, 4))
				along := keep(t)(tensor.FromSlice(on, make([]int64, 6), 2, 3))
				tuples := keep(t)(tensor.FromSlice(on, make([]int64, 4), 2, 2))
				rows, few := keep(t)(tensor.New(s, of, 4, 3)), keep(t)(tensor.New(s, of, 2))
				square := keep(t)(tensor.New(s, of, 2, 3))
				for _, c := range []struct {
					like   *tensor.Tensor
					gather func(...device.Outside) (*tensor.Tensor, error)
					put    func(...tensor.PutOption) error
				}{
					{rows,
						func(o ...device.Outside) (*tensor.Tensor, error) { return none.Gather(0, at, o...) },
						func(o ...tensor.PutOption) error { return none.Put(0, at, rows, o...) }},
					{square,
						func(o ...device.Outside) (*tensor.Tensor, error) { return none.TakeAlong(0, along, o...) },
						func(o ...tensor.PutOption) error { return none.PutAlong(0, along, square, o...) }},
					{few,
						func(o ...device.Outside) (*tensor.Tensor, error) { return none.GatherND(0, tuples, o...) },
						func(o ...tensor.PutOption) error { return none.PutND(tuples, few, o...) }},
				} {
					for _, wrong := range []device.Outside{device.OutsideError, device.OutsideClamp, device.OutsideClampZero} {
						_, err := c.gather(wrong)
						require.ErrorIs(t, err, device.ErrInvalid, "%s %v", name, wrong)
						require.ErrorContains(t, err, "extent 0")
						require.ErrorIs(t, c.put(wrong), device.ErrInvalid, "%s %v", name, wrong)
					}
					require.NoError(t, c.put(device.OutsideSkip), "%s", name)
					if device.Reduces(of) {
						require.NoError(t, c.put(device.OutsideSkip, device.Add), "%s", name)
					}
					y, err := c.gather(device.OutsideSkip)
					require.NoError(t, err, "%s %v", name, of)
					requireIs(t, contents(t, c.like), y)
					require.NoError(t, y.Release())
				}
				require.NoError(t, s.Wait())
			}
		}
	}
}
