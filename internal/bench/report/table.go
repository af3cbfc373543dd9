package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/restride/restride/internal/quote"
)

// Table prints a result as text, line by line as figures become final, in a run's last pass.
// All of its cases are known by then.
type Table struct {
	W      io.Writer
	Blocks bool // bars of Unicode's block elements, not of ASCII

	name, kernel int // widths
	cases        int // that are printed
}

// Update prints the lines that have become final, and reports whether there are any.
func (t *Table) Update(r *Result) bool {
	if r.Roofline.Copy == nil || !r.final(&r.Roofline.Copy.Timing) || t.cases == len(r.Cases) {
		return false
	}
	before := t.cases
	for ; t.cases < len(r.Cases); t.cases++ {
		c := r.Cases[t.cases]
		if c.Error == "" && !r.final(c.Time) {
			break
		}
		t.print(r, c)
	}
	return t.cases > before
}

// final reports whether a timing covers all passes.
func (r *Result) final(t *Timing) bool { return t != nil && len(t.Passes) >= r.Passes }

// print prints a line, and before the first the head.
func (t *Table) print(r *Result, c *CaseResult) {
	if t.name == 0 {
		t.name, t.kernel = len("case"), len("kernel")
		for _, c := range r.Cases {
			t.name, t.kernel = max(t.name, len(c.Name)), max(t.kernel, len(c.Kernel))
		}
		t.head(r)
	}
	t.line(r, c)
}

func (t *Table) head(r *Result) {
	fmt.Fprintf(t.W, "%s: %s, %s\n", r.Device.ID, r.Device.Name, r.Device.Driver)
	caches := "buffers take turns, so that caches hold little of them"
	if r.Cached {
		caches = "the same buffers each time, which caches hold"
	}
	fmt.Fprintf(t.W, "size %s: %s\n", mebibytes(r.Size), caches)
	fmt.Fprintf(t.W, "times by the %s's clock: medians of %d passes, and how far from them single passes are\n\n", r.Clock, r.Passes)
	f := r.Roofline
	for _, p := range f.Parts() {
		if p.Time != nil {
			figure, unit, _ := strings.Cut(p.Figure(), " ")
			fmt.Fprintf(t.W, "%-36s %9s %-4s  ±%s\n", p.About, figure, unit, percent(p.Time.Spread()))
		}
	}
	roof := 0.
	if fastest := f.Fastest(); fastest != nil {
		roof = fastest.GBps
	}
	fmt.Fprintf(t.W, "roofline                             %9.2f GB/s\n\n", roof)

	fmt.Fprintf(t.W, "%-*s  %-*s  %9s  %4s  %7s  %5s %*s", t.name, "case", t.kernel, "kernel", "µs", "±", "GB/s", "ratio", barWidth, "")
	if f.Memcpy != nil {
		fmt.Fprintf(t.W, "  %6s", "memcpy")
	}
	fmt.Fprintf(t.W, "  %7s", "touched")
	t.peersHead(r.Peers)
	fmt.Fprintln(t.W)
}

func (t *Table) line(r *Result, c *CaseResult) {
	fmt.Fprintf(t.W, "%-*s  ", t.name, c.Name)
	switch {
	case c.Unsupported:
		fmt.Fprintf(t.W, "unsupported: %s\n", quote.Lines(c.Error))
		return
	case c.Error != "":
		fmt.Fprintf(t.W, "FAIL %s\n", quote.Lines(c.Error))
		return
	}
	fmt.Fprintf(t.W, "%-*s  %9.1f  %4s  %7.2f  %5.2f %s", t.kernel, c.Kernel, c.Time.Median/1e3, percent(c.Time.Spread()), c.GBps, c.Ratio, bar(c.Ratio, t.Blocks))
	switch {
	case c.MemcpyRatio > 0:
		fmt.Fprintf(t.W, "  %6.2f", c.MemcpyRatio)
	case r.Roofline.Memcpy != nil:
		fmt.Fprintf(t.W, "  %6s", "-")
	}
	fmt.Fprintf(t.W, "  %7.2f", c.TouchedRatio)
	t.peersLine(r.Peers, c)
	fmt.Fprintln(t.W)
}

// Close prints the remaining cases, the meaning of the columns, and the state of the machine.
func (t *Table) Close(r *Result) {
	failed, unsupported, measured := 0, 0, 0
	for i, c := range r.Cases {
		switch {
		case c.Failed():
			failed++
		case c.Unsupported:
			unsupported++
		case c.Time != nil:
			measured++
		default:
			continue // of an interrupted run
		}
		if i >= t.cases {
			t.print(r, c)
		}
	}
	fmt.Fprintf(t.W, "\nratio: bytes that are read and written, by time, to the roofline, which is a full bar; of a fill, to the plain fill\n")
	if r.Roofline.Memcpy != nil {
		fmt.Fprintln(t.W, "memcpy: the same to that of two goroutines")
	}
	fmt.Fprintf(t.W, "touched: the same as ratio of what memory moves, in sectors of %d bytes\n", r.Sector)
	t.peersClose(r.Peers)
	var meanwhile []string
	for _, o := range r.Observations() {
		meanwhile = append(meanwhile, o.Name+": "+o.Text)
	}
	if len(meanwhile) > 0 {
		fmt.Fprintln(t.W, strings.Join(meanwhile, "; "))
	}
	if after := r.Roofline.CopyAfter; after != nil && r.Roofline.Copy != nil {
		fmt.Fprintf(t.W, "the dense copy in the end: %.2f GB/s, %.2f of what it was\n", after.GBps, after.GBps/r.Roofline.Copy.GBps)
	}
	fmt.Fprintf(t.W, "%s: %d cases measured, %d failed, %d unsupported, in %.0f s\n", r.Device.ID, measured, failed, unsupported, r.Seconds)
}

// barWidth is in characters.
const barWidth = 10

// bar draws a part of 1. More than 1 ends in a mark.
func bar(part float64, blocks bool) string {
	cell, more, eighths := "#", ">", []string{" "}
	if blocks {
		cell, more, eighths = "█", "▶", []string{" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}
	}
	steps := len(eighths)
	n := int(math.Round(min(max(part, 0), 2) * float64(barWidth*steps)))
	if n > barWidth*steps {
		return strings.Repeat(cell, barWidth-1) + more
	}
	text := strings.Repeat(cell, n/steps)
	if n < barWidth*steps {
		text += eighths[n%steps] + strings.Repeat(" ", barWidth-1-n/steps)
	}
	return text
}

func percent(part float64) string { return fmt.Sprintf("%.0f%%", 100*part) }

func mebibytes(n int64) string {
	if n >= 1<<30 {
		return fmt.Sprintf("%g GiB", float64(n)/(1<<30))
	}
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	if n < 1<<20 {
		return fmt.Sprintf("%g KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%g MiB", float64(n)/(1<<20))
}
