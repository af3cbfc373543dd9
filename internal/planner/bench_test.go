package planner_test

import (
	"fmt"
	"testing"

	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/layout"
)

// BenchmarkCache looks a known copy up: what a call costs before the driver is
// asked for anything.
func BenchmarkCache(b *testing.B) {
	c := planner.NewCache(planner.Target{}, 64, func([]byte) (int, error) { return 0, nil }, func(int) {})
	src := strided([]int64{8, 16, 512, 64}, []int64{512 * 16 * 64, 64, 16 * 64, 1}, 128)
	dst := like(src)
	b.ReportAllocs()
	for b.Loop() {
		e, err := c.Get(copying(dst, src, 32))
		if err != nil || e.Groups == 0 {
			b.Fatal(err)
		}
	}
}

// BenchmarkPlan plans copies afresh: what the first call with a shape costs.
func BenchmarkPlan(b *testing.B) {
	type plan struct {
		name string
		src  layout.Layout
		bits int
	}
	plans := []plan{
		{"dense", strided([]int64{1 << 20}, []int64{1}, 0), 8},
		{"rows", strided([]int64{4096, 8191}, []int64{8192, 1}, 3), 8},
		{"heads", strided([]int64{8, 16, 512, 64}, []int64{512 * 16 * 64, 64, 16 * 64, 1}, 128), 32},
		{"pixels", strided([]int64{64, 227, 227, 3}, []int64{3 * 227 * 227, 227, 1, 227 * 227}, 0), 8},
		{"channels", strided([]int64{64, 227, 3, 227}, []int64{3 * 227 * 227, 227 * 3, 1, 3}, 0), 8},
		{"six", strided([]int64{31, 20, 15, 3, 13, 5}, []int64{1, 31, 31 * 20, 31 * 20 * 15, 31 * 20 * 15 * 3, 31 * 20 * 15 * 3 * 13}, 0), 8},
		{"nine", strided([]int64{6, 5, 4, 3, 2, 3, 4, 5, 6}, []int64{1440, 7200, 12, 48, 1, 4, 36000, 144000, 240}, 0), 16},
	}
	for _, bits := range []int{2, 4, 8, 16, 32, 64} {
		for _, m := range [][3]int64{{1, 4096, 4096}, {1, 4095, 4097}, {100000, 33, 33}, {100000, 32, 32}, {100000, 9, 9}, {10000, 20, 577}, {100, 577, 577}} {
			src := strided([]int64{m[0], m[2], m[1]}, []int64{m[1] * m[2], 1, m[2]}, 0)
			plans = append(plans, plan{fmt.Sprintf("%dx%dx%d/%d", m[0], m[1], m[2], bits), src, bits})
		}
	}
	for _, c := range plans {
		b.Run(c.name, func(b *testing.B) {
			dst := like(c.src)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := planner.Plan(copying(dst, c.src, c.bits), planner.Target{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
