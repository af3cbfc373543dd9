package page

import "strconv"

// bars are a case's bars: the device's, and below it each peer's.
type bars struct {
	Name  string
	Error string // instead of the device's
	Bad   bool
	Bars  []bar
}

type bar struct{ Style, Width, Text, Title string }

// full is the longest bar in hundredths of its track, which must leave room for its text.
const full = 70

// bars draws the cases of each class, all on one scale.
func (d *deviceView) bars() {
	longest := d.longest()
	for _, k := range d.Classes {
		roof := d.roof
		if k.cases[0].Fills() {
			roof = d.fill
		}
		if roof > 0 {
			k.Roof = width(roof, longest)
		}
		for _, c := range k.cases {
			b := bars{Name: c.Name}
			switch {
			case c.gbps > 0:
				text := short(c.gbps)
				if c.ratio > 0 {
					text += " · " + number(c.ratio, 2)
				}
				b.Bars = append(b.Bars, bar{"us", width(c.gbps, longest), text, d.Label})
			case c.Unsupported:
				b.Error = "unsupported"
			case c.CaseResult.Error != "":
				b.Error, b.Bad = "failed", true
			default:
				b.Error = "no figure"
			}
			for i, p := range d.Peers {
				if f := c.peers[i]; f.gbps > 0 {
					text := short(f.gbps)
					if f.faster > 0 {
						text += " · " + times(f.faster)
					}
					b.Bars = append(b.Bars, bar{p.Style, width(f.gbps, longest), text, p.Name})
				}
			}
			k.Bars = append(k.Bars, b)
		}
	}
}

// longest is the largest rate.
func (d *deviceView) longest() float64 {
	longest := max(d.roof, d.fill)
	for _, c := range d.cases {
		longest = max(longest, c.gbps)
		for _, f := range c.peers {
			longest = max(longest, f.gbps)
		}
	}
	return longest
}

// Roof reports whether the roof has a line.
func (d *deviceView) Roof() bool { return d.roof > 0 }

func width(v, longest float64) string { return strconv.FormatFloat(v/longest*full, 'f', 1, 64) }
