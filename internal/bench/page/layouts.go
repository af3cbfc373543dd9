package page

import (
	"fmt"
	"math"
	"slices"
)

// layouts is the overview of a device: the part of the roof that each layout reaches, at
// each width, by class. Warm colours are slow.
type layouts struct {
	Widths  []string
	Classes []layoutClass
}

type layoutClass struct {
	Name, Median string
	Rows         []layoutRow
}

type layoutRow struct {
	Name  string
	Cells []heat
}

// heat is a case. Step is its colour: q1, slow, to q5; "": it has none.
type heat struct{ Text, Title, Step string }

// warmth is the thresholds of the colours, in parts of the roof.
var warmth = []struct {
	Step, Text string
	least      float64
}{{"q5", "0.9 or more", .9}, {"q4", "¾ or more", .75}, {"q3", "½ or more", .5}, {"q2", "¼ or more", .25}, {"q1", "less of the roof", 0}}

// Steps are for the legend.
func (layouts) Steps() any { return warmth }

func (d *deviceView) layouts() *layouts {
	l := new(layouts)
	var widths []string
	for _, c := range d.cases {
		if !slices.Contains(widths, c.width) {
			widths = append(widths, c.width)
		}
	}
	if len(widths) == 0 {
		return nil
	}
	slices.SortFunc(widths, byNumber)
	for _, w := range widths {
		l.Widths = append(l.Widths, bits(w))
	}
	for _, k := range d.Classes {
		of := layoutClass{Name: k.Name, Median: number(median(ratios(k.cases)), 2)}
		var names []string
		rows := map[string][]*caseView{} // by name and column
		for _, c := range k.cases {
			if rows[c.layout] == nil {
				names = append(names, c.layout)
				rows[c.layout] = make([]*caseView, len(widths))
			}
			if at := &rows[c.layout][slices.Index(widths, c.width)]; *at == nil || c.ratio < (*at).ratio {
				*at = c
			}
		}
		for _, name := range names {
			r := layoutRow{Name: name}
			for _, c := range rows[name] {
				r.Cells = append(r.Cells, c.heat())
			}
			of.Rows = append(of.Rows, r)
		}
		l.Classes = append(l.Classes, of)
	}
	return l
}

func (c *caseView) heat() heat {
	switch {
	case c == nil:
		return heat{}
	case c.Failed():
		return heat{"fails", c.Name + ": " + c.CaseResult.Error, "bad"}
	case c.Unsupported:
		return heat{"no", c.Name + ": " + c.CaseResult.Error, "none"}
	case c.ratio == 0:
		return heat{none, c.Name + ": no figure", "none"}
	}
	h := heat{Text: number(c.ratio, 2), Title: fmt.Sprintf("%s: %s GB/s", c.Name, short(c.gbps))}
	if len(h.Text) > len("0.00") { // a cell has no room for more
		h.Text, h.Title = short(c.ratio), h.Title+fmt.Sprintf(", %s of %s", h.Text, c.bounded())
	}
	if c.ratio < .005 {
		h.Text = "<.01"
	}
	shown := math.Round(100*c.ratio) / 100 // a displayed 0.50 counts as a half
	for _, w := range warmth {
		if h.Step = w.Step; shown >= w.least {
			break
		}
	}
	return h
}
