package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
)

const (
	statLines = "cpu  100 20 30 1000 50 3 7 90 11 0\ncpu0 50 10 15 500 25 1 3 45 5 0\n"
	selfLine  = "77 (a) b (c)) R 1 77 77 0 -1 4194304 98 0 0 0 40 5 0 0 20 0 1 0 6156063 3133440 374"
)

// Time that a guest of this machine has is in that of users already.
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
	var r Reading
	r.since(begin, ticks{all: 1200, steal: 70, busy: 620, own: 200})
	assert.InDelta(t, .1, *r.Steal, 1e-9)
	assert.InDelta(t, .1, *r.Others, 1e-9)
	peers := begin.without(ticks{100, 10, 20, 5}, ticks{1100, 30, 920, 10})
	r.since(peers, ticks{all: 2200, steal: 90, busy: 1520, own: 205})
	assert.Equal(t, []float64{.1, .1}, []float64{*r.Steal, *r.Others}, "without what peers took")
	r.since(begin, ticks{all: 1200, steal: 40, busy: 550, own: 200}) // counters of VMs go back, clocks differ
	assert.Zero(t, *r.Steal)
	assert.Zero(t, *r.Others)
	for _, now := range []ticks{{all: 1099, steal: 99}, {}} {
		var r Reading
		r.since(begin, now)
		assert.Equal(t, Reading{}, r)
	}
	r = Reading{}
	r.since(ticks{}, begin)
	assert.Equal(t, Reading{}, r, "a system that does not tell")
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

// A run has one reading for each pass, of sensors that are asked while copies run.
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

// What this process does is its own.
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

func parts(of float64) *float64 { return &of }

// told is a result with readings.
func told(readings ...Reading) *Result {
	return &Result{Device: Facts{ID: "cuda:0"}, Size: 1 << 20, Passes: len(readings), Readings: readings, Roofline: new(Roofline)}
}

func TestObservations(t *testing.T) {
	assert.Empty(t, told().Observations())
	assert.Empty(t, told(Reading{}, Reading{}).Observations())
	r := told(
		Reading{MHz: 1980, MemoryMHz: 2619, Celsius: 41, Watts: 310.2, HeldBack: []string{}, Steal: parts(.03), Others: parts(0)},
		Reading{MHz: 1755, MemoryMHz: 2619, Celsius: 48, Watts: 500, HeldBack: []string{"power cap", "heat"}, Steal: parts(.12), Others: parts(.004)},
		Reading{HeldBack: []string{"power cap"}}, Reading{},
	)
	text := map[string]string{
		"clock": "1755 to 1980 MHz", "memory's clock": "2619 MHz", "temperature": "41 to 48 °C", "power": "310 to 500 W",
		"taken by other guests": "3 to 12 % of the processors' time", "taken by other processes": "0 % of the processors' time",
		"held back": "in 2 of 3 passes (power cap, heat)",
	}
	notes := map[string]string{"taken by other guests": "took 3 to 12 % of", "held back": "in 2 of 3 passes (power cap, heat): it may be faster"}
	all := r.Observations()
	require.Len(t, all, len(text))
	for _, o := range all {
		assert.Equal(t, text[o.Name], o.Text)
		assert.Contains(t, o.Note, notes[o.Name])
		assert.Equal(t, notes[o.Name] == "", o.Note == "", o.Name)
	}
	assert.Equal(t, []Observation{{Name: "held back", Text: "never"}}, told(Reading{HeldBack: []string{}}).Observations())

	var out bytes.Buffer
	NewTable(&out, nil).Close(r)
	assert.Contains(t, out.String(), "\nclock: 1755 to 1980 MHz; memory's clock: 2619 MHz; temperature: 41 to 48 °C; power: 310 to 500 W; ")
}

// What the machine did otherwise is said beside the yardstick, and what it did alike
// is not.
func TestCompareReadings(t *testing.T) {
	report := func(r *Result) *Report { return &Report{Devices: []*Result{r}} }
	calm := Reading{MHz: 1980, MemoryMHz: 2619, Celsius: 40, Watts: 200, HeldBack: []string{}, Steal: parts(.02), Others: parts(.01)}
	warm := calm
	warm.Celsius, warm.Watts, warm.MHz, warm.Steal = 70, 400, 1950, parts(.06)
	slow := Reading{MHz: 1400, MemoryMHz: 1500, HeldBack: []string{"heat"}, Steal: parts(.2), Others: parts(.3)}
	old := report(told(calm, calm, calm, calm))
	assert.Empty(t, Compare(old, report(told(warm, warm, warm, slow))).Machines)
	assert.Empty(t, Compare(old, report(told(Reading{}, Reading{}))).Machines, "what one does not tell")
	assert.Equal(t, []string{
		"cuda:0 at 1 MiB: the clock was 1980 MHz, and is 1400 MHz",
		"cuda:0 at 1 MiB: the memory's clock was 2619 MHz, and is 1500 MHz",
		"cuda:0 at 1 MiB: other guests of the machine took 2 % of the processors' time, and take 20 %",
		"cuda:0 at 1 MiB: other processes took 1 % of the processors' time, and take 30 %",
		"cuda:0 at 1 MiB: it was held back in 0 of 4 passes, and is in 3 of 4 passes (heat)",
	}, Compare(old, report(told(calm, slow, slow, slow))).Machines)
}

func TestReadReportReadings(t *testing.T) {
	report := quick(t, "^pack/4$")
	report.Devices[0].Readings[0] = Reading{MHz: 1, MemoryMHz: 2, Celsius: 3, Watts: 4.5, HeldBack: []string{"heat"}, Steal: parts(0), Others: parts(1)}
	report.Devices[0].Readings[1] = Reading{HeldBack: []string{}}
	text, err := json.Marshal(report)
	require.NoError(t, err)
	require.NoError(t, validate(t, schema(t), text))
	back, err := ReadReport(text)
	require.NoError(t, err)
	assert.Equal(t, report, back, "what was not told stays so, and what was 0, or nothing, too")
	for word, edit := range map[string][2]string{
		"readings[0]: -1 and 2 MHz":        {`"mhz":1`, `"mhz":-1`},
		"-2 MHz":                           {`"memory_mhz":2`, `"memory_mhz":-2`},
		"-3 °C":                            {`"celsius":3`, `"celsius":-3`},
		"-4.5 W":                           {`"watts":4.5`, `"watts":-4.5`},
		`held back by [""]`:                {`["heat"]`, `[""]`},
		`readings[0]: "a\x1b[2J`:           {`["heat"]`, `["a\u001b[2J"]`},
		"others took -0.5":                 {`"steal":0`, `"steal":-0.5`},
		"others took 0 and 1.1":            {`"others":1`, `"others":1.1`},
		"6 readings of 5 passes":           {`"passes":6`, `"passes":5`},
		"cannot unmarshal string into Go ": {`"readings":[`, `"readings":["",`},
	} {
		broken := strings.Replace(string(text), edit[0], edit[1], 1)
		require.NotEqual(t, string(text), broken, word)
		_, err := ReadReport([]byte(broken))
		require.ErrorIs(t, err, device.ErrInvalid, word)
		assert.ErrorContains(t, err, word)
	}
}
