package gorgonia_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/layout"
	"github.com/stretchr/testify/require"
)

var figures = flag.String("figures", "", "a file for the figures of TestFigures")

// TestFigures writes the page bench/results/gorgonia.md:
//
//	go test -run Figures . -figures ../../bench/results/gorgonia.md
func TestFigures(t *testing.T) {
	if *figures == "" {
		t.Skip("-figures names no file")
	}
	dev, err := cpu.Open()
	require.NoError(t, err)
	defer dev.Close()
	load, _ := os.ReadFile("/proc/loadavg")
	before, _, _ := strings.Cut(string(load), " ")
	var page bytes.Buffer
	fmt.Fprintf(&page, `# gorgonia.org/tensor on Restride, beside its own engine

The time of a call with StdEng divided by that with engine Host of [adapters/gorgonia](../../adapters/gorgonia/README.md), by bytes of the float32 tensor that it is called with; in brackets Host's time. Results are of memory that Go has set to zero, with both. Medians of %d passes in turn. %s, %d processors, %s, load %s before. By `+"`go test -run Figures . -figures FILE`"+` in adapters/gorgonia.

`, passes, dev.Info().Name, runtime.GOMAXPROCS(0), time.Now().Format(time.DateOnly), before)
	row := func(cells ...string) { fmt.Fprintf(&page, "| %s |\n", strings.Join(cells, " | ")) }
	head := []string{""}
	for _, size := range measuredSizes {
		head = append(head, size.name)
	}
	row(head...)
	row(slices.Repeat([]string{"---"}, len(head))...)
	for _, m := range measured {
		cells := []string{m.name}
		for _, size := range measuredSizes {
			var runs []func() error
			for _, c := range contenders {
				runs = append(runs, m.prepare(t, c, filled(t, c.engine, size.shape...)))
			}
			cells = append(cells, compared(t, runs))
		}
		row(cells...)
	}
	fmt.Fprintf(&page, "\nThe weights of Llama's queries, [%d, %d] of %d heads: `Repack.Bytes` of `Rotary`, and Reshape, T, Reshape and Transpose of gorgonia's, which leads bfloat16 over float32:\n\n", rows, columns, heads)
	row("", "")
	row("---", "---")
	for _, of := range []layout.DType{layout.Float32, layout.BFloat16} {
		row(of.String(), compared(t, []func() error{contenders[0].repack(t, of), contenders[1].repack(t, of)}))
	}
	require.NoError(t, os.WriteFile(*figures, page.Bytes(), 0o644))
}

const passes = 7

// compared runs two calls in turn, and returns the speedup of the second one.
func compared(t *testing.T, runs []func() error) string {
	var ratios []float64
	var times []time.Duration
	for range passes {
		first, second := timed(t, runs[0]), timed(t, runs[1])
		ratios, times = append(ratios, float64(first)/float64(second)), append(times, second)
	}
	slices.Sort(ratios)
	slices.Sort(times)
	middle := times[passes/2]
	return fmt.Sprintf("%.3g (%v)", ratios[passes/2], middle.Round(middle/200+1))
}

// timed is the time of a call, averaged over as many as last 10 ms.
func timed(t *testing.T, run func() error) time.Duration {
	require.NoError(t, run()) // not counted
	begun, n := time.Now(), 0
	for time.Since(begun) < 10*time.Millisecond {
		require.NoError(t, run())
		n++
	}
	return time.Since(begun) / time.Duration(n)
}
