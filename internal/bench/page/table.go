package page

import (
	"cmp"
	"math"
	"slices"
	"strconv"
)

// table can be sorted by any column, and filtered.
type table struct {
	Label   string // for screen readers
	Groups  []group
	Heads   []head
	Rows    []row
	Classes []string
}

// group is a cell of the first line of heads: a peer's or a device's, above its columns, or a
// single column's.
type group struct {
	Text, Style string
	Span        int // 0: Head spans both lines
	Head        *head
}

// head is the head of a column.
type head struct {
	Text, Title string
	At          int
	Number      bool
	Tall        bool   // through both lines
	Screen      bool   // omitted on paper
	Find        bool   // the filter searches it
	Sorted      string // "ascending", or ""
}

type row struct {
	Bad   bool
	Cells []cell
}

// cell has the key by which a figure is sorted; without one it is last. Why is a tooltip.
type cell struct{ Text, Key, Style, Why string }

// add adds a column of its own.
func (t *table) add(text, title string, isNumber bool) *head {
	h := &head{Text: text, Title: title, At: t.columns(), Number: isNumber, Tall: true, Find: !isNumber}
	t.Groups = append(t.Groups, group{Head: h})
	return h
}

// addGroup adds columns of figures below one head.
func (t *table) addGroup(text, style string, columns ...head) {
	at := t.columns()
	for i, h := range columns {
		h.At, h.Number = at+i, true
		t.Heads = append(t.Heads, h)
	}
	t.Groups = append(t.Groups, group{Text: text, Style: style, Span: len(columns)})
}

func (t *table) columns() int {
	n := 0
	for _, g := range t.Groups {
		n += max(g.Span, 1)
	}
	return n
}

// sort puts the rows into the order of a column, those without a figure last.
func (t *table) sort(by *head) {
	by.Sorted = "ascending"
	of := func(r row) float64 {
		v, err := strconv.ParseFloat(r.Cells[by.At].Key, 64)
		if err != nil {
			return math.Inf(1)
		}
		return v
	}
	slices.SortStableFunc(t.Rows, func(a, b row) int { return cmp.Compare(of(a), of(b)) })
}

func text(s string) cell { return cell{Text: s} }

// quantity is a cell with a figure and its text, or with none.
func quantity(v float64, text string) cell {
	if sound(v) == 0 {
		return cell{Text: none, Style: "none"}
	}
	return cell{Text: text, Key: key(v)}
}

func key(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// Tooltips of the heads of rates and ratios.
const (
	aboutRate  = "bytes that a case reads and writes (a fill only writes, a take also reads its indices), by time"
	aboutRatio = "GB/s by the roof, for a fill by the plain fill: the median of passes"
)

// decimals of a column of rates.
func decimals(rates []float64) int {
	for _, v := range rates {
		if v >= 100 {
			return 1
		}
	}
	return 2
}

// table has all cases of a device, those with the lowest ratio first.
func (d *deviceView) table() *table {
	if len(d.cases) == 0 {
		return nil
	}
	t := &table{Label: "every case on " + d.Label}
	var rates []float64
	unit, per, places := "µs", 1e3, 1
	var medians []float64
	errors := false
	for _, c := range d.cases {
		rates = append(rates, c.gbps)
		for _, f := range c.peers {
			rates = append(rates, f.gbps)
		}
		medians = append(medians, c.median)
		errors = errors || c.CaseResult.Error != ""
	}
	if median(medians) >= 1e6 {
		unit, per, places = "ms", 1e6, 3
	}
	dec := decimals(rates)

	t.add("case", "a layout, and the width of its elements in bits", false)
	t.add("class", "what is hard about it", false)
	t.add(unit, "median time", true)
	t.add("±", "how far single passes are from the median, at most, as a part of it", true)
	t.add("GB/s", aboutRate, true)
	ratio := t.add("ratio", aboutRatio, true)
	t.add("memcpy", "GB/s by those of memcpy by two goroutines", true)
	t.add("touched", "what memory moves at the least, by time, by the roof", true)
	for _, p := range d.Peers {
		name := p.Name
		if p.Device != "" {
			name += ", " + p.Device
		}
		t.addGroup(name, p.Style, head{Text: "GB/s", Title: "of the same bytes"}, head{Text: "faster", Title: "its time by ours: above 1, ours is the faster one"})
	}
	t.add("kernel", "that the device's planner chose", false)
	if errors {
		t.add("error", "why there are no figures", false).Find = false
	}
	for _, h := range []*head{t.add("verified", "what was held against the oracle", false), t.add("as restride verify --case takes it", "", false)} {
		h.Screen, h.Find = true, false // as they name extents, of any number
	}

	for _, c := range d.cases {
		r := row{Bad: c.Failed(), Cells: []cell{
			text(c.Name), text(c.Class),
			quantity(c.median/per, number(c.median/per, places)),
			c.spreadCell(),
			quantity(c.gbps, number(c.gbps, dec)), quantity(c.ratio, number(c.ratio, 2)),
			quantity(c.memcpy, number(c.memcpy, 2)), quantity(c.touched, number(c.touched, 2)),
		}}
		for _, f := range c.peers {
			r.Cells = append(r.Cells, f.cells(dec)...)
		}
		r.Cells = append(r.Cells, cell{Text: c.Kernel, Style: "code"})
		if errors {
			r.Cells = append(r.Cells, cell{Text: c.CaseResult.Error, Style: "error"})
		}
		r.Cells = append(r.Cells, cell{Text: c.Verified, Style: "screen"}, cell{Text: c.Case, Style: "screen code"})
		t.Rows = append(t.Rows, r)
	}
	t.Classes = classes(d.Classes)
	t.sort(ratio)
	return t
}

func (c *caseView) spreadCell() cell {
	if c.spread < 0 {
		return quantity(0, "")
	}
	return cell{Text: spread(c.spread), Key: key(100 * c.spread)}
}

// cells of a peer: its rate, or the reason for a missing one, and how much faster the device
// is.
func (f figures) cells(decimals int) []cell {
	rate, faster := quantity(f.gbps, number(f.gbps, decimals)), quantity(f.faster, number(f.faster, 2)+"×")
	if f.lack != "" {
		rate = cell{Text: f.lack, Style: "why", Why: f.why}
	}
	if f.failed {
		rate.Style = "why bad"
	}
	if f.faster > 0 && f.faster < 1 {
		faster.Style = "behind"
	}
	return []cell{rate, faster}
}

func classes(of []*class) []string {
	var names []string
	for _, k := range of {
		names = append(names, k.cases[0].Class)
	}
	return names
}
