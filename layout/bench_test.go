package layout_test

import (
	"fmt"
	"testing"

	"github.com/restride/restride/layout"
)

var sink layout.Layout

// figures runs a view operation at rank 4 and at rank 8, on a permuted layout
// of extents 2 whose second axis has extent 1.
func figures(b *testing.B, op4, op8 func(l layout.Layout) layout.Layout) {
	for rank, op := range map[int]func(layout.Layout) layout.Layout{4: op4, 8: op8} {
		l := benchLayout(rank)
		b.Run(fmt.Sprintf("rank%d", rank), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sink = op(l)
			}
		})
	}
}

func benchLayout(rank int) layout.Layout {
	dims := []int64{2, 1, 2, 2, 2, 2, 2, 2}[:rank]
	perm := []int{0, 1, 3, 2, 4, 5, 7, 6}[:rank]
	return must(must(layout.Contiguous(dims...)).Permute(perm...))
}

func BenchmarkContiguous(b *testing.B) {
	figures(b, func(layout.Layout) layout.Layout {
		l, _ := layout.Contiguous(2, 3, 4, 5)
		return l
	}, func(layout.Layout) layout.Layout {
		l, _ := layout.Contiguous(2, 3, 4, 5, 2, 3, 4, 5)
		return l
	})
}

func BenchmarkPermute(b *testing.B) {
	figures(b, func(l layout.Layout) layout.Layout {
		l, _ = l.Permute(0, 2, 1, 3)
		return l
	}, func(l layout.Layout) layout.Layout {
		l, _ = l.Permute(7, 0, 6, 1, 5, 2, 4, 3)
		return l
	})
}

func BenchmarkReverse(b *testing.B) {
	figures(b, layout.Layout.Reverse, layout.Layout.Reverse)
}

func BenchmarkSlice(b *testing.B) {
	op := func(l layout.Layout) layout.Layout {
		l, _ = l.Slice(2, -1, -3, -1)
		return l
	}
	figures(b, op, op)
}

func BenchmarkExpand(b *testing.B) {
	figures(b, func(l layout.Layout) layout.Layout {
		l, _ = l.Expand(2, 9, 2, 2)
		return l
	}, func(l layout.Layout) layout.Layout {
		l, _ = l.Expand(2, 9, 2, 2, 2, 2, 2, 2)
		return l
	})
}

func BenchmarkSqueeze(b *testing.B) {
	op := func(l layout.Layout) layout.Layout {
		l, _ = l.Squeeze(1)
		return l
	}
	figures(b, op, op)
}

func BenchmarkSqueezeAll(b *testing.B) {
	op := func(l layout.Layout) layout.Layout {
		l, _ = l.Squeeze()
		return l
	}
	figures(b, op, op)
}

func BenchmarkUnsqueeze(b *testing.B) {
	figures(b, func(l layout.Layout) layout.Layout {
		l, _ = l.Unsqueeze(0, -1)
		return l
	}, func(l layout.Layout) layout.Layout {
		// Rank 4 to rank 8.
		l, _ = benchSmall.Unsqueeze(0, 2, 4, 6)
		return l
	})
}

var benchSmall = benchLayout(4)

func BenchmarkReshape(b *testing.B) {
	figures(b, func(l layout.Layout) layout.Layout {
		l, _ = l.Reshape(1, 2, 2, 2)
		return l
	}, func(l layout.Layout) layout.Layout {
		l, _ = l.Reshape(1, 2, 2, 2, 4, 2, 2, 2)
		return l
	})
}

func BenchmarkReshapeContiguous(b *testing.B) {
	four := must(layout.Contiguous(2, 3, 4, 5))
	eight := must(layout.Contiguous(2, 3, 4, 5, 2, 3, 4, 5))
	figures(b, func(layout.Layout) layout.Layout {
		l, _ := four.Reshape(6, 1, 10, 2)
		return l
	}, func(layout.Layout) layout.Layout {
		l, _ := eight.Reshape(6, 1, 10, 2, 6, 1, 10, 2)
		return l
	})
}

func BenchmarkFlatten(b *testing.B) {
	op := func(l layout.Layout) layout.Layout {
		l, _ = l.Flatten(2)
		return l
	}
	_ = op
	four := must(layout.Contiguous(2, 3, 4, 5))
	eight := must(layout.Contiguous(2, 3, 4, 5, 2, 3, 4, 5))
	figures(b, func(layout.Layout) layout.Layout { return op(four) },
		func(layout.Layout) layout.Layout { return op(eight) })
}

func BenchmarkCoalesce(b *testing.B) {
	figures(b, layout.Layout.Coalesce, layout.Layout.Coalesce)
}

func BenchmarkRebase(b *testing.B) {
	op := func(l layout.Layout) layout.Layout {
		l, _ = l.Rebase(7)
		return l
	}
	figures(b, op, op)
}

func BenchmarkSimplify(b *testing.B) {
	op := func(l layout.Layout) layout.Layout {
		d, _ := layout.Simplify(l, l)
		return d
	}
	figures(b, op, op)
}
