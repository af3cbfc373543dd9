package kernels_test

import (
	"testing"

	"github.com/restride/restride/kernels"
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

// BenchmarkPlan plans a copy afresh.
func BenchmarkPlan(b *testing.B) {
	src := strided([]int64{8, 16, 512, 64}, []int64{512 * 16 * 64, 64, 16 * 64, 1}, 128)
	dst := like(src)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := kernels.PlanCopy(dst, src, 32, kernels.Target{}); err != nil {
			b.Fatal(err)
		}
	}
}
