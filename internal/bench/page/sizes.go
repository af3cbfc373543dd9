package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
)

// sized is a device at all its sizes.
type sized struct {
	Anchor, Label, Name string
	Devices             []*deviceView // one for each size, the smallest first
	Sizes               *sizes        // nil: too few sizes for a figure
}

// sizes are a device's rates by the size of cases.
type sizes struct {
	Alone, Rotating string // the largest size at which all calls use one pair of buffers, and the smallest above; "": none
	Heads           []string
	Limits          []limit
	Rows            []sizeRow
	Figure          *figure
}

// sizeRow is a plain copy, or the median of a class, at each size.
type sizeRow struct {
	Name  string
	Cells []string
}

// bySize groups the sizes of each device.
func bySize(devices []*deviceView) []*sized {
	var all []*sized
	at := map[string]*sized{}
	for _, d := range devices {
		key := d.id + "\x00" + d.Name
		g := at[key]
		if g == nil {
			g = &sized{Anchor: "sizes-" + d.Anchor, Label: cmp.Or(d.id, "device"), Name: d.Name}
			at[key] = g
			all = append(all, g)
		}
		g.Devices = append(g.Devices, d)
	}
	for _, g := range all {
		slices.SortStableFunc(g.Devices, func(a, b *deviceView) int { return cmp.Compare(a.size, b.size) })
		g.sizes()
	}
	return all
}

// Chief is the device at its largest size.
func (g *sized) Chief() *deviceView { return g.Devices[len(g.Devices)-1] }

// curve is a rate at some sizes.
type curve struct {
	name, style string // style: of a limit
	at          plotter.XYs
	alone       int // the number of sizes at which all calls use one pair of buffers
}

func (c *curve) add(d *deviceView, rate float64) {
	if rate <= 0 {
		return
	}
	c.at = append(c.at, plotter.XY{X: float64(d.size), Y: rate})
	if d.alone {
		c.alone = len(c.at)
	}
}

// lines draws two parts, sizes within caches and sizes beyond them, which are two measurements.
// A part of one size is a dash.
func (c *curve) lines(style ink) (all []plot.Plotter) {
	for _, part := range []plotter.XYs{c.at[:c.alone], c.at[c.alone:]} {
		if len(part) == 1 {
			const half = 1.15
			p := part[0]
			part = plotter.XYs{{X: p.X / half, Y: p.Y}, {X: p.X * half, Y: p.Y}}
		}
		if len(part) > 0 {
			all = append(all, &plotter.Line{XYs: part, LineStyle: style.line()})
		}
	}
	return all
}

// ends writes the first and the last point.
func (c *curve) ends() string {
	if len(c.at) == 0 {
		return "no figures"
	}
	text := func(p plotter.XY) string { return short(p.Y) + " GB/s at " + binary(int64(p.X)) }
	if len(c.at) == 1 {
		return text(c.at[0])
	}
	return text(c.at[0]) + ", " + text(c.at[len(c.at)-1])
}

// sizes draws a figure, if there are three sizes or more.
func (g *sized) sizes() {
	var of []*deviceView
	for _, d := range g.Devices {
		if d.size > 0 && (len(of) == 0 || of[len(of)-1].size != d.size) {
			of = append(of, d)
		}
	}
	if len(of) < 3 {
		return
	}
	g.Sizes = new(sizes)
	var all []*curve
	seen := map[string]*curve{}
	named := func(kind, name, style string) *curve {
		c := seen[kind+name]
		if c == nil {
			c = &curve{name: name, style: style}
			seen[kind+name] = c
			all = append(all, c)
		}
		return c
	}
	for _, d := range of {
		for _, l := range d.Limits {
			named("limit ", l.Name, l.Style).add(d, l.GBps)
		}
	}
	for _, d := range of {
		for _, k := range d.Classes {
			var rates []float64
			for _, c := range k.cases {
				rates = append(rates, c.gbps)
			}
			named("class ", k.Name, "").add(d, median(rates))
		}
	}
	var rates []float64
	for _, c := range all {
		if c.style != "" && len(c.at) > 0 {
			g.Sizes.Limits = append(g.Sizes.Limits, limit{Name: c.name, Style: c.style})
		}
		row := sizeRow{Name: c.name}
		if c.style == "" {
			row.Name += ", median"
		}
		for _, d := range of {
			text := none
			for _, p := range c.at {
				if p.X == float64(d.size) {
					text = short(p.Y)
					rates = append(rates, p.Y)
				}
			}
			row.Cells = append(row.Cells, text)
		}
		g.Sizes.Rows = append(g.Sizes.Rows, row)
	}
	x := span{low: float64(of[0].size) / 1.3, high: float64(of[len(of)-1].size) * 1.3, scale: plot.LogScale{}}
	for i, d := range of {
		switch {
		case d.alone:
			g.Sizes.Alone = binary(d.size)
		case g.Sizes.Rotating == "":
			g.Sizes.Rotating = binary(d.size)
		}
		g.Sizes.Heads = append(g.Sizes.Heads, binary(d.size))
		if i%(len(of)/8+1) == 0 {
			x.ticks = append(x.ticks, plot.Tick{Value: float64(d.size), Label: strings.TrimSuffix(binary(d.size), "iB")})
		}
	}
	if len(rates) > 0 {
		g.Sizes.Figure = g.figure(x, gbps(rates), all)
	}
}

// figure has a panel for each class: its line, with the others' behind it.
func (g *sized) figure(x, y span, all []*curve) *figure {
	var below []plot.Plotter
	for _, c := range all {
		style := ink("others")
		if c.style != "" {
			style = ink("limit " + c.style)
		}
		below = append(below, c.lines(style)...)
	}
	s := newSheet(x, y, span{}, [3]string{"GB/s", "", ""}, below...)
	f := &figure{ID: "axes-" + g.Anchor, By: "size", Axes: s.axes}
	for _, c := range all {
		if c.style != "" {
			continue
		}
		p := panel{Name: c.name, About: c.ends()}
		for _, at := range c.at {
			p.Dots = append(p.Dots, s.dot(at, fmt.Sprintf("%s at %s: %s GB/s", c.name, binary(int64(at.X)), short(at.Y))))
		}
		p.Marks = s.draw(append(c.lines("curve"), dots(c.at, "dot", draw.CircleGlyph{}, 3.5))...)
		f.Panels = append(f.Panels, p)
	}
	return f
}
