package cpu_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/bench"
	"github.com/restride/restride/cpu"
	"github.com/restride/restride/internal/bench/cases"
	"github.com/restride/restride/internal/bench/report"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/internal/simd"
)

// cyclesBytes is about what a case of BenchmarkCycles writes: with its source in the
// second cache of a core.
const cyclesBytes = 256 << 10

// BenchmarkCycles reports the cycles that the cases of package bench take for each byte
// written, at every level of this processor, by one goroutine and in its caches: what
// instructions cost, whatever the memory. Each figure is of the best call, so that it is
// good on a machine that does other work, too:
//
//	go test -run '^$' -bench Cycles -benchtime 30ms ./cpu
func BenchmarkCycles(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, l := range simd.Levels() {
		for _, c := range cases.All() {
			b.Run("level="+l.String()+"/"+report.BenchmarkName(c.Name), func(b *testing.B) {
				at, written, err := sized(c)
				require.NoError(b, err)
				cpu.Force(b, l)
				benchmarkCycles(b, at, written)
			})
		}
	}
}

func benchmarkCycles(b *testing.B, at oracle.Case, written int64) {
	dev, err := cpu.Open()
	require.NoError(b, err)
	defer dev.Close()
	q, err := dev.NewQueue()
	require.NoError(b, err)
	x, err := bench.NewOperands(dev, at)
	require.NoError(b, err)
	noise := make([]byte, x.Noise())
	for i := range noise {
		if noise[i] = byte(i * i * 0x9e3779b1 >> 20); i%2 == 1 {
			noise[i] = noise[i]&0x81 | 0x3e // of floats the sign and the exponent
		}
	}
	require.NoError(b, x.Fill(q, noise, 1))
	best, cycle := time.Hour, time.Hour
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		if err := x.Run(q); err != nil {
			b.Fatal(err)
		}
		best = min(best, time.Since(start))
		if i%8 == 0 {
			start = time.Now()
			multiply(cycleSteps)
			cycle = min(cycle, time.Since(start))
		}
	}
	cycles := float64(best) / float64(cycle) * cycleSteps * 3
	b.ReportMetric(cycles/float64(written), "cycles/B")
	b.ReportMetric(3*cycleSteps/float64(cycle), "GHz")
}

// sized scales a case to write about cyclesBytes, and returns what it writes.
func sized(c cases.Case) (at oracle.Case, written int64, err error) {
	size := int64(cyclesBytes)
	for range 2 {
		if at, err = c.At(size); err != nil {
			return at, 0, err
		}
		if written, err = at.Dst.Shape().Bytes(at.DstType); err != nil || written > cyclesBytes/2 {
			break
		}
		size = size * cyclesBytes / written
	}
	return at, written, err
}

const cycleSteps = 1 << 10

// multiply takes 3 cycles a step on today's processors of 64 bits: each needs what the
// one before gave.
func multiply(steps int) {
	x := product
	for range steps {
		x *= 0x9e3779b97f4a7c15
	}
	product = x
}

var product uint64 = 1
