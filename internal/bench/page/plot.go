package page

import (
	"bytes"
	"fmt"
	"html/template"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// gonum/plot writes a colour, a width and a font into every mark. On the page they come
// from page.css, which also serves dark screens and paper. So figures are drawn in inks:
// colours that stand for classes of page.css, by which [inner] replaces them.

// ink is a class, or several, as a colour.
type ink string

// inks are all inks; an index is a colour.
var inks = []ink{"", "axis", "grid", "label", "label middle", "label end", "along", "dot", "stem", "touched", "others", "curve", "limit l0", "limit l1", "limit l2", "limit l3"}

// RGBA is the index in blue, plus half a step, against rounding down.
func (i ink) RGBA() (r, g, b, a uint32) {
	return 0, 0, uint32(slices.Index(inks, i))*0x101 + 0x80, 0xffff
}

func (i ink) line() draw.LineStyle { return draw.LineStyle{Color: i, Width: 1} }

var (
	inked       = regexp.MustCompile(`\s+style="[^"]*#0000([0-9A-F]{2})[^"]*"`)
	coordinates = regexp.MustCompile(` (?:x|y|d)="[^"]*"`)
	decimal     = regexp.MustCompile(`\d+\.\d+`)
	fontOfAll   = font.Font{Typeface: "Liberation", Variant: "Sans"} // only for measuring; the page has its own
)

// inner returns the drawn SVG, with classes for inks and without its frame.
func inner(c *vgsvg.Canvas) template.HTML {
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		panic(err) // buffers have no such error
	}
	_, svg, _ := strings.Cut(b.String(), "<svg")
	_, svg, _ = strings.Cut(svg, ">")
	svg = strings.TrimSuffix(strings.TrimSpace(svg), "</svg>")
	svg = inked.ReplaceAllStringFunc(svg, func(style string) string {
		n, err := strconv.ParseUint(inked.FindStringSubmatch(style)[1], 16, 8)
		if err != nil || n == 0 || int(n) >= len(inks) {
			return style
		}
		return fmt.Sprintf(` class="%s"`, inks[n])
	})
	svg = coordinates.ReplaceAllStringFunc(svg, func(at string) string {
		return decimal.ReplaceAllStringFunc(at, func(number string) string {
			v, _ := strconv.ParseFloat(number, 64)
			return px(v)
		})
	})
	return template.HTML(strings.ReplaceAll(svg, "\n", ""))
}

// The size of a panel, in units that are about a pixel.
const (
	panelWidth, panelHeight = 280, 190
	letters                 = 9
)

// span is an axis.
type span struct {
	low, high float64
	ticks     []plot.Tick
	scale     plot.Normalizer
}

// sheet is a pair of axes, which all panels share. It is in the page once.
type sheet struct {
	axes template.HTML
	plot *plot.Plot
	area draw.Canvas // of the data
}

// newSheet draws axes with ticks, a scale on the right, the units, and everything below the
// data of every panel.
func newSheet(x, y, right span, units [3]string, below ...plot.Plotter) *sheet {
	p := plot.New()
	p.BackgroundColor = nil
	for _, a := range []struct {
		axis *plot.Axis
		span span
		ink  ink
	}{{&p.X, x, "label middle"}, {&p.Y, y, "label end"}} {
		a.axis.Min, a.axis.Max, a.axis.Scale = a.span.low, a.span.high, a.span.scale
		a.axis.Tick.Marker = plot.ConstantTicks(a.span.ticks)
		a.axis.Width, a.axis.Padding, a.axis.Tick.Length = 0, 0, 0 // the frame replaces the line
		a.axis.Tick.Label.Font, a.axis.Tick.Label.Color = font.From(fontOfAll, letters), a.ink
		a.axis.Tick.Label.XAlign = draw.XLeft // of an anchor that the ink moves
	}
	p.Add(&plotter.Grid{Horizontal: ink("grid").line()})
	p.Add(below...)
	p.Add(&plotter.Line{XYs: plotter.XYs{{X: x.low, Y: y.high}, {X: x.low, Y: y.low}, {X: x.high, Y: y.low}, {X: x.high, Y: y.high}}, LineStyle: ink("axis").line()})
	for _, t := range right.ticks {
		p.Add(words("label", t.Label, x.high, t.Value, draw.YCenter, vg.Point{X: 4, Y: 2}))
	}
	c := vgsvg.New(panelWidth, panelHeight)
	all := draw.Crop(draw.New(c), 3, -5, 0, -3) // room for fonts wider than the measuring one
	sides := p.DataCanvas(all)
	p.Add(unit{words("label", units[0], x.low, y.high, draw.YBottom, vg.Point{X: -sides.Min.X, Y: 6})})
	p.Add(unit{words("label end", units[1], x.high, y.high, draw.YBottom, vg.Point{X: panelWidth - 2 - sides.Max.X, Y: 6})})
	p.Add(unit{words("label", units[2], x.low, y.low, draw.YTop, vg.Point{X: -sides.Min.X, Y: 1.5})})
	p.Draw(all)
	return &sheet{inner(c), p, p.DataCanvas(all)}
}

// words are a text at an offset from a point of the data. The ink has its anchor: the reader's
// font may be wider than the measuring one.
func words(style ink, t string, x, y float64, above draw.YAlignment, off vg.Point) *plotter.Labels {
	return &plotter.Labels{
		XYs: plotter.XYs{{X: x, Y: y}}, Labels: []string{t}, Offset: off,
		TextStyle: []draw.TextStyle{{
			Color: style, Font: font.From(fontOfAll, letters), Handler: plot.DefaultTextHandler,
			XAlign: draw.XLeft, YAlign: above,
		}},
	}
}

// unit is an axis's unit. It needs room above the data, and none at the sides, where labels of
// ticks are.
type unit struct{ *plotter.Labels }

func (u unit) GlyphBoxes(p *plot.Plot) []plot.GlyphBox {
	box := u.Labels.GlyphBoxes(p)[0]
	box.Min.X, box.Max.X, box.Min.Y = 0, 0, max(box.Min.Y, 0)
	return []plot.GlyphBox{box}
}

// across is a horizontal line through the panel.
func across(x span, y float64, style string) *plotter.Line {
	return &plotter.Line{XYs: plotter.XYs{{X: x.low, Y: y}, {X: x.high, Y: y}}, LineStyle: ink("limit " + style).line()}
}

// dots are a mark at each point.
func dots(at plotter.XYs, style ink, shape draw.GlyphDrawer, radius vg.Length) *plotter.Scatter {
	return &plotter.Scatter{XYs: at, GlyphStyle: draw.GlyphStyle{Color: style, Radius: radius, Shape: shape}}
}

// draw draws a panel's data.
func (s *sheet) draw(data ...plot.Plotter) template.HTML {
	c := vgsvg.New(panelWidth, panelHeight)
	area := draw.Canvas{Canvas: c, Rectangle: s.area.Rectangle}
	for _, d := range data {
		d.Plot(area, s.plot)
	}
	return inner(c)
}

// at is the drawing position of a point, from the upper left.
func (s *sheet) at(p plotter.XY) (x, y float64) {
	toX, toY := s.plot.Transforms(&s.area)
	return toX(p.X).Points(), panelHeight - toY(p.Y).Points()
}

// px writes a coordinate.
func px(v float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
}
