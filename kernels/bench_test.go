package kernels_test

import (
	"testing"

	"github.com/restride/restride/kernels"
	"github.com/restride/restride/layout"
)

// BenchmarkCache looks a known copy up: what a call costs before the driver is
// asked for anything.
func BenchmarkCache(b *testing.B) {
	c := kernels.NewCache(kernels.Target{}, 64, func([]byte) (int, error) { return 0, nil }, func(int) {})
	src := strided([]int64{8, 16, 512, 64}, []int64{512 * 16 * 64, 64, 16 * 64, 1}, 128)
	dst := like(src)
	b.ReportAllocs()
	for b.Loop() {
		e, err := c.Copy(&dst, &src, 32)
		if err != nil || e.Groups == 0 {
			b.Fatal(err)
		}
	}
}

// BenchmarkPlan plans copies afresh: attention's heads, pixels, and permutations of six
// and nine short axes.
func BenchmarkPlan(b *testing.B) {
	heads := strided([]int64{8, 16, 512, 64}, []int64{512 * 16 * 64, 64, 16 * 64, 1}, 128)
	for _, c := range []struct {
		name string
		src  layout.Layout
		bits int
	}{
		{"heads", heads, 32},
		{"pixels", strided([]int64{64, 227, 227, 3}, []int64{3 * 227 * 227, 227, 1, 227 * 227}, 0), 8},
		{"six", strided([]int64{31, 20, 15, 3, 13, 5}, []int64{1, 31, 31 * 20, 31 * 20 * 15, 31 * 20 * 15 * 3, 31 * 20 * 15 * 3 * 13}, 0), 8},
		{"nine", strided([]int64{6, 5, 4, 3, 2, 3, 4, 5, 6}, []int64{1440, 7200, 12, 48, 1, 4, 36000, 144000, 240}, 0), 16},
	} {
		b.Run(c.name, func(b *testing.B) {
			dst := like(c.src)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := kernels.PlanCopy(dst, c.src, c.bits, kernels.Target{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
