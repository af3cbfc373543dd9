package page

import (
	"encoding/xml"
	"errors"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
)

// The positions of marks on the panels match the figures.
func TestFigure(t *testing.T) {
	r := large(t, 1, 0)
	r.Devices[0].Cases[0].Touched = r.Devices[0].Cases[0].Logical
	d := newView(r).Devices[0]
	f := d.Figure
	require.Len(t, f.Panels, len(d.Classes))
	axes := shapes(t, f.Axes)
	var widths []string
	var slots []float64
	at := map[string]float64{} // of the marks on the left, and of the lines
	for _, s := range axes {
		switch {
		case s.class == "label middle" && s.y > panelHeight-15 && s.text != "bits":
			widths, slots = append(widths, s.text), append(slots, s.x)
		case strings.HasPrefix(s.class, "limit"):
			at[s.class] = s.y
		}
	}
	assert.Equal(t, []string{"2", "4", "8", "16", "32", "64", "128"}, widths)
	assert.Len(t, at, len(d.Limits))
	style := d.Limits[slices.IndexFunc(d.Limits, func(l limit) bool { return l.GBps == d.roof })].Style
	roof, ok := at["limit "+style]
	require.True(t, ok)
	assert.True(t, slices.ContainsFunc(axes, func(s shape) bool {
		return s.text == "1" && s.x > panelWidth/2 && math.Abs(s.y-letters/3-roof) < 2
	}), "the whole of the roof is at the roof")
	for i, p := range f.Panels {
		k := d.Classes[i]
		marks := map[string][]shape{}
		for _, s := range shapes(t, p.Marks) {
			marks[s.class] = append(marks[s.class], s)
		}
		require.Len(t, p.Dots, len(k.cases))
		require.Len(t, marks["dot"], len(k.cases))
		rings := 0
		for n, dot := range p.Dots {
			c := k.cases[n]
			x, y := coordinate(t, dot.X), coordinate(t, dot.Y)
			assert.InDelta(t, x, marks["dot"][n].x-3.5, .2, "what is pointed at is what is seen")
			assert.InDelta(t, y, marks["dot"][n].y, .2)
			assert.Equal(t, c.gbps < d.roof, y > roof, "%s lies below the roof if it is", c.Name)
			if strings.Contains(dot.Title, "memory moves") {
				assert.NotEqual(t, c.Touched, c.Logical, c.Name)
				assert.Greater(t, y, marks["touched"][rings].y, "memory moves more")
				rings++
			}
			assert.Contains(t, dot.Title, c.Name+": "+short(c.gbps)+" GB/s, "+number(c.ratio, 2)+" of "+c.bounded())
			if n > 0 && c.gbps > k.cases[n-1].gbps {
				assert.LessOrEqual(t, y, coordinate(t, p.Dots[n-1].Y))
			}
			slot := slots[1] - slots[0]
			assert.InDelta(t, slots[slices.Index(widths, c.width)], x, slot/2, c.Name)
		}
		assert.Len(t, marks["touched"], rings)
	}
}

// The lowest mark of the left scale leaves room for the unit of the other one.
func TestUnits(t *testing.T) {
	for low := 1.; low < 10; low += .05 {
		axes := shapes(t, newSheet(span{low: 0, high: 1, scale: plot.LinearScale{}}, gbps([]float64{low, 200}), span{}, [3]string{"GB/s", "", "bits"}).axes)
		at := slices.IndexFunc(axes, func(s shape) bool { return s.text == "bits" })
		require.GreaterOrEqual(t, at, 0)
		marks := 0
		for _, s := range axes {
			if s.class == "label end" && s.text != "" {
				marks++
				assert.Greater(t, axes[at].y-s.y, letters-1., "%s, of an axis from %v", s.text, low)
			}
		}
		assert.Greater(t, marks, 3)
	}
}

// shape is a drawn shape, with its class and begin.
type shape struct {
	class, text string
	x, y        float64
}

// shapes reads the drawing. The origin is moved to the upper left, as in SVG.
func shapes(t *testing.T, svg template.HTML) (all []shape) {
	t.Helper()
	assert.NotContains(t, svg, "style=", "the style is the page's")
	assert.NotContains(t, svg, "#", "colours are the page's")
	dec := xml.NewDecoder(strings.NewReader("<svg>" + string(svg) + "</svg>"))
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		switch e := token.(type) {
		case xml.CharData:
			if len(all) > 0 {
				all[len(all)-1].text += string(e)
			}
		case xml.StartElement:
			attr := map[string]string{}
			for _, a := range e.Attr {
				attr[a.Name.Local] = a.Value
			}
			s := shape{class: attr["class"]}
			switch e.Name.Local {
			case "path":
				_, err := fmt.Sscanf(attr["d"], "M%f,%f", &s.x, &s.y)
				require.NoError(t, err)
				s.y = panelHeight - s.y
			case "text":
				s.x, s.y = coordinate(t, attr["x"]), panelHeight+coordinate(t, attr["y"])
			default:
				continue
			}
			assert.True(t, slices.Contains(inks[1:], ink(s.class)), "class %q", s.class)
			all = append(all, s)
		}
	}
}

func coordinate(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	require.NoError(t, err)
	return v
}

// Every ink is converted to its class.
func TestInks(t *testing.T) {
	s := newSheet(span{low: 0, high: 1, scale: plot.LinearScale{}}, gbps([]float64{1, 10}), span{}, [3]string{})
	for _, i := range inks[1:] {
		for _, p := range []plot.Plotter{
			across(span{high: 1}, 5, ""), dots(plotter.XYs{{X: .5, Y: 5}}, i, draw.CircleGlyph{}, 3), dots(plotter.XYs{{X: .5, Y: 5}}, i, draw.RingGlyph{}, 3),
		} {
			if line, ok := p.(*plotter.Line); ok {
				line.LineStyle = i.line()
			}
			drawn := shapes(t, s.draw(p))
			require.Len(t, drawn, 1)
			assert.Equal(t, string(i), drawn[0].class)
		}
		assert.Contains(t, style, "."+strings.Fields(string(i))[0]+" {", "page.css has it")
	}
}

func TestSteps(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      []float64
	}{
		{1.05, 21, []float64{2, 5, 10, 20}},
		{.3, 4, []float64{.5, 1, 2}},
		{90, 110, []float64{100}},
		{23, 29, nil},
		{1e-3, 1e4, []float64{1e-3, 1e-1, 1e1, 1e3}},
	} {
		assert.Equal(t, c.want, steps(c.low, c.high), "%+v", c)
	}
	assert.Less(t, len(steps(1e-99, 1e99)), 10)
}
