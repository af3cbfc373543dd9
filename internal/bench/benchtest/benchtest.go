// Package benchtest runs the cases of package bench as Go benchmarks:
//
//	func BenchmarkCases(b *testing.B) { benchtest.Run(b, open) }
//
// Names are like "Cases/case=a-transpose/width=32", so that benchstat can group and filter by
// layout and width:
//
//	go test -bench 'Cases/case=a-' -count 6 ./cpu > new.txt
//	benchstat -col .file -row /case,/width old.txt new.txt
//
// They are for development of a device: each iteration times a case and then its yardstick, so
// that a noisy machine slows both. Nothing is verified; tests and restride bench do that.
package benchtest

import (
	"testing"
	"time"

	"github.com/restride/restride/bench"
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/bench/cases"
	"github.com/restride/restride/internal/bench/report"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/layout"
)

// Run reports for each case, at cases.Reference, the time and, as xmemcpy, its speed
// relative to a plain copy of as many bytes: on processors bench.Memcpy, elsewhere the device's
// own dense copy. Both speeds are the best iteration's, since other iterations differ only by
// noise.
func Run(b *testing.B, open func(testing.TB) device.Device) {
	for _, c := range cases.All() {
		b.Run(report.BenchmarkName(c.Name), func(b *testing.B) { run(b, c, open(b), cases.Reference) })
	}
}

func run(b *testing.B, c cases.Case, dev device.Device, size int64) {
	ok := func(err error) {
		if err != nil {
			b.Helper()
			b.Fatal(err)
		}
	}
	defer func() { ok(dev.Close()) }()
	q, err := dev.NewQueue()
	ok(err)
	ready := func(o oracle.Case) func() { // on memory with pages: unwritten memory has none
		x, err := bench.NewOperands(dev, o)
		ok(err)
		ok(x.Fill(q, make([]byte, x.Noise()), 1))
		return func() {
			ok(x.Run(q))
			ok(q.Wait())
		}
	}
	at, err := c.At(size)
	ok(err)
	bytes, err := cases.LogicalBytes(at)
	ok(err)
	ours := ready(at)
	var plain func()
	if dev.Info().Kind == device.CPU {
		run, free, err := bench.Memcpy(bytes/2, 2)
		ok(err)
		defer func() { ok(free()) }()
		plain = func() { run(0) }
	} else {
		dense, err := layout.Contiguous(bytes / 2)
		ok(err)
		copied := oracle.Case{Op: oracle.OpCopy, DstType: layout.Uint8, SrcType: layout.Uint8, Dst: dense, Src: dense}
		plain = ready(copied)
	}
	ours() // compiles
	plain()
	b.SetBytes(bytes)
	best, reference := time.Duration(1<<62), time.Duration(1<<62)
	for b.Loop() {
		start := time.Now()
		ours()
		best = min(best, time.Since(start))
		b.StopTimer()
		start = time.Now()
		plain()
		reference = min(reference, time.Since(start))
		b.StartTimer()
	}
	b.ReportMetric(float64(reference)/float64(best), "xmemcpy")
}
