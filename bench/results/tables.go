package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/restride/restride/internal/bench/cases"
	"github.com/restride/restride/internal/bench/report"
)

// table writes figures of some devices of a report, with a link to the report.
type table func(b *strings.Builder, f kept, devices []*report.Result, link string)

// kinds are the tables, by the words in the markers.
var kinds = map[string]table{"figures": figures, "roofline": roofline, "cases": everyCase}

// known are the cases that other libraries have been measured on.
var known = []struct{ name, text string }{
	{"a-transpose/32", "2-D transpose, 4096x4096"},
	{"b-nchw-nhwc/32", "NCHW to NHWC, 32x64x112x112"},
	{"c-heads/32", "heads by (0 2 1 3), 8x512x16x64"},
	{"d-every-second/32", "every second column, of 4096x8192"},
	{"e-reversed/32", "last axis reversed, 4096x4096"},
	{"f-shuffle/32", "6-D shuffle by (5 2 1 3 0 4), 16x20x24x12x14x13"},
}

// figures shows devices and their peers side by side: ratios to the same yardstick in the same
// pass.
func figures(b *strings.Builder, f kept, devices []*report.Result, link string) {
	origin(b, f, devices, link, "", ", ± the largest deviation of a single pass")
	b.WriteString("| float |")
	columns := 0
	for _, d := range devices {
		fmt.Fprintf(b, " Restride, %s | ± |", cell(d.Device.ID))
		for _, p := range d.Peers {
			fmt.Fprintf(b, " %s |", cell(p.Name))
		}
		columns += 2 + len(d.Peers)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", columns) + "\n")
	for _, k := range known {
		text := k.text
		if devices[0].Size != cases.Reference { // the size of the published shapes
			text, _, _ = strings.Cut(text, ",")
		}
		row, some := "| "+text+" |", false
		for _, d := range devices {
			cells, ok := beside(d, k.name)
			row += cells
			some = some || ok
		}
		if some {
			b.WriteString(row + "\n")
		}
	}
	for _, d := range devices {
		lead(b, d)
	}
}

// asFast is the largest difference of times that count as equal.
const asFast = .02

// lead says how much faster a device is than the fastest other library in each case.
func lead(b *strings.Builder, d *report.Result) {
	var times []float64
	var behind []string
	even := 0
	for _, c := range d.Cases {
		x := 0.
		for _, p := range d.Peers {
			if faster, _ := p.Faster(c); faster > 0 && !strings.HasPrefix(p.Name, "Restride") {
				x = cmp.Or(min(x, faster), faster)
			}
		}
		if x == 0 {
			continue
		}
		times = append(times, x)
		switch {
		case math.Abs(x-1) < asFast:
			even++
		case x < 1:
			behind = append(behind, fmt.Sprintf("%s (%s)", cell(c.Name), ratio(x)))
		}
	}
	if len(times) == 0 {
		return
	}
	slices.Sort(times)
	fmt.Fprintf(b, "\nOf the %d cases that another library has, %s is faster than the fastest library in %d, %.1f times in the median", len(times), cell(d.Device.ID), len(times)-len(behind)-even, times[len(times)/2])
	if even > 0 {
		fmt.Fprintf(b, "; equally fast, within %.0f%%, in %d", 100*asFast, even)
	}
	if len(behind) > 0 {
		fmt.Fprintf(b, "; slower in %s", strings.Join(behind, ", "))
	}
	b.WriteString(".\n")
}

// beside returns a case's ratio on a device, and the peers'; false if it was not measured.
func beside(d *report.Result, name string) (cells string, ok bool) {
	i := slices.IndexFunc(d.Cases, func(c *report.CaseResult) bool { return c.Name == name })
	if i < 0 || d.Cases[i].Time == nil {
		return strings.Repeat(" - |", 2+len(d.Peers)), false
	}
	c := d.Cases[i]
	x, spread := of(d, c)
	cells = fmt.Sprintf(" %s | %.0f%% |", ratio(x), 100*spread)
	for _, p := range d.Peers {
		cells += " " + ratio(p.Ratio(c, yardstick(d))) + " |"
	}
	return cells, true
}

// yardstick is the reference of ratios.
func yardstick(d *report.Result) *report.Rate {
	if m := d.Roofline.Memcpy; m != nil { // processors
		return m
	}
	return d.Roofline.Fastest()
}

// of is a case's ratio to the yardstick, or a fill's to the plain fill, with its spread.
func of(d *report.Result, c *report.CaseResult) (x, spread float64) {
	if c.MemcpyRatio > 0 {
		return c.MemcpyRatio, c.MemcpySpread
	}
	return c.Ratio, c.Time.Spread()
}

// origin writes the reference and the source of ratios; fills and spreads are the words about
// these, if the table has them.
func origin(b *strings.Builder, f kept, devices []*report.Result, link, fills, spreads string) {
	var yards, names []string
	for _, d := range devices {
		what := "the fastest plain copy"
		if d.Roofline.Memcpy != nil {
			what = "a memcpy of the same bytes by two goroutines"
		}
		if !slices.Contains(yards, what) {
			yards = append(yards, what)
		}
		names = append(names, fmt.Sprintf("%s is %s (%s), whose reference copy reads and writes %.1f GB/s", cell(d.Device.ID), cell(d.Device.Name), cell(d.Device.Driver), yardstick(d).GBps))
	}
	fmt.Fprintf(b, "Ratios to %s%s in the same pass of the run, medians of %d passes%s; %s; %d cores, %s ([all figures](%s)).\n\n",
		strings.Join(yards, " or "), fills, devices[0].Passes, spreads, strings.Join(names, ", "), f.CPUs, f.Date.Format("2006-01-02"), link)
}

// roofline shows the rooflines side by side.
func roofline(b *strings.Builder, f kept, devices []*report.Result, link string) {
	fmt.Fprintf(b, "| %s ([all figures](%s)) |", f.Date.Format("2006-01-02"), link)
	parts := make([][]report.Part, len(devices))
	for i, d := range devices {
		parts[i] = d.Roofline.Parts()
		fmt.Fprintf(b, " %s | ± |", cell(d.Device.ID))
	}
	b.WriteString("\n|---|" + strings.Repeat("---|---|", len(devices)) + "\n")
	for i, p := range parts[0] {
		row, about := "", ""
		for _, of := range parts {
			switch other := of[i]; {
			case other.Time == nil:
				row += " - | |"
			default:
				row += fmt.Sprintf(" %s | %.0f%% |", other.Figure(), 100*other.Time.Spread())
				about = p.About
			}
		}
		if about != "" { // some device has it
			fmt.Fprintf(b, "| %s |%s\n", about, row)
		}
	}
}

// everyCase has a row for each layout, a column for each width.
func everyCase(b *strings.Builder, f kept, devices []*report.Result, link string) {
	for i, d := range devices {
		if i > 0 {
			b.WriteByte('\n')
		}
		origin(b, f, devices[i:i+1], link, " (fills: to the plain fill)", "")
		grid(b, d)
	}
}

func grid(b *strings.Builder, d *report.Result) {
	var layouts []string
	var widths []int
	cells := map[string]string{}
	for _, c := range d.Cases {
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
		x, _ := of(d, c)
		cells[c.Name] = ratio(x)
	}
	slices.Sort(widths)
	b.WriteString("| by bits of an element |")
	for _, w := range widths {
		fmt.Fprintf(b, " %d |", w)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(widths)) + "\n")
	for _, name := range layouts {
		fmt.Fprintf(b, "| %s |", cell(name))
		for _, w := range widths {
			fmt.Fprintf(b, " %s |", cmp.Or(cells[fmt.Sprintf("%s/%d", name, w)], " "))
		}
		b.WriteByte('\n')
	}
}

// cell is a text of a report in a Markdown table, escaped.
func cell(text string) string { return escapes.Replace(text) }

var escapes = strings.NewReplacer("|", `\|`, "<", "&lt;", "[", `\[`, "`", "\\`")

// ratio is ".39", or "1.20"; no figure is "-".
func ratio(x float64) string {
	if x == 0 {
		return "-"
	}
	return strings.TrimPrefix(fmt.Sprintf("%.2f", x), "0")
}
