package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/restride/restride/bench"
)

// figures are the cases that other libraries have been measured on.
var figures = []struct{ name, text string }{
	{"a-transpose/32", "2-D transpose, 4096x4096"},
	{"b-nchw-nhwc/32", "NCHW to NHWC, 32x64x112x112"},
	{"c-heads/32", "heads (0,2,1,3), 8x512x16x64"},
	{"d-every-second/32", "every second column of 4096x8192"},
	{"e-reversed/32", "last axis reversed, 4096x4096"},
	{"f-shuffle/32", "6-D shuffle, (16,20,24,12,14,13) by (5,2,1,3,0,4)"},
}

// tables are what a report says of a device: the figures beside those of other
// libraries, and all cases. The link is to the report.
func tables(f file, r *bench.Result, link string) string {
	var b strings.Builder
	bound, yard := r.Roofline.GBps(), "the fastest plain copy"
	of := func(c *bench.CaseResult) (x, spread float64) { return c.Ratio, c.Time.Spread() }
	if m := r.Roofline.Memcpy; m != nil {
		bound, yard = m.GBps, "a memcpy of the same bytes by two goroutines"
		of = func(c *bench.CaseResult) (x, spread float64) { return c.MemcpyRatio, c.MemcpySpread }
	}
	peers, others := r.Peers, ""
	if len(peers) > 0 {
		others = "; other libraries before the run, in one pass"
	}
	for _, p := range peers {
		if slices.ContainsFunc(p.Cases, func(c *bench.PeerCase) bool { return len(c.Passes) > 0 }) {
			others = "; other libraries in the same passes"
		}
	}
	fmt.Fprintf(&b, "Ratios to %s (%.1f GB/s read and written) in the same pass of the run: %s, %d cores, %s, medians of %d passes, ± how far from them single passes are%s ([all figures](%s)):\n\n",
		yard, bound, r.Device.Name, f.CPUs, f.Date.Format("2006-01-02"), r.Passes, others, link)

	b.WriteString("| float | Restride | ± |")
	for _, p := range peers {
		fmt.Fprintf(&b, " %s |", p.Name)
	}
	b.WriteString("\n|---|---|---|" + strings.Repeat("---|", len(peers)) + "\n")
	for _, figure := range figures {
		i := slices.IndexFunc(r.Cases, func(c *bench.CaseResult) bool { return c.Name == figure.name })
		if i < 0 || r.Cases[i].Time == nil {
			continue
		}
		c := r.Cases[i]
		x, spread := of(c)
		fmt.Fprintf(&b, "| %s | %s | %.0f%% |", figure.text, ratio(x), 100*spread)
		for _, p := range peers {
			cell := "-"
			if ns, why := p.Find(c); why == "" {
				cell = ratio(float64(c.Logical) / ns / bound)
			}
			fmt.Fprintf(&b, " %s |", cell)
		}
		b.WriteByte('\n')
	}
	grid(&b, r, of)
	return b.String()
}

// grid is all cases: a row for each layout, a column for each width.
func grid(b *strings.Builder, r *bench.Result, of func(*bench.CaseResult) (x, spread float64)) {
	var layouts []string
	var widths []int
	cells := map[string]string{}
	for _, c := range r.Cases {
		name, width, _ := strings.Cut(c.Name, "/")
		bits, err := strconv.Atoi(width)
		if err != nil || c.Time == nil {
			continue
		}
		if !slices.Contains(layouts, name) {
			layouts = append(layouts, name)
		}
		if !slices.Contains(widths, bits) {
			widths = append(widths, bits)
		}
		x, _ := of(c)
		cells[c.Name] = ratio(x)
	}
	slices.Sort(widths)
	b.WriteString("\n| by bits of an element |")
	for _, w := range widths {
		fmt.Fprintf(b, " %d |", w)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(widths)) + "\n")
	for _, name := range layouts {
		fmt.Fprintf(b, "| %s |", name)
		for _, w := range widths {
			fmt.Fprintf(b, " %s |", cmp.Or(cells[fmt.Sprintf("%s/%d", name, w)], " "))
		}
		b.WriteByte('\n')
	}
}

// ratio is ".39", or "1.20".
func ratio(x float64) string {
	return strings.TrimPrefix(fmt.Sprintf("%.2f", x), "0")
}
