package layout_test

import (
	"testing"

	"github.com/restride/restride/layout"
	"github.com/stretchr/testify/require"
)

// Nothing that succeeds at rank 8 or below may allocate.
func TestViewsDoNotAllocate(t *testing.T) {
	var (
		out  layout.Layout
		err  error
		n    int64
		ok   bool
		room [8]int64
		four = must(layout.Contiguous(2, 1, 3, 4))
		most = must(layout.Contiguous(2, 1, 3, 4, 5, 1, 7, 8))
		back = most.Reverse()
		left = must(four.Slice(3, 0, 2, 1))
		rest = must(four.Slice(3, 2, 4, 1))
		at   = [3]int{0, -1, 3}
		from = [3]int64{0, 1, -2}
		to   = [3]int64{2, -1, 9}
		in   = most.Shape()
		want = layout.Shape{0, -1, 3, 4, 5, 1, 7, 8}
	)
	for name, f := range map[string]func(){
		"Contiguous":      func() { out, err = layout.Contiguous(2, 3, 4, 5, 6, 7, 8, 9) },
		"Strided":         func() { out, err = layout.Strided(in, []int64{1, -2, 3, 4, 5, 6, 7, 8}, 2) },
		"Permute":         func() { out, err = most.Permute(7, -2, 5, 4, 3, 2, 1, 0) },
		"Reverse":         func() { out = most.Reverse() },
		"Slice":           func() { out, err = most.Slice(-1, 6, 0, -2) },
		"Slice to empty":  func() { out, err = most.Slice(0, 1, 1, 1) },
		"SliceAxes":       func() { out, err = most.SliceAxes(at[:], from[:], to[:], nil) },
		"Expand":          func() { out, err = most.Expand(2, 9, 3, 4, 5, 9, 7, 8) },
		"Expand 4 to 8":   func() { out, err = four.Expand(5, 6, 7, 8, 2, 9, 3, 4) },
		"Squeeze":         func() { out, err = most.Squeeze(1, -3) },
		"Squeeze all":     func() { out, err = most.Squeeze() },
		"Unsqueeze":       func() { out, err = four.Unsqueeze(0, 2, -1, 4) },
		"Reshape":         func() { out, err = most.Reshape(6, 4, 5, 7, 2, 2, 2, 1) },
		"Reshape a view":  func() { out, err = back.Reshape(2, 2, 2, 7, 5, 4, 3, 2) },
		"Reshape empty":   func() { out, err = layout.Contiguous(0, 3); out, err = out.Reshape(3, 0, 1) },
		"Flatten":         func() { out, err = most.Flatten(-3) },
		"Rebase":          func() { out, err = most.Rebase(77) },
		"Coalesce":        func() { out = most.Coalesce() },
		"Coalesce a view": func() { out = back.Coalesce() },
		"Simplify":        func() { out, _ = simplified(back, most) },
		"Widen":           func() { out, _, _ = widened(most, most, 4, 128) },
		"Overlaps":        func() { ok = left.Overlaps(&rest) },
		"SelfOverlaps":    func() { ok = back.SelfOverlaps() },
		"IsContiguous":    func() { ok = most.IsContiguous() },
		"IsBroadcast":     func() { ok = most.IsBroadcast() },
		"Fits":            func() { ok = most.Fits(99) },
		"Extent":          func() { n, _, ok = most.Extent() },
		"At":              func() { n = most.At(1, 0, 2, 3, 4, 0, 6, 7) },
		"HasShape":        func() { ok = most.HasShape(2, 1, 3, 4, 5, 1, 7, 8) },
		"Equal":           func() { ok = most.Equal(&back) && most.SameShape(&back) },
		"AppendDims":      func() { n = int64(len(most.AppendDims(room[:0]))) },
		"Count":           func() { n, err = in.Count() },
		"Bytes":           func() { n, err = in.Bytes(layout.Int4) },
		"InferReshape":    func() { _, err = layout.InferReshape(room[:0], "Reshape", in, want, true) },
		"FlattenShape":    func() { n, _, err = layout.FlattenShape("Flatten", in, 3) },
	} {
		t.Run(name, func(t *testing.T) {
			f()
			require.NoError(t, err)
			require.Zero(t, testing.AllocsPerRun(100, f))
		})
	}
	_, _, _ = out, n, ok
}
