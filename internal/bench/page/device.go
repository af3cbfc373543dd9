package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/restride/restride/internal/bench/report"
)

// deviceView is the results of a device.
type deviceView struct {
	Anchor, Label, Name string
	Sector              string
	Summary             string
	Lowest              *lowest // nil: no case has figures
	Facts               []fact
	Notes               []note
	Rates, Times        []bound
	Limits              []limit
	Peers               []*peerView
	Classes             []*class
	Layouts             *layouts // nil: no cases
	Figure              *figure  // nil: nothing to draw
	Table               *table

	id    string
	size  int64
	alone bool    // all calls use one pair of buffers: see report.Result.Cached
	roof  float64 // of copies
	fill  float64 // and of fills

	fastest string // the plain copy that is the roof
	cases   []*caseView
}

// bound is a line of the tables of the roofline.
type bound struct{ Name, Figure, Spread, Note string }

// limit is a line of the roofline in figures.
type limit struct {
	Name, Style string // Style is its line's
	Text        string
	GBps        float64
}

// caseView is a case. A missing figure is 0.
type caseView struct {
	*report.CaseResult
	layout, width                 string // of the name
	median                        float64
	spread                        float64 // may be 0; below: none
	gbps, ratio, memcpy, touching float64 // touching: the rate of touched bytes
	touched                       float64 // and its ratio
	peers                         []figures
}

// class is a class of cases.
type class struct {
	Name, About string
	Roof        string // its line, in hundredths of a track; "": none
	Bars        []bars

	cases []*caseView
}

func newDevice(anchor, label string, r *report.Result) *deviceView {
	d := &deviceView{Anchor: anchor, Label: label, Name: r.Device.Name, Sector: sector(r.Sector), Facts: facts(
		fact{"driver", r.Device.Driver},
		fact{"vendor", r.Device.Vendor},
		fact{"kind", string(r.Device.Kind)},
		fact{"memory", binary(r.Device.Memory)},
		fact{"highest clock", megahertz(r.Device.MHz)},
		fact{"size of a case", about(r.Size)},
		fact{"buffers", buffers(r)},
		fact{"passes", positive(r.Passes)},
		fact{"times by", clock(r.Clock)},
		fact{"unit of touched bytes", binary(r.Sector)},
		fact{"took", seconds(r.Seconds)},
	)}
	for _, o := range r.Observations() {
		d.Facts = append(d.Facts, fact{o.Name, o.Text})
	}
	d.bounds(r.Roofline)
	for i, p := range sane(r.Peers) {
		d.Peers = append(d.Peers, &peerView{Name: p.Name, Device: p.Device, Style: fmt.Sprintf("p%d", i%palette+1), peer: p})
	}
	for _, c := range r.Cases {
		if c != nil {
			d.cases = append(d.cases, d.newCase(c))
		}
	}
	for i, p := range d.Peers {
		p.summarize(d.cases, i)
	}
	d.classify()
	d.summarize()
	d.notes(r)
	d.Figure = d.figure()
	d.bars()
	d.Table = d.table()
	d.id, d.size, d.alone, d.Layouts = r.Device.ID, r.Size, r.Cached, d.layouts()
	return d
}

// palette is the number of the style's colours for peers.
const palette = 6

func about(size int64) string {
	if size <= 0 {
		return ""
	}
	return "about " + binary(size)
}

func sector(n int64) string {
	if n <= 0 {
		return ""
	}
	return binary(n)
}

// buffers says whether figures are about caches.
func buffers(r *report.Result) string {
	if r.Cached {
		return "the same each time: caches hold them"
	}
	most := int64(0)
	for _, c := range r.Cases {
		if c != nil {
			most = max(most, c.Rotated)
		}
	}
	if most == 0 {
		return ""
	}
	return "take turns, of " + binary(most) + " or less in all"
}

func clock(of string) string {
	switch of {
	case "device":
		return "the device's clock: its events keep time"
	case "host":
		return "the host's clock"
	}
	return of
}

func seconds(s float64) string {
	if sound(s) == 0 {
		return ""
	}
	return short(s) + " s"
}

// bounds fills in the roofline.
func (d *deviceView) bounds(r *report.Roofline) {
	if r == nil {
		return
	}
	fastest := r.Fastest()
	lines := []*report.Rate{r.Copy, r.Driver, r.Memcpy, r.Fill} // one for each style of the page
	parts := r.Parts()
	if r.CopyAfter != nil {
		parts = append(parts, report.Part{About: "dense copy, when all was done", Time: &r.CopyAfter.Timing, Bytes: r.CopyAfter.Bytes})
	}
	for _, p := range parts {
		if p.Time == nil || sound(p.Time.Median) == 0 {
			continue
		}
		b := bound{Name: p.About, Figure: p.Figure(), Spread: spread(p.Time.Spread())}
		if p.Bytes <= 0 {
			d.Times = append(d.Times, b)
			continue
		}
		gbps := over(float64(p.Bytes), p.Time.Median)
		if gbps == 0 {
			continue
		}
		is := func(of *report.Rate) bool { return of != nil && p.Time == &of.Timing }
		if is(fastest) {
			d.roof, d.fastest = gbps, p.About
		}
		if is(r.Fill) {
			d.fill = gbps
		}
		if is(r.Copy) {
			b.Note = r.Kernel
		}
		d.Rates = append(d.Rates, b)
		if i := slices.IndexFunc(lines, is); i >= 0 {
			d.Limits = append(d.Limits, limit{p.About, fmt.Sprintf("l%d", i), short(gbps), gbps})
		}
	}
}

// bounded names its roof.
func (c *caseView) bounded() string {
	if c.Fills() {
		return "the plain fill"
	}
	return "the roof"
}

func (d *deviceView) newCase(c *report.CaseResult) *caseView {
	v := &caseView{CaseResult: c, layout: c.Name, spread: -1, peers: make([]figures, len(d.Peers))}
	if at := strings.LastIndexByte(c.Name, '/'); at >= 0 && bits(c.Name[at+1:]) != none { // otherwise it has no width, like a user's own
		v.layout, v.width = c.Name[:at], c.Name[at+1:]
	}
	if c.Error != "" || c.Time == nil || sound(c.Time.Median) == 0 {
		return v
	}
	v.median = c.Time.Median
	if s := c.Time.Spread(); s == 0 || sound(s) > 0 {
		v.spread = s
	}
	v.gbps, v.ratio, v.memcpy, v.touched = sound(c.GBps), sound(c.Ratio), sound(c.MemcpyRatio), sound(c.TouchedRatio)
	v.touching = over(float64(c.Touched), v.median)
	for i, p := range d.Peers {
		v.peers[i] = p.figures(c)
	}
	return v
}

// classify groups the cases by class, in the order of the first cases.
func (d *deviceView) classify() {
	at := map[string]*class{}
	for _, c := range d.cases {
		k := at[c.Class]
		if k == nil {
			k = &class{Name: cmp.Or(c.Class, "no class")}
			at[c.Class] = k
			d.Classes = append(d.Classes, k)
		}
		k.cases = append(k.cases, c)
	}
	for _, k := range d.Classes {
		k.About = count(len(k.cases), "case")
		if m := median(ratios(k.cases)); m > 0 {
			k.About += ", median " + number(m, 2) + " of " + k.cases[0].bounded()
		}
	}
}

func ratios(cases []*caseView) []float64 {
	var all []float64
	for _, c := range cases {
		if c.ratio > 0 {
			all = append(all, c.ratio)
		}
	}
	return all
}

// lowest is the case furthest below the roof.
type lowest struct{ Name, Text string }

// summarize writes the summary sentence.
func (d *deviceView) summarize() {
	if d.roof > 0 {
		d.Summary = fmt.Sprintf("The roof is %s GB/s: the fastest plain copy (%s). ", short(d.roof), d.fastest)
	}
	all, near, least := ratios(d.cases), 0, math.Inf(1)
	for _, c := range d.cases {
		if c.ratio >= .9 {
			near++
		}
		if c.ratio > 0 && c.ratio < least {
			least, d.Lowest = c.ratio, &lowest{c.Name, number(c.ratio, 2)}
		}
	}
	if d.Lowest == nil {
		d.Summary += "No case has figures."
		return
	}
	d.Summary += fmt.Sprintf("Of %s, half reach %s of the roof or more, and %d reach 0.90", count(len(all), "layout operation"), number(median(all), 2), near)
}

// notes lists the limits of the figures.
func (d *deviceView) notes(r *report.Result) {
	var failed, unsupported []string
	noisy, missing := 0, 0
	for _, c := range d.cases {
		switch {
		case c.Failed():
			failed = append(failed, c.Name+": "+c.Error)
		case c.Unsupported:
			unsupported = append(unsupported, c.Name+": "+c.Error)
		case c.Time == nil:
			missing++
		case c.spread > .2:
			noisy++
		}
	}
	if len(failed) > 0 {
		d.Notes = append(d.Notes, note{true, count(len(failed), "case") + " failed.", first(failed)})
	}
	if len(unsupported) > 0 {
		d.Notes = append(d.Notes, note{false, count(len(unsupported), "case") + " unsupported here.", first(unsupported)})
	}
	if missing > 0 {
		d.Notes = append(d.Notes, note{Text: count(missing, "case") + " not measured: the run ended before."})
	}
	if f := r.Roofline; f != nil && f.Copy != nil && f.CopyAfter != nil {
		if then := over(f.CopyAfter.GBps, f.Copy.GBps); then > 0 && (then < .9 || then > 1.1) {
			d.Notes = append(d.Notes, note{Text: fmt.Sprintf("The machine did not stay as it was: when all was done, the dense copy was at %s of its first rate.", number(then, 2))})
		}
	}
	for _, p := range d.Peers {
		if n := len(p.failures); n > 0 {
			d.Notes = append(d.Notes, note{Text: p.Name + ": " + count(n, "case") + " failed there.", Items: first(p.failures)})
		}
	}
	for _, o := range r.Observations() {
		if o.Note != "" {
			d.Notes = append(d.Notes, note{Text: o.Note})
		}
	}
	if noisy > 0 {
		d.Notes = append(d.Notes, note{Text: fmt.Sprintf("In %s some pass is more than 20 %% from the median (column ±): read these with care.", count(noisy, "case"))})
	}
}

// first returns the first few of many lines.
func first(lines []string) []string {
	const few = 8
	if len(lines) <= few {
		return lines
	}
	return append(lines[:few:few], fmt.Sprintf("and %d more: see the table", len(lines)-few))
}
