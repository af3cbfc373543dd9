package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// Of an axis without elements every index is out of range: with OutOfRangeSkip results are
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
					gather func(layout.OutOfRange) (*tensor.Tensor, error)
					put    func(device.Reduction, layout.OutOfRange) error
				}{
					{rows,
						func(o layout.OutOfRange) (*tensor.Tensor, error) { return none.Gather(0, at, o) },
						func(how device.Reduction, o layout.OutOfRange) error { return none.Put(0, at, rows, how, o) }},
					{square,
						func(o layout.OutOfRange) (*tensor.Tensor, error) { return none.TakeAlong(0, along, o) },
						func(how device.Reduction, o layout.OutOfRange) error { return none.PutAlong(0, along, square, how, o) }},
					{few,
						func(o layout.OutOfRange) (*tensor.Tensor, error) { return none.GatherND(0, tuples, o) },
						func(how device.Reduction, o layout.OutOfRange) error { return none.PutND(tuples, few, how, o) }},
				} {
					for _, wrong := range []layout.OutOfRange{layout.OutOfRangeError, layout.OutOfRangeClamp, layout.OutOfRangeClampZero} {
						_, err := c.gather(wrong)
						require.ErrorIs(t, err, device.ErrInvalid, "%s %v", name, wrong)
						require.ErrorContains(t, err, "extent 0")
						require.ErrorIs(t, c.put(device.ReduceSet, wrong), device.ErrInvalid, "%s %v", name, wrong)
					}
					require.NoError(t, c.put(device.ReduceSet, layout.OutOfRangeSkip), "%s", name)
					if device.Reduces(of) {
						require.NoError(t, c.put(device.ReduceAdd, layout.OutOfRangeSkip), "%s", name)
					}
					y, err := c.gather(layout.OutOfRangeSkip)
					require.NoError(t, err, "%s %v", name, of)
					requireIs(t, contents(t, c.like), y)
					require.NoError(t, y.Release())
				}
				require.NoError(t, s.Wait())
			}
		}
	}
}
