package tensor_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// TestOddOffset takes runs of elements below a byte that start and end at every
// place in a byte through all that copies or transfers.
func TestOddOffset(t *testing.T) {
	for name, open := range streams {
		for _, of := range []layout.DType{layout.Int4, layout.Uint4, layout.Float4E2M1, layout.Int2, layout.Uint2} {
			t.Run(name+"/"+of.String(), func(t *testing.T) {
				s, cpu2, fake2 := open(t), openCPU(t), openFake(t)
				x, a := fill(t, s, of, 1, 29)
				for from := range int64(9) {
					for _, to := range []int64{from, from + 1, from + 2, from + 5, 28, 29} {
						says := fmt.Sprint(from, ":", to)
						v := keep(t)(x.Slice(0, from, to, 1))
						want := sliced(a, 0, from, to, 1)
						require.Equal(t, tensor.View, v.Verdict().Kind)
						requireIs(t, want, v, says)

						c := keep(t)(v.Contiguous())
						require.Equal(t, tensor.View, c.Verdict().Kind, "one run is contiguous at any offset")
						requireIs(t, want, c, says)
						d := keep(t)(v.Clone())
						require.Zero(t, new(d.Layout()).Offset())
						requireIs(t, want, d, says)
						requireIs(t, want, keep(t)(v.To(cpu2)), says)
						requireIs(t, want, keep(t)(v.To(fake2)), says)
						requireIs(t, want, keep(t)(v.To(s)), says)
						back := keep(t)(v.Slice(0, -1, -100, -1))
						requireIs(t, sliced(want, 0, -1, -100, -1), keep(t)(back.To(cpu2)), says)
					}
				}
			})
		}
	}
}

// TestOddOffsetReadCopies: a run that does not start on a byte is aligned on
// the device before it is read, and one that does is not.
func TestOddOffsetReadCopies(t *testing.T) {
	s := openCPU(t)
	x, _ := fill(t, s, layout.Int4, 1, 16)
	for from, copies := range map[int64]int64{3: 1, 4: 0} {
		v := keep(t)(x.Slice(0, from, 16, 1))
		before := s.Device().Stats()
		_, err := v.Bytes()
		require.NoError(t, err)
		_, launches, transfers := moved(before, s.Device().Stats())
		require.Equal(t, copies, launches)
		require.EqualValues(t, 1, transfers)
	}
}
