package report

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// drifting makes reports of a machine of known speed: all times of a run are longer by a
// factor, those of one case by another, and each pass by a random one of up to noise.
type drifting struct {
	rng   *rand.Rand
	noise float64
}

func (d drifting) report(machine, kernel float64) *Report {
	passes := make([]float64, 6)
	for i := range passes {
		passes[i] = 1 + d.noise*(2*d.rng.Float64()-1)
	}
	timing := func(ns float64) Timing {
		var all []Timing
		for _, p := range passes { // a slower pass is slower in all its times
			here := ns * machine * p * (1 + .02*d.rng.Float64())
			all = append(all, NewTiming([]float64{here * .99, here, here * 1.01}, 1))
		}
		return Summary(all)
	}
	small, kernelTime, other := timing(200), timing(5e6*kernel), timing(7e6)
	f := &Roofline{Copy: timing(1e6).Rate(1 << 20), Memcpy: timing(1e6).Rate(1 << 20), Fill: timing(5e5).Rate(1 << 20), Enqueue: &small}
	return &Report{Devices: []*Result{{
		Device: Facts{ID: "cpu", Name: "a processor"}, Size: 1 << 20, Passes: 6, Clock: "host", Roofline: f,
		Cases: []*CaseResult{{Name: "a/32", Case: "a", Time: &kernelTime}, {Name: "b/32", Case: "b", Time: &other}},
	}}}
}

// Times slower beyond noise are reported, also on machines whose speed changed; changes of the
// machine alone are not.
func TestCompareVerdicts(t *testing.T) {
	const seed = 11
	d := drifting{rand.New(rand.NewPCG(seed, seed)), .2}
	for _, c := range []struct {
		machine, kernel float64
		want            verdict // of case a
		others          verdict
	}{
		{1, 1, same, same}, {1, 3, slower, same}, {1, 1. / 3, faster, same},
		{1.5, 1, unclear, unclear}, {.6, 1, unclear, unclear}, // the machine alone
		{1.5, 2, slower, unclear}, {.6, 3, slower, unclear}, {1.5, 1. / 3, faster, unclear},
		{.5, 2, unclear, unclear}, // as fast as before, on a machine that is twice as fast
	} {
		cmp := Compare(d.report(1, 1), d.report(c.machine, c.kernel))
		require.Empty(t, cmp.skipped)
		require.Len(t, cmp.machines, 1)
		require.Len(t, cmp.changes, 6)
		for _, x := range cmp.changes {
			want := c.others
			if x.name == "a/32" {
				want = c.want
			}
			assert.Equal(t, want, x.verdict, "machine %v, kernel %v: %s: %+v (seed %d)", c.machine, c.kernel, x.name, x, seed)
		}
		assert.Equal(t, map[bool]int{true: 1}[c.want == slower], cmp.Regressions())
		var out bytes.Buffer
		cmp.Print(&out)
		assert.Contains(t, out.String(), "memcpy, the yardstick, is at ")
		if c.want == slower {
			assert.Contains(t, out.String(), "regressions:\n  cpu at 1 MiB: a/32: slower: 0.")
		} else {
			assert.NotContains(t, out.String(), "regressions")
		}
	}
}

// Runs that do not differ are seldom distinguished: each figure has a chance of 1 in 462 by the
// passes alone, and must meet the two other conditions.
func TestCompareFalseAlarms(t *testing.T) {
	const seed, runs = 3, 300
	d := drifting{rand.New(rand.NewPCG(seed, seed)), .5}
	alarms, figures := 0, 0
	for range runs {
		c := Compare(d.report(1, 1), d.report(.8+.4*d.rng.Float64(), 1))
		alarms += c.Regressions()
		figures += len(c.changes)
	}
	assert.LessOrEqual(t, alarms, figures/200, "of %d (seed %d)", figures, seed)
}

// Different things are not compared, and this is reported.
func TestCompareSkips(t *testing.T) {
	const seed = 5
	d := drifting{rand.New(rand.NewPCG(seed, seed)), .1}
	for word, change := range map[string]func(now *Report){
		"another device: it was":                     func(r *Report) { r.Devices[0].Device.Name = "another" },
		"cpu at 2 MiB: not in the old":               func(r *Report) { r.Devices[0].Size *= 2 },
		"opencl:0 at 1 MiB: not in":                  func(r *Report) { r.Devices[0].Device.ID = "opencl:0" },
		"times were by the host's":                   func(r *Report) { r.Devices[0].Clock = "device" },
		"a/32: another shape: it was":                func(r *Report) { r.Devices[0].Cases[0].Case = "c" },
		"a/64: not in the old report":                func(r *Report) { r.Devices[0].Cases[0].Name = "a/64" },
		"a/32: the run was interrupted":              func(r *Report) { r.Devices[0].Cases[0].Time = nil },
		"no roofline":                                func(r *Report) { r.Devices[0].Roofline = &Roofline{} },
		"launch: not in the old report":              func(r *Report) { r.Devices[0].Roofline.Launch = r.Devices[0].Roofline.Enqueue },
		`the driver was "", and is "2"`:              func(r *Report) { r.Devices[0].Device.Driver = "2" },
		"1 slower":                                   func(r *Report) { *r = *d.report(1, 4) },
		"a/32: lost\n0 slower, 1 lost":               func(r *Report) { r.Devices[0].Cases[0].Time, r.Devices[0].Cases[0].Error = nil, "it is wrong" },
		"0 slower, 0 lost, 0 faster, 6 the same":     func(r *Report) {},
		"dense copy, the yardstick, is at 1.00 of":   func(r *Report) { r.Devices[0].Roofline.Memcpy = nil },
		"fill: lost\n0 slower, 1 lost, 0 faster, 5 ": func(r *Report) { r.Devices[0].Roofline.Fill = nil },
	} {
		old := d.report(1, 1)
		text, err := json.Marshal(old)
		require.NoError(t, err)
		now := new(Report)
		require.NoError(t, json.Unmarshal(text, now))
		change(now)
		if word[0] == 'd' { // without a memcpy, on both sides
			old.Devices[0].Roofline.Memcpy = nil
		}
		var out bytes.Buffer
		Compare(old, now).Print(&out)
		assert.Contains(t, out.String(), word)
	}
}

// Reports of one pass are compared by the middle halves of their samples.
func TestCompareOnePass(t *testing.T) {
	for _, c := range []struct {
		old, now Timing
		want     int
	}{
		{Timing{Median: 100, Q1: 90, Q3: 110}, Timing{Median: 150, Q1: 120, Q3: 160}, 1},
		{Timing{Median: 100, Q1: 90, Q3: 130}, Timing{Median: 150, Q1: 120, Q3: 160}, 0},
		{Timing{Median: 150, Q1: 120, Q3: 160}, Timing{Median: 100, Q1: 90, Q3: 110}, -1},
		{Timing{Median: 100, Q1: 99, Q3: 101}, Timing{Median: 109, Q1: 108, Q3: 110}, 0},
		{Timing{Median: 100, Q1: 90, Q3: 110, Passes: []float64{99}}, Timing{Median: 150, Q1: 120, Q3: 160}, 1},
		{Timing{Median: 100, Q1: 90, Q3: 110, Passes: []float64{80, 130}}, Timing{Median: 150, Q1: 120, Q3: 160}, 0},
	} {
		assert.Equal(t, c.want, beyond(&c.old, &c.now), "%+v", c)
		yard := Timing{Median: 10, Q1: 9, Q3: 11}
		old, now := relative(&c.old, &yard), relative(&c.now, &yard)
		assert.Equal(t, c.want, beyond(&old, &now), "%+v", c)
	}
}
