package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Observation is one quantity in the readings of all passes.
type Observation struct {
	Name string // such as "clock"
	Text string // such as "1755 to 1980 MHz"
	Note string // a warning in a sentence, or ""
}

// quantity is a number in readings.
type quantity struct {
	name, unit, share string // share: the whole that it is a part of
	of                func(*Reading) (value float64, told bool)
	apart             func(old, now float64) bool // whether a change matters; nil: never
	changed           string                      // a format: old and new
	note              string                      // a format: a value above much
}

// much is the threshold, in percent, for shares of the processors' time and for changes of
// clocks.
const much = 5.

func positive(n int) (float64, bool) { return float64(n), n > 0 }

func percents(part *float64) (float64, bool) { return 100 * deref(part), part != nil }

const ofProcessors = " of the processors' time"

var quantities = []quantity{
	{
		name: "clock", unit: "MHz", of: func(r *Reading) (float64, bool) { return positive(r.MHz) },
		apart: byPercent, changed: "the clock was %s, and is %s",
	},
	{
		name: "memory's clock", unit: "MHz", of: func(r *Reading) (float64, bool) { return positive(r.MemoryMHz) },
		apart: byPercent, changed: "the memory's clock was %s, and is %s",
	},
	{name: "temperature", unit: "°C", of: func(r *Reading) (float64, bool) { return positive(r.Celsius) }},
	{name: "power", unit: "W", of: func(r *Reading) (float64, bool) { return r.Watts, r.Watts > 0 }},
	{
		name: "taken by other guests", unit: "%", share: ofProcessors, of: func(r *Reading) (float64, bool) { return percents(r.Steal) },
		apart: byPoints, changed: "other guests of the machine took %s" + ofProcessors + ", and take %s",
		note: "Other guests of the machine took %s: read figures of processors with care.",
	},
	{
		name: "taken by other processes", unit: "%", share: ofProcessors, of: func(r *Reading) (float64, bool) { return percents(r.Others) },
		apart: byPoints, changed: "other processes took %s" + ofProcessors + ", and take %s",
		note: "Other processes took %s: read figures of processors with care.",
	},
}

func byPercent(old, now float64) bool { return math.Abs(now-old) > much/100*old }

func byPoints(old, now float64) bool { return math.Abs(now-old) > much }

// told are the values of the passes that have one, sorted.
func (q *quantity) told(r *Result) (all []float64) {
	for i := range r.Readings {
		if v, ok := q.of(&r.Readings[i]); ok {
			all = append(all, v)
		}
	}
	slices.Sort(all)
	return all
}

// text is a range, or one number.
func (q *quantity) text(low, high float64) string {
	from, to := fmt.Sprintf("%.0f", low), fmt.Sprintf("%.0f", high)
	if from != to {
		from += " to " + to
	}
	return from + " " + q.unit
}

// held counts the passes in which the device was held back and those with a reading, and lists
// the reasons.
func (r *Result) held() (passes, told int, why string) {
	var reasons []string
	for _, one := range r.Readings {
		if one.HeldBack != nil {
			told++
		}
		if len(one.HeldBack) > 0 {
			passes++
		}
		for _, reason := range one.HeldBack {
			if !slices.Contains(reasons, reason) {
				reasons = append(reasons, reason)
			}
		}
	}
	return passes, told, strings.Join(reasons, ", ")
}

// Observations summarize the readings.
func (r *Result) Observations() (all []Observation) {
	for i := range quantities {
		q := &quantities[i]
		told := q.told(r)
		if len(told) == 0 {
			continue
		}
		high := told[len(told)-1]
		o := Observation{Name: q.name, Text: q.text(told[0], high) + q.share}
		if q.note != "" && high > much {
			o.Note = fmt.Sprintf(q.note, o.Text)
		}
		all = append(all, o)
	}
	if passes, told, why := r.held(); passes > 0 {
		text := fmt.Sprintf("in %d of %d passes (%s)", passes, told, why)
		all = append(all, Observation{"held back", text, "The device's clocks were held back " + text + ": it may be faster than these figures."})
	} else if told > 0 {
		all = append(all, Observation{Name: "held back", Text: "never"})
	}
	return all
}

// meanwhile lists the changes of the machine since an older run, by the medians of
// readings. Being held back is a change if its share of passes differs by half.
func (r *Result) meanwhile(old *Result) (all []string) {
	for i := range quantities {
		q := &quantities[i]
		before, now := q.told(old), q.told(r)
		if q.apart == nil || len(before) == 0 || len(now) == 0 {
			continue
		}
		if b, n := before[len(before)/2], now[len(now)/2]; q.apart(b, n) {
			all = append(all, fmt.Sprintf(q.changed, q.text(b, b), q.text(n, n)))
		}
	}
	was, toldBefore, whyBefore := old.held()
	is, told, why := r.held()
	if toldBefore > 0 && told > 0 && math.Abs(float64(was)/float64(toldBefore)-float64(is)/float64(told)) >= .5 {
		count := func(n, of int, why string) string {
			text := fmt.Sprintf("in %d of %d passes", n, of)
			if n > 0 {
				text += " (" + why + ")"
			}
			return text
		}
		all = append(all, fmt.Sprintf("it was held back %s, and is %s", count(was, toldBefore, whyBefore), count(is, told, why)))
	}
	return all
}
