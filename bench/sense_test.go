package bench

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/bench/report"
)

const (
	statLines = "cpu  100 20 30 1000 50 3 7 90 11 0\ncpu0 50 10 15 500 25 1 3 45 5 0\n"
	selfLine  = "77 (a) b (c)) R 1 77 77 0 -1 4194304 98 0 0 0 40 5 0 0 20 0 1 0 6156063 3133440 374"
)

// Linux's time of users includes the time of this machine's guests.
func TestTicks(t *testing.T) {
	assert.Equal(t, ticks{all: 1300, steal: 90, busy: 160, own: 45}, ticksOf(statLines, selfLine))
	for stat, self := range map[string]string{
		"": selfLine, statLines: "", "cpu  100 20 30 1000 50 3 7\n": selfLine, "intr 1 2 3 4 5 6 7 8 9\n": selfLine,
		"cpu  100 20 30 1000 50 3 x 90\n": selfLine, "cpu  100 20 30 1000 50 3 -7 90\n": selfLine, statLines + " ": "77 (a) R 1 2",
	} {
		assert.Zero(t, ticksOf(stat, self), "%s%s", stat, self)
	}
}

func TestReadingSince(t *testing.T) {
	begin := ticks{all: 1000, steal: 50, busy: 500, own: 100}
	var r report.Reading
	since(&r, begin, ticks{all: 1200, steal: 70, busy: 620, own: 200})
	assert.InDelta(t, .1, *r.Steal, 1e-9)
	assert.InDelta(t, .1, *r.Others, 1e-9)
	peers := begin.without(ticks{100, 10, 20, 5}, ticks{1100, 30, 920, 10})
	since(&r, peers, ticks{all: 2200, steal: 90, busy: 1520, own: 205})
	assert.Equal(t, []float64{.1, .1}, []float64{*r.Steal, *r.Others}, "without what peers took")
	since(&r, begin, ticks{all: 1200, steal: 40, busy: 550, own: 200}) // counters of VMs may decrease, and clocks differ
	assert.Zero(t, *r.Steal)
	assert.Zero(t, *r.Others)
	for _, now := range []ticks{{all: 1099, steal: 99}, {}} {
		var r report.Reading
		since(&r, begin, now)
		assert.Equal(t, report.Reading{}, r)
	}
	r = report.Reading{}
	since(&r, ticks{}, begin)
	assert.Equal(t, report.Reading{}, r, "a system that does not tell")
}

func TestClocks(t *testing.T) {
	all := clocks("processor\t: 0\ncpu MHz\t\t: 2299.998\n\nprocessor\t: 1\ncpu MHz\t\t: 1200.5\nmodel name: cpu MHz\n")
	require.Len(t, all, 2)
	assert.InDeltaSlice(t, []float64{2299.998, 1200.5}, all, 1e-2)
	assert.Empty(t, clocks("processor : 0\nBogoMIPS : 50\n"), "arm64")
	for _, absurd := range []string{"nan", "inf", "1e30", "1e99", "-5", "0", "unknown", ""} {
		assert.Empty(t, clocks("cpu MHz : "+absurd+"\n"), absurd)
	}
}

// sensed is a device that has sensors.
type sensed struct {
	device.Device
	asked int
	busy  []int64 // copies since the last time
}

func (d *sensed) Readings() device.Readings {
	d.asked++
	launches := d.Device.(interface{ Stats() device.Stats }).Stats().Launches
	d.busy = append(d.busy, launches)
	return device.Readings{MHz: 1900 + d.asked, MemoryMHz: 2619, Celsius: 40, Watts: 100, HeldBack: []string{}}
}

// A run has one reading for each pass, from sensors that are read while copies run.
func TestRunReadings(t *testing.T) {
	dev := &sensed{Device: onCPU(t)}
	r, err := Run(context.Background(), dev, Options{Cases: some(t, "^pack/4$"), Size: 4 << 10, Time: time.Nanosecond})
	require.NoError(t, err)
	require.Len(t, r.Readings, Passes)
	require.Equal(t, 2*Passes, dev.asked)
	for i, reading := range r.Readings {
		assert.Equal(t, 1900+2*(i+1), reading.MHz, "the second of two: the first may take long")
		assert.Equal(t, []string{}, reading.HeldBack)
		assert.Greater(t, dev.busy[2*i+1], dev.busy[2*i], "copies run meanwhile")
	}

	plain := quick(t, "^pack/4$").Devices[0]
	require.Len(t, plain.Readings, Passes)
	for _, reading := range plain.Readings {
		assert.Nil(t, reading.HeldBack, "processors do not tell")
		if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" {
			assert.Positive(t, reading.MHz)
		}
	}
}

// Time of this process does not count as others'.
func TestTicksNow(t *testing.T) {
	begin := ticksNow()
	if begin == (ticks{}) {
		t.Skip("this system does not tell")
	}
	for start := time.Now(); ticksNow().own < begin.own+5; {
		require.Less(t, time.Since(start), time.Minute)
	}
	assert.Positive(t, ticksNow().all-begin.all)
	assert.Positive(t, ticksNow().busy-begin.busy)
}
