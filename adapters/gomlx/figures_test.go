package gomlx

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/gobackend"
	"github.com/gomlx/compute/shapes"
	"github.com/stretchr/testify/require"
)

var figures = flag.String("figures", "", "a file to write a table to: of what executions take here, and with the Go backend")

// measured is a computation of some size.
type measured struct {
	name  string
	of    func(n int) []shapes.Shape // results of n bytes
	build func(t testing.TB, n int, f compute.Function, in values) values
}

var cases = []measured{
	{"Transpose of [n, n], float32", func(n int) []shapes.Shape { return []shapes.Shape{square(n)} },
		func(t testing.TB, _ int, f compute.Function, in values) values {
			return values{must[compute.Value](t)(f.Transpose(in[0], 1, 0))}
		}},
	{"heads: [b, s, 8, 32] by (0, 2, 1, 3), float32", heads,
		func(t testing.TB, _ int, f compute.Function, in values) values {
			return values{must[compute.Value](t)(f.Transpose(in[0], 0, 2, 1, 3))}
		}},
	{"a chain: Transpose, Slice, Reverse, Transpose, Reshape", heads,
		func(t testing.TB, _ int, f compute.Function, in values) values {
			v := must[compute.Value](t)
			s := must[shapes.Shape](t)(f.Shape(in[0]))
			b, n := s.Dimensions[0], s.Dimensions[1]
			x := v(f.Transpose(in[0], 0, 2, 1, 3))
			x = v(f.Slice(x, []int{0, 0, 0, 0}, []int{b, 8, n, 32}, []int{1, 1, 2, 1}))
			x = v(f.Reverse(x, 2))
			x = v(f.Transpose(x, 0, 2, 1, 3))
			return values{v(f.Reshape(x, b*((n+1)/2), 256))}
		}},
	{"ConvertDType of bfloat16 to float32", func(n int) []shapes.Shape { return []shapes.Shape{shapes.Make(dtypes.BFloat16, n/256, 64)} },
		func(t testing.TB, _ int, f compute.Function, in values) values {
			return values{must[compute.Value](t)(f.ConvertDType(in[0], dtypes.Float32))}
		}},
	{"Gather of rows of 64, float32", func(n int) []shapes.Shape {
		return []shapes.Shape{float(n/256, 64), shapes.Make(dtypes.Int32, n/256, 1)}
	}, func(t testing.TB, _ int, f compute.Function, in values) values {
		return values{must[compute.Value](t)(f.Gather(in[0], in[1], 1, []int{1}, []int{0}, []int{0}, []int{1, 64}, false))}
	}},
	{"Concatenate of two along the last axis, float32", func(n int) []shapes.Shape {
		return []shapes.Shape{float(n/512, 64), float(n/512, 64)}
	}, func(t testing.TB, _ int, f compute.Function, in values) values {
		return values{must[compute.Value](t)(f.Concatenate(1, in...))}
	}},
	{"Where of a scalar's broadcast, float32", func(n int) []shapes.Shape {
		return []shapes.Shape{shapes.Make(dtypes.Bool, n/256, 64), float(n/256, 64), float()}
	}, func(t testing.TB, _ int, f compute.Function, in values) values {
		return values{must[compute.Value](t)(f.Where(in[0], in[1], in[2]))}
	}},
	{"Add and Exp, Transpose, Mul, float32", func(n int) []shapes.Shape { return []shapes.Shape{square(n)} },
		func(t testing.TB, _ int, f compute.Function, in values) values {
			v := must[compute.Value](t)
			x := v(f.Transpose(v(f.Exp(v(f.Add(in[0], in[0])))), 1, 0))
			return values{v(f.Mul(x, in[0]))}
		}},
}

func square(n int) shapes.Shape {
	side := 1
	for 4*(2*side)*(2*side) <= n {
		side *= 2
	}
	return float(side, n/4/side)
}

func heads(n int) []shapes.Shape {
	rows := n / 1024
	b := min(8, rows/4)
	return []shapes.Shape{float(max(b, 1), rows/max(b, 1), 8, 32)}
}

// timed is a compiled computation with its inputs.
func timed(t testing.TB, b compute.Backend, c measured, n int) func(times int) time.Duration {
	of := c.of(n)
	data := make([]any, len(of))
	for i, s := range of {
		if data[i] = dtypes.MakeAnySlice(s.DType, s.Size()); s.DType == dtypes.Int32 {
			rows := data[i].([]int32)
			for k := range rows {
				rows[k] = int32(k * 7919 % len(rows))
			}
		}
	}
	exec := compile(t, b, of, func(f compute.Function, in values) values { return c.build(t, n, f, in) })
	in := buffers(t, b, of, data)
	return func(times int) time.Duration {
		began := time.Now()
		for range times {
			out, err := exec.Execute(in, nil, 0)
			require.NoError(t, err)
			require.NoError(t, out[0].Finalize())
		}
		return time.Since(began) / time.Duration(times)
	}
}

// beside measures both in turn, and returns the medians.
func beside(t testing.TB, b *Backend, g compute.Backend, c measured, n int) (here, there time.Duration) {
	runs := [2]func(int) time.Duration{timed(t, b, c, n), timed(t, g, c, n)}
	var took [2][]time.Duration
	for range 7 {
		for i, run := range runs {
			times := 1 + int(30*time.Millisecond/max(run(2), time.Microsecond/4))
			took[i] = append(took[i], run(times))
		}
	}
	for i := range took {
		slices.Sort(took[i])
	}
	return took[0][3], took[1][3]
}

// TestFigures writes the first table of bench/results/gomlx.md; the test of that name in
// backends adds the second:
//
//	go test -run Figures . -figures ../../bench/results/gomlx.md
func TestFigures(t *testing.T) {
	if *figures == "" {
		t.Skip("-figures names no file")
	}
	b, err := New("cpu")
	require.NoError(t, err)
	defer b.Finalize()
	g, err := gobackend.New("")
	require.NoError(t, err)
	sizes := []int{1 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20}
	var text strings.Builder
	fmt.Fprintf(&text, `# GoMLX on Restride, beside its Go backend

## Operations

With github.com/gomlx/compute: the time of an execution with the Go backend divided by that with [adapters/gomlx](../../adapters/gomlx/README.md) on the cpu device, by bytes of the result; in brackets the adapter's time. Medians of 7 passes in turn, results finalized at once. %s, %d processors, %s, load average %s before. By `+"`go test -run Figures . -figures FILE`"+` in adapters/gomlx.

| | 1 KiB | 64 KiB | 1 MiB | 16 MiB | 64 MiB |
|---|---|---|---|---|---|
`, b.DeviceDescription(0), runtime.NumCPU(), time.Now().UTC().Format(time.DateOnly), load())
	for _, c := range cases {
		text.WriteString("| " + c.name + " |")
		for _, n := range sizes {
			here, there := beside(t, b, g, c, n)
			fmt.Fprintf(&text, " %.3g (%v) |", float64(there)/float64(here), short(here))
			t.Logf("%s, %d bytes: %v, %v", c.name, n, here, there)
		}
		text.WriteString("\n")
	}
	require.NoError(t, os.WriteFile(*figures, []byte(text.String()), 0o644))
}

// short is a duration of three digits.
func short(d time.Duration) string {
	if d < 10*time.Microsecond {
		return d.Round(10 * time.Nanosecond).String()
	}
	if d < time.Millisecond {
		return d.Round(100 * time.Nanosecond).String()
	}
	return d.Round(10 * time.Microsecond).String()
}

func load() string {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	one, _, _ := strings.Cut(string(raw), " ")
	return one
}
