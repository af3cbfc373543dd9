package layout_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
)

// Each bit of an element is where it was, whatever the widths.
func TestBitcastKeepsEveryBit(t *testing.T) {
	r := random(t)
	widths := []int{2, 4, 8, 16, 32, 64, 128}
	for range 300 {
		l := randomLayout(r, randomShape(r, r.IntN(5), 4), 40)
		from, to := widths[r.IntN(len(widths))], widths[r.IntN(len(widths))]
		if from < to {
			from, to = to, from
		}
		n := int64(from / to)
		narrow := must(l.Bitcast(from, to))
		if n == 1 {
			require.True(t, narrow.Equal(&l))
			continue
		}
		require.Equal(t, append(l.Shape(), n), narrow.Shape())
		for part := range n {
			at, wide := tableOf(must(narrow.Slice(-1, part, part+1, 1))), tableOf(l)
			for i, p := range wide.at {
				require.Equal(t, p*n+part, at.at[i])
			}
		}
		back := must(narrow.Bitcast(to, from))
		require.Equal(t, tableOf(l), tableOf(back))
	}
}

func TestBitcastRefuses(t *testing.T) {
	l := must(layout.Contiguous(2, 8))
	for _, c := range []struct {
		l        layout.Layout
		from, to int
		says     string
	}{
		{l, 3, 8, "[2,8]: elements of 3 and of 8 bits; one must be a multiple of the other"},
		{l, 0, 8, "elements of 0 and of 8 bits"},
		{l, 4, 8, "[2,8]: the last axis must have extent 2, the parts of a wider element"},
		{layout.Layout{}, 4, 8, "the last axis must have extent 2"},
		{must(layout.Strided([]int64{1}, []int64{1}, math.MaxInt64/2)), 8, 2, "a position overflows int64"},
		{must(layout.Strided([]int64{1 << 62}, []int64{0}, 0)), 8, 2, "the number of elements overflows int64"},
		{must(layout.Contiguous(make([]int64, layout.MaxRank)...)), 8, 2, "rank 65 exceeds the highest"},
	} {
		_, err := c.l.Bitcast(c.from, c.to)
		refused(t, err, "Bitcast", c.says)
	}
	for _, l := range []layout.Layout{
		must(layout.Strided([]int64{2, 8}, []int64{8, 1}, 4)),
		must(layout.Strided([]int64{2, 8}, []int64{12, 1}, 0)),
		must(layout.Strided([]int64{2, 8}, []int64{1, 2}, 0)),
		must(layout.Strided([]int64{2, 8}, []int64{8, 0}, 0)),
	} {
		_, err := l.Bitcast(4, 32)
		require.ErrorIs(t, err, layout.ErrUnsupported)
		require.ErrorContains(t, err, "a contiguous copy has them")
	}
}
