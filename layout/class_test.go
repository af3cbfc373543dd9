package layout_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
)

func TestClassOf(t *testing.T) {
	dense := func(dims ...int64) layout.Layout { return must(layout.Contiguous(dims...)) }
	turned := func(rows, columns int64) layout.Layout { return must(dense(columns, rows).Permute(1, 0)) }
	for _, c := range []struct {
		dst, src layout.Layout
		want     string
	}{
		{dense(), dense(), "dense"},
		{dense(4, 5), dense(4, 5), "dense"},
		{turned(4, 5), turned(4, 5), "dense"},
		{dense(4, 5), must(dense(4, 6).Slice(1, 0, 5, 1)), "rows"},
		{must(dense(4, 6).Slice(1, 0, 5, 1)), dense(4, 5), "rows"},
		{dense(4, 5), must(dense(4, 5).Slice(0, -1, -9, -1)), "rows"},
		{dense(24, 24), turned(24, 24), "transpose"},
		{turned(24, 100), dense(24, 100), "transpose"},
		{dense(23, 100), turned(23, 100), "shuffle"},
		{dense(100, 23), must(turned(100, 23).Slice(0, -1, -101, -1)), "shuffle"},
		{dense(100), must(dense(100).Slice(0, -1, -101, -1)), "reversed"},
		{dense(100), must(dense(200).Slice(0, 0, 200, 2)), "strided"},
		{dense(100), must(dense(200).Slice(0, -1, -201, -2)), "strided"},
		{dense(4, 5), must(dense(4, 1).Expand(4, 5)), "broadcast"},
		{dense(4, 5), must(dense(1, 5).Expand(4, 5)), "broadcast"},
		{must(dense(200).Slice(0, 0, 200, 2)), dense(100), "general"},
		{dense(30, 40), must(turned(60, 80).SliceAxes([]int{0, 1}, []int64{0, 0}, []int64{60, 80}, []int64{2, 2})), "general"},
	} {
		d, s := simplified(c.dst, c.src)
		require.Equal(t, c.want, layout.ClassOf(&d, &s).String(), "%v to %v", c.src, c.dst)
	}
}
