package layout_test

import (
	"testing"

	"github.com/restride/restride/layout"
)

// The loops are written out: a call through a function value would cost as much
// as the view.

var sink layout.Layout

// benchLayout is [2,1,3,4] or [2,1,3,4,5,6,7,8], with two of the inner axes
// swapped at rank 8.
func benchLayout(rank int) layout.Layout {
	if rank == 4 {
		return must(layout.Contiguous(2, 1, 3, 4))
	}
	return must(must(layout.Contiguous(2, 1, 3, 4, 5, 6, 8, 7)).Permute(0, 1, 2, 3, 4, 5, 7, 6))
}

func BenchmarkContiguous(b *testing.B) {
	b.Run("rank4", func(b *testing.B) {
		var out layout.Layout
		b.ReportAllocs()
		for b.Loop() {
			out, _ = layout.Contiguous(2, 3, 4, 5)
		}
		sink = out
	})
	b.Run("rank8", func(b *testing.B) {
		var out layout.Layout
		b.ReportAllocs()
		for b.Loop() {
			out, _ = layout.Contiguous(2, 3, 4, 5, 2, 3, 4, 5)
		}
		sink = out
	})
}

func BenchmarkPermute(b *testing.B) {
	b.Run("rank4", func(b *testing.B) {
		l := benchLayout(4)
		var out layout.Layout
		b.ReportAllocs()
		for b.Loop() {
			out, _ = l.Permute(0, 2, 1, 3)
		}
		sink = out
	})
	b.Run("rank8", func(b *testing.B) {
		l := benchLayout(8)
		var out layout.Layout
		b.ReportAllocs()
		for b.Loop() {
			out, _ = l.Permute(7, 0, 6, 1, 5, 2, 4, 3)
		}
		sink = out
	})
}

func BenchmarkSlice(b *testing.B) {
	b.Run("rank4", func(b *testing.B) {
		l := benchLayout(4)
		var out layout.Layout
		b.ReportAllocs()
		for b.Loop() {
			out, _ = l.Slice(2, -1, -3, -1)
		}
		sink = out
	})
	b.Run("rank8", func(b *testing.B) {
		l := benchLayout(8)
		var out layout.Layout
		b.ReportAllocs()
		for b.Loop() {
			out, _ = l.Slice(2, -1, -3, -1)
		}
		sink = out
	})
}

func BenchmarkSliceStep3(b *testing.B) {
	b.Run("rank4", func(b *testing.B) {
		l := benchLayout(4)
		var out layout.Layout
		b.ReportAllocs()
		for b.Loop() {
			out, _ = l.Slice(2, 0, 5, 3)
		}
		sink = out
	})
	b.Run("rank8", func(b *testing.B) {
		l := benchLayout(8)
		var out layout.Layout
		b.ReportAllocs()
		for b.Loop() {
			out, _ = l.Slice(2, 0, 5, 3)
		}
		sink = out
	})
}

func BenchmarkExpand(b *testing.B) {
	b.Run("rank4", func(b *testing.B) {
		l := benchLayout(4)
		var out layout.Layout
		b.ReportAllocs()
		for b.Loop() {
			out, _ = l.Expand(2, 9, 3, 4)
		}
		sink = out
	})
	b.Run("rank8", func(b *testing.B) {
		l := benchLayout(8)
		var out layout.Layout
		b.ReportAllocs()
		for b.Loop() {
			out, _ = l.Expand(2, 9, 3, 4, 5, 6, 7, 8)
		}
		sink = out
	})
}

func BenchmarkSqueeze(b *testing.B) {
	b.Run("rank4", func(b *testing.B) {
		l := benchLayout(4)
		var out layout.Layout
		b.ReportAllocs()
		for b.Loop() {
			out, _ = l.Squeeze(1)
		}
		sink = out
	})
	b.Run("rank8", func(b *testing.B) {
		l := benchLayout(8)
		var out layout.Layout
		b.ReportAllocs()
		for b.Loop() {
			out, _ = l.Squeeze(1)
		}
		sink = out
	})
}

func BenchmarkSqueezeAll(b *testing.B) {
	b.Run("rank4", func(b *testing.B) {
		l := benchLayout(4)
		var out layout.Layout
		b.ReportAllocs()
		for b.Loop() {
			out, _ = l.Squeeze()
		}
		sink = out
	})
	b.Run("rank8", func(b *testing.B) {
		l := benchLayout(8)
		var out layout.Layout
		b.ReportAllocs()
		for b.Loop() {
			out, _ = l.Squeeze()
		}
		sink = out
	})
}

func BenchmarkUnsqueeze(b *testing.B) {
	b.Run("rank4", func(b *testing.B) {
		l := benchLayout(4)
		var out layout.Layout
		b.ReportAllocs()
		for b.Loop() {
			out, _ = l.Unsqueeze(0, -1)
		}
		sink = out
	})
	b.Run("rank8", func(b *testing.B) {
		l := benchLayout(4)
		var out layout.Layout
		b.ReportAllocs()
		for b.Loop() {
			out, _ = l.Unsqueeze(0, 2, 4, -1)
		}
		sink = out
	})
}

func BenchmarkReshape(b *testing.B) {
	b.Run("rank4", func(b *testing.B) {
		l := benchLayout(4)
		var out layout.Layout
		b.ReportAllocs()
		for b.Loop() {
			out, _ = l.Reshape(1, 2, 12, 1)
		}
		sink = out
	})
	b.Run("rank8", func(b *testing.B) {
		l := benchLayout(8)
		var out layout.Layout
		b.ReportAllocs()
		for b.Loop() {
			out, _ = l.Reshape(1, 2, 4, 3, 5, 6, 8, 7)
		}
		sink = out
	})
}

func BenchmarkFlatten(b *testing.B) {
	b.Run("rank4", func(b *testing.B) {
		l := benchLayout(4)
		var out layout.Layout
		b.ReportAllocs()
		for b.Loop() {
			out, _ = l.Flatten(1)
		}
		sink = out
	})
	b.Run("rank8", func(b *testing.B) {
		l := must(layout.Contiguous(2, 1, 3, 4, 5, 6, 7, 8))
		var out layout.Layout
		b.ReportAllocs()
		for b.Loop() {
			out, _ = l.Flatten(1)
		}
		sink = out
	})
}

func BenchmarkRebase(b *testing.B) {
	b.Run("rank4", func(b *testing.B) {
		l := benchLayout(4)
		var out layout.Layout
		b.ReportAllocs()
		for b.Loop() {
			out, _ = l.Rebase(7)
		}
		sink = out
	})
	b.Run("rank8", func(b *testing.B) {
		l := benchLayout(8)
		var out layout.Layout
		b.ReportAllocs()
		for b.Loop() {
			out, _ = l.Rebase(7)
		}
		sink = out
	})
}

func BenchmarkReverse(b *testing.B) {
	b.Run("rank4", func(b *testing.B) {
		l := benchLayout(4)
		var out layout.Layout
		b.ReportAllocs()
		for b.Loop() {
			out = l.Reverse()
		}
		sink = out
	})
	b.Run("rank8", func(b *testing.B) {
		l := benchLayout(8)
		var out layout.Layout
		b.ReportAllocs()
		for b.Loop() {
			out = l.Reverse()
		}
		sink = out
	})
}

func BenchmarkCoalesce(b *testing.B) {
	b.Run("rank4", func(b *testing.B) {
		l := benchLayout(4)
		var out layout.Layout
		b.ReportAllocs()
		for b.Loop() {
			out = l.Coalesce()
		}
		sink = out
	})
	b.Run("rank8", func(b *testing.B) {
		l := benchLayout(8)
		var out layout.Layout
		b.ReportAllocs()
		for b.Loop() {
			out = l.Coalesce()
		}
		sink = out
	})
}

func BenchmarkSimplify(b *testing.B) {
	for name, l := range map[string]layout.Layout{"rank4": benchLayout(4), "rank8": benchLayout(8)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				d, s := l, l
				layout.Simplify(&d, &s)
				sink = d
			}
		})
	}
}

func BenchmarkSelfOverlaps(b *testing.B) {
	for name, l := range map[string]layout.Layout{"rank4": benchLayout(4), "rank8": benchLayout(8)} {
		b.Run(name, func(b *testing.B) {
			l := l.Reverse()
			b.ReportAllocs()
			for b.Loop() {
				l.SelfOverlaps()
			}
		})
	}
}
