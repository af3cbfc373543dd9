package backends_test

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/stretchr/testify/require"

	restride "github.com/restride/restride/adapters/gomlx/backends"
)

var figures = flag.String("figures", "", "a file to add a table to: the times of programs here, and with the Go backend")

// unchecked returns a backend whose tensors are not recorded: that is slow.
func unchecked(t testing.TB) *restride.Backend {
	b, err := restride.New("cpu")
	require.NoError(t, err)
	t.Cleanup(b.Finalize)
	return b
}

// once returns a function that runs a step of a program: of training, or where the Go backend
// cannot train it, of inference.
func once(t testing.TB, b backends.Backend, p program, size int) func() {
	if !p.alone {
		r := newTraining(t, b, p, size)
		return func() { r.step(t) }
	}
	ctx := context.New().Checked(false)
	require.NoError(t, ctx.SetRNGStateFromSeed(7))
	exec := context.MustNewExec(b, ctx, func(ctx *context.Context, x *graph.Node) *graph.Node { return p.model(ctx, x, size) })
	x := p.inputs(size)
	return func() {
		out, err := exec.Exec(x)
		require.NoError(t, err)
		tensors.MustConstFlatData(out[0], func([]float32) {})
		require.NoError(t, out[0].FinalizeAll())
	}
}

// beside measures both in turn, and returns the medians of the times and of the ratios.
func beside(here, there func()) (time.Duration, time.Duration, float64) {
	runs := [2]func(){here, there}
	var times [2][]time.Duration
	var ratios []float64
	for i := range 40 {
		for _, k := range [2]int{i % 2, 1 - i%2} {
			began := time.Now()
			runs[k]()
			times[k] = append(times[k], time.Since(began))
		}
		if i < 5 { // compilation, and warm caches
			times = [2][]time.Duration{}
			continue
		}
		ratios = append(ratios, float64(times[1][len(times[1])-1])/float64(times[0][len(times[0])-1]))
	}
	middle := func(d []time.Duration) time.Duration { slices.Sort(d); return d[len(d)/2] }
	slices.Sort(ratios)
	return middle(times[0]), middle(times[1]), ratios[len(ratios)/2]
}

// TestFigures adds the table of programs to bench/results/gomlx.md:
//
//	go test -run Figures ./backends -figures ../../../bench/results/gomlx.md
func TestFigures(t *testing.T) {
	if *figures == "" {
		t.Skip("-figures names no file")
	}
	b, g := unchecked(t), reference(t)
	var text strings.Builder
	fmt.Fprintf(&text, `
## Programs

A step of training, or of inference where the Go backend cannot train the program, with GoMLX v0.26.0: the time with its Go backend divided by that with adapters/gomlx/backends on the cpu device, and in brackets the adapter's time. Medians of 35 steps of each in turn. Most of the gain of small programs is not layout: the adapter has the Go backend compute them in one goroutine (its option `+"`ops_sequential`"+`), which the Go backend alone can be told, too. %s, %d processors, %s, load average %s before. By `+"`go test -run Figures ./backends -figures FILE`"+` in adapters/gomlx.

| program | small | larger |
|---|---|---|
`, b.DeviceDescription(0), runtime.NumCPU(), time.Now().UTC().Format(time.DateOnly), load())
	for _, p := range programs {
		name := p.name
		if p.alone {
			name += ", inference"
		}
		text.WriteString("| " + name + " |")
		for _, size := range []int{1, 16} {
			here, there, ratio := beside(once(t, b, p, size), once(t, g, p, size))
			fmt.Fprintf(&text, " %.2f (%v) |", ratio, here.Round(10*time.Microsecond))
			t.Logf("%s, %d: %v, %v, %.2f", name, size, here, there, ratio)
		}
		text.WriteString("\n")
	}
	f, err := os.OpenFile(*figures, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	require.NoError(t, err)
	_, err = f.WriteString(text.String())
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

func load() string {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	one, _, _ := strings.Cut(string(raw), " ")
	return one
}
