// Package benchtest runs the cases of package bench as Go benchmarks:
//
//	func BenchmarkCases(b *testing.B) { benchtest.Run(b, open) }
//
// Names are as "Cases/case=a-transpose/width=32", so that benchstat can group and
// filter by layout and width:
//
//	go test -bench 'Cases/case=a-' -count 6 ./cpu > new.txt
//	benchstat -col .file -row /case,/width old.txt new.txt
//
// They are for who changes a device: a case alone, and what it is compared with
// timed in turn with it, so that a machine that is not quiet slows both. Nothing
// is verified: tests are for that, and restride bench.
package benchtest

import (
	"testing"
	"time"

	"github.com/restride/restride/bench"
	"github.com/restride/restride/device"
)

// Run reports for each case, beside the time, how fast it is in terms of the
// plainest copy of as many bytes: on processors a memcpy by two goroutines on huge
// pages, elsewhere the device's own copy of one dense buffer. It is the best time
// of each, since neither can be faster than it is but for the neighbours. Sizes
// are bench.Reference's.
func Run(b *testing.B, open func(testing.TB) device.Device) {
	for _, c := range bench.Cases() {
		b.Run(bench.BenchmarkName(c.Name), func(b *testing.B) { run(b, c, open(b), bench.Reference) })
	}
}

func run(b *testing.B, c bench.Case, dev device.Device, size int64) {
	ok := func(err error) {
		if err != nil {
			b.Helper()
			b.Fatal(err)
		}
	}
	defer func() { ok(dev.Close()) }()
	q, err := dev.NewQueue()
	ok(err)
	at, err := c.At(size)
	ok(err)
	o, err := bench.NewOperands(dev, at)
	ok(err)
	bytes, err := bench.LogicalBytes(at)
	ok(err)
	zero := func(buffer device.Buffer) { // memory that was never written is not there
		ok(q.Fill(bench.Dense(buffer), []byte{0}))
	}
	for _, buffer := range o.Buffers() {
		zero(buffer)
	}
	ok(o.DrawIndices(q, 1))

	var plain func()
	if half := bytes / 2; dev.Info().Kind == device.CPU {
		m, err := bench.NewMemcpy(half)
		ok(err)
		defer func() { ok(m.Close()) }()
		plain = func() { m.Run(0) }
	} else {
		var xy [2]device.Operand
		for i := range xy {
			buffer, err := dev.Alloc(half)
			ok(err)
			zero(buffer)
			xy[i] = bench.Dense(buffer)
		}
		plain = func() {
			ok(q.Copy(xy[0], xy[1]))
			ok(q.Wait())
		}
	}
	ours := func() {
		ok(o.Run(q))
		ok(q.Wait())
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
