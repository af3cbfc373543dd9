package page

import "strconv"

// bars are those of a case: the device's, and below it each peer's.
type bars struct {
	Name  string
	Error string // instead of the device's
	Bad   bool
	Bars  []bar
}

type bar struct{ Style, Width, Text, Title string }

// full is how many hundredths of a track the longest bar takes: its text stands
// behind it.
const full = 76

// bars draws the cases of each class, all on one scale.
func (d *deviceView) bars() {
	longest := d.longest()
	for _, k := range d.Classes {
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

// longest is the largest rate that there is.
func (d *deviceView) longest() float64 {
	longest := d.roof
	for _, c := range d.cases {
		longest = max(longest, c.gbps)
		for _, f := range c.peers {
			longest = max(longest, f.gbps)
		}
	}
	return longest
}

// Roof is where the roof crosses tracks, in hundredths of them; "": there is none.
func (d *deviceView) Roof() string {
	if d.roof == 0 {
		return ""
	}
	return width(d.roof, d.longest())
}

func width(v, longest float64) string { return strconv.FormatFloat(v/longest*full, 'f', 1, 64) }
