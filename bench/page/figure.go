package page

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// figure is the roofline of a device, a panel for each class. A roofline has the
// work for a byte on its horizontal axis; moving elements is none, and what decides
// how fast it goes is how narrow they are. So the width of elements is there, and
// how many bytes memory moves for those that are asked for shows as a second mark.
type figure struct {
	ID, Box        string // ID: of the axes, which all panels share
	Width          string // where the last text ends
	Middle, Center string
	X, Y, Parts    []tick
	Left, Right    string // of the axes
	Top, Bottom    string
	LabelX, LabelY string // where ticks' labels stand
	LabelParts     string
	Lines          []line
	Panels         []panel
}

type tick struct{ At, Text string }

// line is a limit.
type line struct{ At, Style string }

// panel is a class.
type panel struct {
	Name, About string
	Paths       []string // along cases that differ by width only
	Dots        []dot
}

// dot is a case. Touched is where the rate of touched bytes is, or "".
type dot struct{ X, Y, Touched, Title string }

// The size of a panel, and the margins of its axes.
const (
	panelWidth, panelHeight = 280, 190
	left, right             = 30, 26
	top, bottom             = 14, 20
)

func (d *deviceView) figure() *figure {
	var rates []float64
	var widths []string
	for _, c := range d.cases {
		if c.gbps == 0 {
			continue
		}
		rates = append(rates, c.gbps)
		if c.touching > 0 {
			rates = append(rates, c.touching)
		}
		if !slices.Contains(widths, c.width) {
			widths = append(widths, c.width)
		}
	}
	if len(rates) == 0 {
		return nil
	}
	for _, l := range d.Limits {
		rates = append(rates, l.GBps)
	}
	slices.SortFunc(widths, byNumber)
	x := func(width string) float64 {
		slot := float64(panelWidth-left-right) / float64(len(widths))
		return left + slot*(float64(slices.Index(widths, width))+.5)
	}
	low, high := slices.Min(rates)/1.15, slices.Max(rates)*1.15
	low = min(low, high/5) // so that there are marks
	y := scale{low, high}
	f := &figure{
		ID: "axes-" + d.Anchor, Box: fmt.Sprintf("0 0 %d %d", panelWidth, panelHeight), Width: px(panelWidth - 2),
		Middle: px((panelWidth + left - right) / 2), Center: px((panelHeight + top - bottom) / 2),
		Left: px(left), Right: px(panelWidth - right), Top: px(top), Bottom: px(panelHeight - bottom),
		LabelX: px(panelHeight - 7), LabelY: px(left - 4), LabelParts: px(panelWidth - right + 4),
	}
	for _, w := range widths {
		text := w
		if _, err := strconv.Atoi(w); err != nil || len(w) > 4 {
			text = none
		}
		f.X = append(f.X, tick{px(x(w)), text})
	}
	for _, v := range steps(low, high) {
		f.Y = append(f.Y, tick{px(y.at(v)), strconv.FormatFloat(v, 'g', -1, 64)})
	}
	if d.roof > 0 {
		for _, p := range parts {
			if v := d.roof * p.part; v >= low && v <= high {
				f.Parts = append(f.Parts, tick{px(y.at(v)), p.text})
			}
		}
	}
	for _, l := range d.Limits {
		f.Lines = append(f.Lines, line{px(y.at(l.GBps)), l.Style})
	}
	for _, k := range d.Classes {
		f.Panels = append(f.Panels, k.panel(x, y, float64(panelWidth-left-right)/float64(len(widths))))
	}
	return f
}

// parts of the roof have marks.
var parts = []struct {
	part float64
	text string
}{{8, "8"}, {4, "4"}, {2, "2"}, {1, "1"}, {1. / 2, "½"}, {1. / 4, "¼"}, {1. / 8, "⅛"}, {1. / 16, "1⁄16"}, {1. / 32, "1⁄32"}}

func (k *class) panel(x func(string) float64, y scale, slot float64) panel {
	p := panel{Name: k.Name, About: k.About}
	together := map[string]int{} // how many cases of a width there are
	for _, c := range k.cases {
		if c.gbps > 0 {
			together[c.width]++
		}
	}
	at := map[string]int{}
	type point struct{ x, y float64 }
	paths := map[string][]point{}
	var layouts []string
	for _, c := range k.cases {
		if c.gbps == 0 {
			continue
		}
		n := together[c.width]
		step := min(7, slot*.85/float64(n))
		here := point{x(c.width) + step*(float64(at[c.width])-float64(n-1)/2), y.at(c.gbps)}
		at[c.width]++
		d := dot{X: px(here.x), Y: px(here.y), Title: fmt.Sprintf("%s: %s GB/s", c.Name, short(c.gbps))}
		if c.ratio > 0 {
			d.Title += fmt.Sprintf(", %s of the roof", number(c.ratio, 2))
		}
		if t := y.at(c.touching); c.touching > 0 && math.Abs(t-here.y) > 4 {
			d.Touched = px(t)
			d.Title += fmt.Sprintf("; memory moves %s GB/s for it", short(c.touching))
		}
		p.Dots = append(p.Dots, d)
		if paths[c.layout] == nil {
			layouts = append(layouts, c.layout)
		}
		paths[c.layout] = append(paths[c.layout], here)
	}
	for _, l := range layouts {
		points := paths[l]
		if len(points) < 2 {
			continue
		}
		slices.SortStableFunc(points, func(a, b point) int { return int(math.Copysign(1, a.x-b.x)) })
		var path strings.Builder
		for i, at := range points {
			path.WriteString("ML"[min(i, 1) : min(i, 1)+1])
			path.WriteString(px(at.x) + " " + px(at.y))
		}
		p.Paths = append(p.Paths, path.String())
	}
	return p
}

// scale is a vertical axis on which equal quotients are equally far apart.
type scale struct{ low, high float64 }

func (s scale) at(v float64) float64 {
	part := (math.Log(v) - math.Log(s.low)) / (math.Log(s.high) - math.Log(s.low))
	return panelHeight - bottom - part*(panelHeight-top-bottom)
}

// steps are the marks of such an axis: 1, 2 and 5 of each power of ten, or powers
// of ten, if these are many.
func steps(low, high float64) []float64 {
	first, last := int(math.Floor(math.Log10(low))), int(math.Ceil(math.Log10(high)))
	digits, every := []float64{1, 2, 5}, 1
	if last-first > 4 {
		digits, every = digits[:1], (last-first)/7+1
	}
	var all []float64
	for e := first; e <= last; e += every {
		for _, d := range digits {
			// Parsed, for it is written: 3e-1 times 10 is not 3.
			v, err := strconv.ParseFloat(fmt.Sprintf("%ge%d", d, e), 64)
			if err == nil && v >= low && v <= high {
				all = append(all, v)
			}
		}
	}
	return all
}

// byNumber orders texts by the number that they are, and others behind these.
func byNumber(a, b string) int {
	x, errA := strconv.Atoi(a)
	y, errB := strconv.Atoi(b)
	switch {
	case errA == nil && errB == nil:
		return x - y
	case errA == nil:
		return -1
	case errB == nil:
		return 1
	}
	return strings.Compare(a, b)
}

// px writes a coordinate.
func px(v float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
}
