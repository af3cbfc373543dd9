package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/oracle"
	"github.com/restride/restride/layout"
)

// slowed is a device that does the copies of a type many times over: a kernel that
// has become slower.
type slowed struct {
	device.Device
	times int
}

func (d *slowed) NewQueue() (device.Queue, error) {
	q, err := d.Device.NewQueue()
	return &slowedQueue{q, d.times}, err
}

type slowedQueue struct {
	device.Queue
	times int
}

func (q *slowedQueue) Copy(dst, src device.Operand) error {
	if dst.Type == layout.Float16 {
		for range q.times {
			if err := q.Queue.Copy(dst, src); err != nil {
				return err
			}
		}
	}
	return q.Queue.Copy(dst, src)
}

// A kernel that is slowed, for real, is found, and no other is; a second run
// without it finds nothing. A machine that changes its speed between two runs by
// more than their passes do would be wrong about one of them: so there are three
// tries, of which a rule that finds nothing, or everything, passes none.
func TestCompareSlowedKernel(t *testing.T) {
	run := func(times int) *Report {
		report := NewReport()
		r, err := Run(context.Background(), &slowed{onCPU(t), times}, Options{Cases: some(t, "^(c-heads/(16|32)|e-reversed/32)$"), Size: 256 << 10, Time: 12 * time.Millisecond})
		require.NoError(t, err)
		report.Devices = append(report.Devices, r)
		return report
	}
	var said bytes.Buffer
	for range 3 {
		before, again, after := run(0), run(0), run(12)
		same, slower := Compare(before, again).Regressions(), Compare(again, after).Regressions()
		if len(same) == 0 && len(slower) == 1 {
			assert.Equal(t, "c-heads/16", slower[0].Name)
			assert.Less(t, slower[0].Speed, .3)
			assert.Less(t, slower[0].Relative, .5)
			return
		}
		Compare(before, again).Print(&said)
		Compare(again, after).Print(&said)
	}
	t.Fatalf("no try was right:\n%s", said.String())
}

// drifting makes reports of a machine whose speed is known: all times of a run are
// by a factor longer, those of one case by another, and each pass by a random one
// of up to noise.
type drifting struct {
	rng   *rand.Rand
	noise float64
}

func (d drifting) report(machine, kernel float64) *Report {
	passes := make([]float64, Passes)
	for i := range passes {
		passes[i] = 1 + d.noise*(2*d.rng.Float64()-1)
	}
	timing := func(ns float64) Timing {
		s := series{batch: 1}
		for _, p := range passes { // what slows a pass slows all of it
			here := ns * machine * p * (1 + .02*d.rng.Float64())
			s.add([]float64{here * .99, here, here * 1.01})
		}
		return s.timing()
	}
	small, kernelTime, other := timing(200), timing(5e6*kernel), timing(7e6)
	f := &Roofline{Copy: timing(1e6).rate(1 << 20), Memcpy: timing(1e6).rate(1 << 20), Fill: timing(5e5).rate(1 << 20), Enqueue: &small}
	return &Report{Devices: []*Result{{
		Device: Facts{ID: "cpu", Name: "a processor"}, Size: 1 << 20, Passes: Passes, Clock: "host", Roofline: f,
		Cases: []*CaseResult{{Name: "a/32", Case: "a", Time: &kernelTime}, {Name: "b/32", Case: "b", Time: &other}},
	}}}
}

// What is slower beyond noise is said so, on machines that are not as fast as they
// were, too; what only the machine changed is not.
func TestCompareVerdicts(t *testing.T) {
	const seed = 11
	d := drifting{rand.New(rand.NewPCG(seed, seed)), .2}
	for _, c := range []struct {
		machine, kernel float64
		want            Verdict // of case a
		others          Verdict
	}{
		{1, 1, Same, Same}, {1, 3, Slower, Same}, {1, 1. / 3, Faster, Same},
		{1.5, 1, Unclear, Unclear}, {.6, 1, Unclear, Unclear}, // the machine alone
		{1.5, 2, Slower, Unclear}, {.6, 3, Slower, Unclear}, {1.5, 1. / 3, Faster, Unclear},
		{.5, 2, Unclear, Unclear}, // as fast as before, of a machine that is twice as fast
	} {
		cmp := Compare(d.report(1, 1), d.report(c.machine, c.kernel))
		require.Empty(t, cmp.Skipped)
		require.Len(t, cmp.Machines, 1)
		require.Len(t, cmp.Changes, 6)
		for _, x := range cmp.Changes {
			want := c.others
			if x.Name == "a/32" {
				want = c.want
			}
			assert.Equal(t, want, x.Verdict, "machine %v, kernel %v: %s: %+v (seed %d)", c.machine, c.kernel, x.Name, x, seed)
		}
		assert.Len(t, cmp.Regressions(), map[bool]int{true: 1}[c.want == Slower])
		var out bytes.Buffer
		cmp.Print(&out)
		assert.Contains(t, out.String(), "memcpy, the yardstick, is at ")
		if c.want == Slower {
			assert.Contains(t, out.String(), "regressions:\n  cpu at 1 MiB: a/32: slower: 0.")
		} else {
			assert.NotContains(t, out.String(), "regressions")
		}
	}
}

// Runs that do not differ are seldom told apart: in each of these each figure has a
// chance of 1 in 462 by the passes alone, and the two other conditions.
func TestCompareFalseAlarms(t *testing.T) {
	const seed, runs = 3, 300
	d := drifting{rand.New(rand.NewPCG(seed, seed)), .5}
	alarms, figures := 0, 0
	for range runs {
		c := Compare(d.report(1, 1), d.report(.8+.4*d.rng.Float64(), 1))
		alarms += len(c.Regressions())
		figures += len(c.Changes)
	}
	assert.LessOrEqual(t, alarms, figures/200, "of %d (seed %d)", figures, seed)
}

// What is not the same is not compared, and that is said.
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
		"a/32: lost\n0 slower, 1 lost":               func(r *Report) { r.Devices[0].Cases[0].fail(oracle.ErrWrong) },
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
