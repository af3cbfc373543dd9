package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// BenchmarkName is a case's name with keys by which benchstat groups and filters:
// "case=b-nchw-nhwc/width=16". In a name without a width, such as a user's own, slashes, which
// would separate keys, become colons.
func BenchmarkName(name string) string {
	layout, width, _ := strings.Cut(name, "/")
	if _, err := strconv.ParseUint(width, 10, 16); err != nil {
		return "case=" + strings.ReplaceAll(name, "/", ":")
	}
	return "case=" + layout + "/width=" + width
}

// WriteBenchmarks writes the figures in the form of Go's benchmarks, for benchstat: a
// line for each pass, since samples of one pass are not independent.
func (r *Report) WriteBenchmarks(w io.Writer) error {
	goos, goarch, _ := strings.Cut(r.System, "/")
	var b strings.Builder
	fmt.Fprintf(&b, "goos: %s\ngoarch: %s\npkg: github.com/restride/restride/bench\n", goos, goarch)
	if r.Host.CPU != "" {
		fmt.Fprintf(&b, "cpu: %s\n", r.Host.CPU)
	}
	b.WriteString("Unit GB/s better=higher\n")
	for _, d := range r.Devices {
		size := strings.ReplaceAll(mebibytes(d.Size), " ", "")
		line := func(name string, t *Timing, bytes int64) {
			passes := t.Passes
			if len(passes) == 0 {
				passes = []float64{t.Median}
			}
			calls := max(t.Samples/len(passes), 1) * t.Batch
			for _, ns := range passes {
				fmt.Fprintf(&b, "Benchmark%s/device=%s/size=%s-%d\t%d\t%v ns/op", name, d.Device.ID, size, r.CPUs, calls, ns)
				if bytes > 0 {
					fmt.Fprintf(&b, "\t%.4g GB/s", float64(bytes)/ns)
				}
				b.WriteByte('\n')
			}
		}
		for _, t := range d.Roofline.Parts() {
			if t.Time != nil {
				line("Roofline/part="+strings.NewReplacer(" ", "-", ",", "", "'", "").Replace(t.Name), t.Time, t.Bytes)
			}
		}
		for _, c := range d.Cases {
			if c.Time != nil {
				line("Cases/"+BenchmarkName(c.Name), c.Time, c.Logical)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
