package indexing_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/indexing"
	"github.com/restride/restride/layout"
)

func TestReach(t *testing.T) {
	most := int64(math.MaxInt64)
	for _, c := range []struct {
		dims, strides []int64
		offset        int64
		by            []layout.Index
		lo, hi        int64
		ok            bool
	}{
		{nil, nil, 7, nil, 7, 7, true},
		{[]int64{3}, []int64{2}, 7, nil, 7, 11, true},
		{[]int64{3}, []int64{2}, 7, []layout.Index{{Extent: 4, Stride: 10}}, 7, 41, true},
		{[]int64{3}, []int64{2}, 7, []layout.Index{{Extent: 4, Stride: 0}, {Extent: 1, Stride: most}}, 7, 11, true},
		{nil, nil, 30, []layout.Index{{Extent: 4, Stride: -10}}, 0, 30, true},
		{nil, nil, 29, []layout.Index{{Extent: 4, Stride: -10}}, 0, 0, false},
		{nil, nil, 0, []layout.Index{{Extent: 0, Stride: 1}}, 0, 0, false},
		{nil, nil, 0, []layout.Index{{Extent: -1, Stride: 1}}, 0, 0, false},
		{nil, nil, 0, []layout.Index{{Extent: 2, Stride: most}}, 0, most, true},
		{nil, nil, 1, []layout.Index{{Extent: 2, Stride: most}}, 0, 0, false},
		{nil, nil, 0, []layout.Index{{Extent: 3, Stride: most}}, 0, 0, false},
		{nil, nil, most, []layout.Index{{Extent: 2, Stride: -most}}, 0, most, true},
		{nil, nil, most, []layout.Index{{Extent: 2, Stride: math.MinInt64}}, 0, 0, false},
		{nil, nil, most, []layout.Index{{Extent: most, Stride: math.MinInt64}}, 0, 0, false},
		{nil, nil, 5, []layout.Index{{Extent: most, Stride: most}}, 0, 0, false},
		{[]int64{0}, []int64{1}, 7, nil, 0, 0, false},
	} {
		l, err := layout.Strided(c.dims, c.strides, c.offset)
		require.NoError(t, err)
		lo, hi, ok := indexing.Reach(&l, c.by)
		require.Equal(t, c.ok, ok, "%+v", c)
		if ok {
			require.Equal(t, [2]int64{c.lo, c.hi}, [2]int64{lo, hi}, "%+v", c)
		}
	}
}
