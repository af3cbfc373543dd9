package page

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
)

// figure has a panel for each class, all on the same axes.
type figure struct {
	ID     string // of the axes
	By     string // the quantity on the horizontal axis
	Axes   template.HTML
	Panels []panel
}

// Box is a panel's box.
func (figure) Box() string { return fmt.Sprintf("0 0 %d %d", panelWidth, panelHeight) }

// panel is a class.
type panel struct {
	Name, About string
	Marks       template.HTML
	Dots        []dot
}

// dot is the tooltip of a mark.
type dot struct{ X, Y, Title string }

func (s *sheet) dot(p plotter.XY, title string) dot {
	x, y := s.at(p)
	return dot{px(x), px(y), title}
}

// figure is the roofline of a device. A usual roofline has work per byte on its horizontal
// axis. Moving elements is not work, and its speed depends on their width: so the width is on
// the axis, and the bytes that memory moves are a second mark.
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
	x := span{low: -.5, high: float64(len(widths)) - .5, scale: plot.LinearScale{}}
	for i, w := range widths {
		if i%(len(widths)/12+1) == 0 {
			x.ticks = append(x.ticks, plot.Tick{Value: float64(i), Label: bits(w)})
		}
	}
	y := gbps(rates)
	var right span
	if d.roof > 0 {
		for _, p := range parts {
			if v := d.roof * p.part; v >= y.low && v <= y.high {
				right.ticks = append(right.ticks, plot.Tick{Value: v, Label: p.text})
			}
		}
	}
	var limits []plot.Plotter
	for _, l := range d.Limits {
		limits = append(limits, across(x, l.GBps, l.Style))
	}
	s := newSheet(x, y, right, [3]string{"GB/s", "of the roof", "bits"}, limits...)
	f := &figure{ID: "axes-" + d.Anchor, By: "the width of elements", Axes: s.axes}
	for _, k := range d.Classes {
		f.Panels = append(f.Panels, k.panel(s, widths))
	}
	return f
}

// bits is a width on an axis, if it is a number.
func bits(width string) string {
	if _, err := strconv.Atoi(width); err != nil || len(width) > 4 {
		return none
	}
	return width
}

// parts of the roof have marks.
var parts = []struct {
	part float64
	text string
}{{8, "8"}, {4, "4"}, {2, "2"}, {1, "1"}, {1. / 2, "½"}, {1. / 4, "¼"}, {1. / 8, "⅛"}, {1. / 16, "1⁄16"}, {1. / 32, "1⁄32"}}

func (k *class) panel(s *sheet, widths []string) panel {
	p := panel{Name: k.Name, About: k.About}
	together := map[string]int{} // how many cases of a width there are
	for _, c := range k.cases {
		if c.gbps > 0 {
			together[c.width]++
		}
	}
	already := map[string]int{}
	paths := map[string]plotter.XYs{}
	var layouts []string
	var at, rings plotter.XYs
	var marks []plot.Plotter
	for _, c := range k.cases {
		if c.gbps == 0 {
			continue
		}
		n := together[c.width]
		step := min(.22, .85/float64(n)) // they are side by side
		here := plotter.XY{X: float64(slices.Index(widths, c.width)) + step*(float64(already[c.width])-float64(n-1)/2), Y: c.gbps}
		already[c.width]++
		title := fmt.Sprintf("%s: %s GB/s", c.Name, short(c.gbps))
		if c.ratio > 0 {
			title += fmt.Sprintf(", %s of %s", number(c.ratio, 2), c.bounded())
		}
		ring := plotter.XY{X: here.X, Y: c.touching}
		if c.touching > 0 && s.apart(ring, here) > 4 {
			rings = append(rings, ring)
			marks = append(marks, &plotter.Line{XYs: plotter.XYs{here, ring}, LineStyle: ink("stem").line()})
			title += fmt.Sprintf("; memory moves %s GB/s for it", short(c.touching))
		}
		at = append(at, here)
		p.Dots = append(p.Dots, s.dot(here, title))
		if paths[c.layout] == nil {
			layouts = append(layouts, c.layout)
		}
		paths[c.layout] = append(paths[c.layout], here)
	}
	for _, l := range layouts {
		if path := paths[l]; len(path) > 1 {
			slices.SortStableFunc(path, func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) })
			marks = append(marks, &plotter.Line{XYs: path, LineStyle: ink("along").line()})
		}
	}
	marks = append(marks, dots(rings, "touched", draw.RingGlyph{}, 3), dots(at, "dot", draw.CircleGlyph{}, 3.5))
	p.Marks = s.draw(marks...)
	return p
}

// apart is the vertical distance of two points.
func (s *sheet) apart(a, b plotter.XY) float64 {
	_, y := s.at(a)
	_, z := s.at(b)
	return math.Abs(y - z)
}

// gbps is a logarithmic vertical axis.
func gbps(rates []float64) span {
	low, high := slices.Min(rates)/1.15, slices.Max(rates)*1.15
	low = min(low, high/5) // for at least some marks
	s := span{low: low, high: high, scale: plot.LogScale{}}
	least := low * math.Pow(high/low, .06) // a lower label would overlap the unit of the other axis
	for _, v := range steps(least, high) {
		s.ticks = append(s.ticks, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'g', -1, 64)})
	}
	return s
}

// steps are the ticks of such an axis: 1, 2 and 5 times powers of ten, or only powers if these
// are many. (plot.LogTicks labels only powers, often a single one.)
func steps(low, high float64) []float64 {
	first, last := int(math.Floor(math.Log10(low))), int(math.Ceil(math.Log10(high)))
	digits, every := []float64{1, 2, 5}, 1
	if last-first > 4 {
		digits, every = digits[:1], (last-first)/7+1
	}
	var all []float64
	for e := first; e <= last; e += every {
		for _, d := range digits {
			// Parsed, as products are inexact.
			v, err := strconv.ParseFloat(fmt.Sprintf("%ge%d", d, e), 64)
			if err == nil && v >= low && v <= high {
				all = append(all, v)
			}
		}
	}
	return all
}

// byNumber orders numbers by value, and other texts behind them.
func byNumber(a, b string) int {
	x, errA := strconv.Atoi(a)
	y, errB := strconv.Atoi(b)
	switch {
	case errA == nil && errB == nil:
		return cmp.Compare(x, y)
	case errA == nil:
		return -1
	case errB == nil:
		return 1
	}
	return strings.Compare(a, b)
}
