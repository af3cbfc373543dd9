package adversary

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/ndarray"
	"github.com/restride/restride/internal/soak"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// poisoned is a cpu device whose fresh memory has no zeros in it.
type poisoned struct{ device.Device }

func (d poisoned) Unwrap() device.Device { return d.Device }

const poison = 0xa5

func (d poisoned) Alloc(n int64) (device.Buffer, error) {
	b, err := d.Device.Alloc(n)
	if mem, ok := cpu.Bytes(b); err == nil && ok {
		copy(mem, bytes.Repeat([]byte{poison}, len(mem)))
	}
	return b, err
}

// Every element of a result is written: the generators compare all of them, which reveals
// memory that was not written, even where zeros are expected.
func TestNoPoisonInResults(t *testing.T) {
	tries := uint64(few)
	if soak.Enabled() {
		tries = 5000
	}
	for _, name := range []string{"sequences", "graphs", "casts", "lending"} {
		some, err := Named(name)
		require.NoError(t, err)
		s, dir := open(t, poisoned{openCPU(t)}), t.TempDir()
		for i := range tries {
			require.NoError(t, Once(some[0], s, dir, 34, i, time.Minute), "try %d of seed 34 of %s", i, name)
		}
	}
}

// Results without elements to take or join must not show the memory's content either.
func TestNoPoisonInZeros(t *testing.T) {
	s := open(t, poisoned{openCPU(t)})
	made := func(x *tensor.Tensor, err error) *tensor.Tensor {
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, x.Release()) })
		return x
	}
	for _, of := range []layout.DType{layout.Int4, layout.Uint8, layout.Float16, layout.Float64, layout.Complex128} {
		none, some := made(tensor.New(s, of, 0, 3)), made(tensor.New(s, of, 5, 3))
		far := made(tensor.FromSlice(s, []int64{-7, 9}, 2))
		width := tensor.Padding{Before: 2, After: 3}
		for what, x := range map[string]*tensor.Tensor{
			"New":                   some,
			"Gather of none":        made(none.Gather(0, far, layout.OutOfRangeSkip)),
			"Gather of what is not": made(some.Gather(0, far, layout.OutOfRangeSkip)),
			"Pad of none":           made(none.Pad(tensor.PadConstant, nil, width, tensor.Padding{})),
			"Pad":                   made(some.Pad(tensor.PadConstant, nil, width, tensor.Padding{Before: -2, After: 4})),
			"Concat with none":      made(tensor.Concat(0, none, some, none)),
			"Clone":                 made(some.Clone()),
			"Tile":                  made(some.Tile(2, 1)),
			"PermuteInPlace":        made(made(some.Clone()).PermuteInPlace(1, 0)),
		} {
			zero := ndarray.Each(x.Shape(), func([]int64) string { return ndarray.Zero(x.DType()) })
			require.NoError(t, zero.Compare(x.DType(), x), "%s of %v", what, of)
		}
	}
}
