package nest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/nest"
	"github.com/restride/restride/layout"
)

func must(l layout.Layout, err error) layout.Layout {
	if err != nil {
		panic(err)
	}
	return l
}

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
		d, s := c.dst, c.src
		layout.Simplify(&d, &s)
		require.Equal(t, c.want, nest.ClassOf(nest.Append(nil, &d, &s), 1, 1).String(), "%v to %v", c.src, c.dst)
	}
}

// TestNear: the innermost of axes that are as near as others counts, and repeated elements are near
// only among the outer axes.
func TestNear(t *testing.T) {
	for _, c := range []struct {
		axes []nest.Axis
		want nest.Near
	}{
		{[]nest.Axis{{5, 1, 1}}, nest.Near{Dense: true, Nearest: 0, Outer: -1, Unit: -1}},
		{[]nest.Axis{{3, 5, -1}, {5, 1, 3}}, nest.Near{Dense: true, Nearest: 0, Outer: 0, Unit: 0}},
		{[]nest.Axis{{3, 10, 0}, {5, 2, 7}}, nest.Near{Nearest: 1, Outer: 0, Unit: -1}},
		{[]nest.Axis{{3, 10, 7}, {5, 2, 0}}, nest.Near{Nearest: 0, Outer: 0, Unit: -1}},
		{[]nest.Axis{{2, 20, 4}, {2, 10, -4}, {5, 2, 4}}, nest.Near{Nearest: 2, Outer: 1, Unit: -1}},
	} {
		require.Equal(t, c.want, nest.NearOf(c.axes, 1, 1), "%v", c.axes)
	}
}
