package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// least is the smallest change that counts, as a part of the smaller time.
const least = .10

// verdict says whether a time changed.
type verdict string

const (
	same   verdict = "same"
	faster verdict = "faster"
	slower verdict = "SLOWER"
	// unclear: the time and the time relative to the yardstick have different verdicts, for
	// example when the speed of the whole machine has changed.
	unclear verdict = "unclear"
	// lost: there is no new time.
	lost verdict = "LOST"
)

// change is one figure of two runs.
type change struct {
	device   string
	size     int64
	name     string
	old, new *Timing // new is nil where it is lost
	// speed is the old median time by the new one; relative is the same for the times relative
	// to the yardstick, which a slower machine does not change.
	speed, relative float64
	verdict         verdict
}

// Comparison is two reports, side by side.
type Comparison struct {
	machines []string // changes of the machines, and of their yardsticks
	changes  []change
	skipped  []string // what was not compared, and why
}

// Compare compares a report with an older one, where both have the same device, size,
// clock and case.
//
// A time changed if the medians differ by more than a tenth, and every pass of one run is
// slower than every pass of the other. It is faster or slower if the same holds for the times
// relative to the yardstick's in the same pass: memcpy, otherwise the driver's copy, otherwise
// the device's. So the yardstick itself is never slower.
//
// The second condition is a permutation test: of two runs of 6 passes that do not differ, 2 of
// 924 meet it, for any distribution of times, if passes are independent. They are dependent
// where something slows a whole run; the yardstick corrects that.
func Compare(old, now *Report) *Comparison {
	c := new(Comparison)
	for _, r := range now.Devices {
		i := slices.IndexFunc(old.Devices, func(o *Result) bool { return o.Device.ID == r.Device.ID && o.Size == r.Size })
		where := r.Device.ID + " at " + mebibytes(r.Size)
		if i < 0 {
			c.skip("%s: not in the old report", where)
			continue
		}
		switch o := old.Devices[i]; {
		case o.Device.Name != r.Device.Name:
			c.skip("%s: another device: it was %q, and is %q", where, o.Device.Name, r.Device.Name)
		case o.Clock != r.Clock:
			c.skip("%s: times were by the %s's clock, and are by the %s's", where, o.Clock, r.Clock)
		default:
			c.results(o, r, where)
		}
	}
	return c
}

func (c *Comparison) skip(format string, args ...any) {
	c.skipped = append(c.skipped, fmt.Sprintf(format, args...))
}

// results compares one device at one size.
func (c *Comparison) results(old, now *Result, where string) {
	if old.Device.Driver != now.Device.Driver {
		c.machines = append(c.machines, fmt.Sprintf("%s: the driver was %q, and is %q", where, old.Device.Driver, now.Device.Driver))
	}
	for _, m := range now.meanwhile(old) {
		c.machines = append(c.machines, where+": "+m)
	}
	name, before, yard := yardsticks(old.Roofline, now.Roofline)
	if yard == nil {
		c.skip("%s: one of the runs has no roofline", where)
		return
	}
	c.machines = append(c.machines, fmt.Sprintf("%s: %s, the yardstick, is at %.2f of the speed that it had", where, name, before.Median/yard.Median))
	add := func(name string, o, n *Timing) {
		if o == nil && n == nil {
			return
		}
		x := change{device: now.Device.ID, size: now.Size, name: name, old: o, new: n, verdict: lost}
		switch {
		case o == nil:
			c.skip("%s: %s: not in the old report", where, name)
			return
		case n != nil:
			oldRelative, newRelative := relative(o, before), relative(n, yard)
			x.speed, x.relative = o.Median/n.Median, oldRelative.Median/newRelative.Median
			x.verdict = verdictOf(beyond(o, n), beyond(&oldRelative, &newRelative))
		}
		c.changes = append(c.changes, x)
	}
	then := old.Roofline.Parts()
	for i, n := range now.Roofline.Parts() {
		add(n.Name, then[i].Time, n.Time)
	}
	for _, n := range now.Cases {
		i := slices.IndexFunc(old.Cases, func(o *CaseResult) bool { return o.Name == n.Name })
		switch {
		case i < 0:
			c.skip("%s: %s: not in the old report", where, n.Name)
		case n.Time == nil && n.Error == "":
			c.skip("%s: %s: the run was interrupted", where, n.Name)
		case n.Case != old.Cases[i].Case && n.Case != "":
			c.skip("%s: %s: another shape: it was %s, and is %s", where, n.Name, old.Cases[i].Case, n.Case)
		default:
			add(n.Name, old.Cases[i].Time, n.Time)
		}
	}
}

// yardsticks are the timings, old and new, of the first yardstick that both runs have.
func yardsticks(old, now *Roofline) (name string, o, n *Timing) {
	then := old.Parts()
	for _, want := range []string{"memcpy", "driver's copy", "dense copy"} {
		for i, t := range now.Parts() {
			if t.Name == want && t.Time != nil && then[i].Time != nil {
				return want, then[i].Time, t.Time
			}
		}
	}
	return "", nil, nil
}

// relative is a timing divided by another of the same run, pass by pass. Without
// passes, the medians are divided.
func relative(t, yard *Timing) Timing {
	if n := min(len(t.Passes), len(yard.Passes)); n >= 2 {
		parts := make([]float64, n)
		for i := range parts {
			parts[i] = t.Passes[i] / yard.Passes[i]
		}
		out := NewTiming(slices.Clone(parts), 1)
		out.Passes = parts
		return out
	}
	low, high := t.extremes()
	return Timing{Median: t.Median / yard.Median, Q1: low / yard.Median, Q3: high / yard.Median}
}

// beyond is 1 if the new time is longer beyond noise, -1 if it is shorter, otherwise 0.
func beyond(old, now *Timing) int {
	oldLow, oldHigh := old.extremes()
	low, high := now.extremes()
	switch {
	case now.Median > old.Median*(1+least) && low > oldHigh:
		return 1
	case old.Median > now.Median*(1+least) && high < oldLow:
		return -1
	}
	return 0
}

func verdictOf(raw, relative int) verdict {
	switch {
	case raw != relative:
		return unclear
	case raw > 0:
		return slower
	case raw < 0:
		return faster
	}
	return same
}

// Regressions is the number of figures that have become slower or are lost.
func (c *Comparison) Regressions() int { return len(c.worse()) }

func (c *Comparison) worse() []change {
	return slices.DeleteFunc(slices.Clone(c.changes), func(x change) bool { return x.verdict != slower && x.verdict != lost })
}

// Print prints the comparison as text.
func (c *Comparison) Print(w io.Writer) {
	for _, m := range c.machines {
		fmt.Fprintln(w, m)
	}
	width, counts := len("change"), map[verdict]int{}
	for _, x := range c.changes {
		width = max(width, len(x.name))
	}
	where := ""
	for _, x := range c.changes {
		if at := x.device + " at " + mebibytes(x.size); at != where {
			where = at
			fmt.Fprintf(w, "\n%-*s  %11s  %4s  %11s  %4s  %7s  %9s\n", width, where, "old µs", "±", "new µs", "±", "speed", "relative")
		}
		counts[x.verdict]++
		fmt.Fprintf(w, "%-*s  %11.3f  %4s", width, x.name, x.old.Median/1e3, percent(x.old.Spread()))
		if x.new != nil {
			fmt.Fprintf(w, "  %11.3f  %4s  %7.2f  %9.2f", x.new.Median/1e3, percent(x.new.Spread()), x.speed, x.relative)
		}
		fmt.Fprintf(w, "  %s\n", x.verdict)
	}
	if len(c.skipped) > 0 {
		fmt.Fprintf(w, "\nnot compared:\n  %s\n", strings.Join(c.skipped, "\n  "))
	}
	fmt.Fprintf(w, "\nspeed: the new one by the old; relative: the same in terms of the yardstick in the same pass\n")
	fmt.Fprintf(w, "a change is one of more than %s by both, in which no pass of one run is among those of the other\n", percent(least))
	if worse := c.worse(); len(worse) > 0 {
		fmt.Fprintln(w, "\nregressions:")
		for _, x := range worse {
			fmt.Fprintf(w, "  %s at %s: %s: %s", x.device, mebibytes(x.size), x.name, strings.ToLower(string(x.verdict)))
			if x.new != nil {
				fmt.Fprintf(w, ": %.2f of its speed", x.speed)
			}
			fmt.Fprintln(w)
		}
	}
	fmt.Fprintf(w, "%d slower, %d lost, %d faster, %d the same, %d unclear, %d not compared\n",
		counts[slower], counts[lost], counts[faster], counts[same], counts[unclear], len(c.skipped))
}
