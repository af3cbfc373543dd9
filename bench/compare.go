package bench

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// least is the change of a time that is worth a word.
const least = .10

// Verdict is what a change comes to.
type Verdict string

// The verdicts.
const (
	Same   Verdict = "same"
	Faster Verdict = "faster"
	Slower Verdict = "SLOWER"
	// Unclear: the time changed, and the machine did, too; or neither the time did
	// nor the machine, by much, but one against the other.
	Unclear Verdict = "unclear"
	// Lost: what was measured before fails now, or is unsupported.
	Lost Verdict = "LOST"
)

// Change is one thing in two runs.
type Change struct {
	Device   string
	Size     int64
	Name     string
	Old, New *Timing // New is nil where it is lost
	// Speed is the new speed by the old one; Relative is the same after both are
	// divided by the yardstick's speed in their own run: a machine that is slower
	// altogether changes only the former.
	Speed, Relative float64
	Verdict         Verdict
}

// Comparison is two runs, side by side.
type Comparison struct {
	Machines []string // how the yardsticks changed
	Changes  []Change
	Skipped  []string // what was not compared, and why
}

// Compare holds what a report has against an older one, where both measured the
// same: a device of the same name, size, clock and shape.
//
// A change counts where three things hold both of the times and of the times in
// terms of the yardstick's in the same pass (a memcpy; where there is none the
// driver's copy; else our own): the medians differ by more than a tenth, and all
// passes of one run are on one side of all of the other. Of two runs of 6 passes
// that do not differ, 2 of 924 are apart like that: it is a permutation test, and
// asks nothing of how times are distributed, but that passes are independent. What
// slows the machine for as long as a whole run breaks that, for which there is the
// yardstick.
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
	c.Skipped = append(c.Skipped, fmt.Sprintf(format, args...))
}

// results compares what one device did at one size.
func (c *Comparison) results(old, now *Result, where string) {
	if old.Device.Driver != now.Device.Driver {
		c.Machines = append(c.Machines, fmt.Sprintf("%s: the driver was %q, and is %q", where, old.Device.Driver, now.Device.Driver))
	}
	for _, m := range now.meanwhile(old) {
		c.Machines = append(c.Machines, where+": "+m)
	}
	name, before, yard := yardsticks(old.Roofline, now.Roofline)
	if yard == nil {
		c.skip("%s: one of the runs has no roofline", where)
		return
	}
	c.Machines = append(c.Machines, fmt.Sprintf("%s: %s, the yardstick, is at %.2f of the speed that it had", where, name, before.Median/yard.Median))
	add := func(name string, o, n *Timing) {
		if o == nil && n == nil {
			return
		}
		change := Change{Device: now.Device.ID, Size: now.Size, Name: name, Old: o, New: n, Verdict: Lost}
		switch {
		case o == nil:
			c.skip("%s: %s: not in the old report", where, name)
			return
		case n != nil:
			oldRelative, newRelative := relative(o, before), relative(n, yard)
			change.Speed, change.Relative = o.Median/n.Median, oldRelative.Median/newRelative.Median
			change.Verdict = verdict(beyond(o, n), beyond(&oldRelative, &newRelative))
		}
		c.Changes = append(c.Changes, change)
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

// yardsticks are what both runs have of what is not ours.
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

// relative is a timing in terms of another of the same run, pass by pass: the inverse
// of the other one in terms of it.
func relative(t, yard *Timing) Timing {
	if n := min(len(t.Passes), len(yard.Passes)); n >= 2 {
		parts := make([]float64, n)
		for i := range parts {
			parts[i] = t.Passes[i] / yard.Passes[i]
		}
		out := newTiming(slices.Clone(parts), 1)
		out.Passes = parts
		return out
	}
	low, high := t.Range()
	return Timing{Median: t.Median / yard.Median, Q1: low / yard.Median, Q3: high / yard.Median}
}

// beyond is 1 where the new time is longer beyond noise, -1 where it is shorter.
func beyond(old, now *Timing) int {
	oldLow, oldHigh := old.Range()
	low, high := now.Range()
	switch {
	case now.Median > old.Median*(1+least) && low > oldHigh:
		return 1
	case old.Median > now.Median*(1+least) && high < oldLow:
		return -1
	}
	return 0
}

func verdict(raw, relative int) Verdict {
	switch {
	case raw != relative:
		return Unclear
	case raw > 0:
		return Slower
	case raw < 0:
		return Faster
	}
	return Same
}

// Regressions are the changes for the worse.
func (c *Comparison) Regressions() []Change {
	return slices.DeleteFunc(slices.Clone(c.Changes), func(x Change) bool { return x.Verdict != Slower && x.Verdict != Lost })
}

// Print prints the comparison for people.
func (c *Comparison) Print(w io.Writer) {
	for _, m := range c.Machines {
		fmt.Fprintln(w, m)
	}
	width, counts := len("change"), map[Verdict]int{}
	for _, x := range c.Changes {
		width = max(width, len(x.Name))
	}
	where := ""
	for _, x := range c.Changes {
		if at := x.Device + " at " + mebibytes(x.Size); at != where {
			where = at
			fmt.Fprintf(w, "\n%-*s  %11s  %4s  %11s  %4s  %7s  %9s\n", width, where, "old µs", "±", "new µs", "±", "speed", "relative")
		}
		counts[x.Verdict]++
		fmt.Fprintf(w, "%-*s  %11.3f  %4s", width, x.Name, x.Old.Median/1e3, percent(x.Old.Spread()))
		if x.New != nil {
			fmt.Fprintf(w, "  %11.3f  %4s  %7.2f  %9.2f", x.New.Median/1e3, percent(x.New.Spread()), x.Speed, x.Relative)
		}
		fmt.Fprintf(w, "  %s\n", x.Verdict)
	}
	if len(c.Skipped) > 0 {
		fmt.Fprintf(w, "\nnot compared:\n  %s\n", strings.Join(c.Skipped, "\n  "))
	}
	fmt.Fprintf(w, "\nspeed: the new one by the old; relative: the same in terms of the yardstick in the same pass\n")
	fmt.Fprintf(w, "a change is one of more than %s by both, in which no pass of one run is among those of the other\n", percent(least))
	if worse := c.Regressions(); len(worse) > 0 {
		fmt.Fprintln(w, "\nregressions:")
		for _, x := range worse {
			fmt.Fprintf(w, "  %s at %s: %s: %s", x.Device, mebibytes(x.Size), x.Name, strings.ToLower(string(x.Verdict)))
			if x.New != nil {
				fmt.Fprintf(w, ": %.2f of its speed", x.Speed)
			}
			fmt.Fprintln(w)
		}
	}
	fmt.Fprintf(w, "%d slower, %d lost, %d faster, %d the same, %d unclear, %d not compared\n",
		counts[Slower], counts[Lost], counts[Faster], counts[Same], counts[Unclear], len(c.Skipped))
}
