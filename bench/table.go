package bench

import (
	"fmt"
	"io"
)

// Table prints a result for people, line by line as it comes: Update is an
// Options.Progress.
type Table struct {
	W     io.Writer
	Peers []*Peer // those beside the device have a column each

	name, kernel int // widths
	cases        int // that are printed
	began        bool
}

// NewTable returns a table for the cases.
func NewTable(w io.Writer, cases []Case, peers []*Peer) *Table {
	t := &Table{W: w, Peers: peers, name: len("case"), kernel: len("bits.contiguous.4")}
	for _, c := range cases {
		t.name = max(t.name, len(c.Name))
	}
	return t
}

// Update prints what is new in a result.
func (t *Table) Update(r *Result) {
	if !t.began {
		t.began = true
		t.Peers = Beside(t.Peers, r.Device.ID)
		t.head(r)
	}
	for ; t.cases < len(r.Cases); t.cases++ {
		t.line(r.Cases[t.cases])
	}
}

func (t *Table) head(r *Result) {
	fmt.Fprintf(t.W, "%s: %s, %s\n", r.Device.ID, r.Device.Name, r.Device.Driver)
	fmt.Fprintf(t.W, "size %s; times by the %s's clock: medians, and the middle half of the samples as a part of them\n\n", mebibytes(r.Size), r.Clock)
	f := r.Roofline
	for _, l := range []struct {
		name string
		rate *Rate
	}{
		{"dense copy by " + or(f.Kernel, "our kernel"), f.Copy}, {"dense copy by the driver", f.Driver}, {"memcpy by two goroutines", f.Memcpy},
		{"fill", f.Fill}, {"upload", f.Upload}, {"upload, pinned", f.UploadPinned}, {"download", f.Download}, {"download, pinned", f.DownloadPinned},
	} {
		if l.rate != nil {
			fmt.Fprintf(t.W, "%-36s %9.2f GB/s  ±%s\n", l.name, l.rate.GBps, percent(l.rate.Spread()))
		}
	}
	for _, l := range []struct {
		name string
		time *Timing
	}{{"queueing a copy of 256 bytes", f.Enqueue}, {"launching one of many", f.Launch}, {"one that is waited for", f.RoundTrip}} {
		if l.time != nil {
			fmt.Fprintf(t.W, "%-36s %9.2f µs    ±%s\n", l.name, l.time.Median/1e3, percent(l.time.Spread()))
		}
	}
	fmt.Fprintf(t.W, "roofline                             %9.2f GB/s\n\n", f.GBps())

	fmt.Fprintf(t.W, "%-*s  %-*s  %11s  %4s  %9s  %5s  %7s", t.name, "case", t.kernel, "kernel", "µs", "±", "GB/s", "ratio", "touched")
	t.peersHead()
	fmt.Fprintln(t.W)
}

func (t *Table) line(c *CaseResult) {
	fmt.Fprintf(t.W, "%-*s  ", t.name, c.Name)
	switch {
	case c.Unsupported:
		fmt.Fprintf(t.W, "unsupported: %s\n", c.Error)
		return
	case c.Error != "":
		fmt.Fprintf(t.W, "FAIL %s\n", c.Error)
		return
	}
	fmt.Fprintf(t.W, "%-*s  %11.1f  %4s  %9.2f  %5.2f  %7.2f", t.kernel, c.Kernel, c.Time.Median/1e3, percent(c.Time.Spread()), c.GBps, c.Ratio, c.TouchedRatio)
	t.peersLine(c)
	fmt.Fprintln(t.W)
}

// Close prints what the columns say, and how the machine was in the end.
func (t *Table) Close(r *Result) {
	failed, unsupported := 0, 0
	for _, c := range r.Cases {
		if c.Failed() {
			failed++
		} else if c.Unsupported {
			unsupported++
		}
	}
	fmt.Fprintf(t.W, "\nratio: bytes that are read and written, by time, to the roofline; touched: the same of what memory moves, in sectors of %d bytes\n", r.Sector)
	t.peersClose()
	if after := r.Roofline.CopyAfter; after != nil {
		fmt.Fprintf(t.W, "the dense copy in the end: %.2f GB/s, %.2f of what it was\n", after.GBps, after.GBps/r.Roofline.Copy.GBps)
	}
	fmt.Fprintf(t.W, "%s: %d cases measured, %d failed, %d unsupported, in %.0f s\n", r.Device.ID, len(r.Cases)-failed-unsupported, failed, unsupported, r.Seconds)
}

func percent(part float64) string { return fmt.Sprintf("%.0f%%", 100*part) }

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func mebibytes(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%g KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%g MiB", float64(n)/(1<<20))
}
