package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
)

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
	(&Table{W: &out}).Close(r)
	assert.Contains(t, out.String(), "\nclock: 1755 to 1980 MHz; memory's clock: 2619 MHz; temperature: 41 to 48 °C; power: 310 to 500 W; ")
}

// Differences between the machine's readings are reported next to the yardstick, and equal
// readings are not.
func TestCompareReadings(t *testing.T) {
	report := func(r *Result) *Report { return &Report{Devices: []*Result{r}} }
	calm := Reading{MHz: 1980, MemoryMHz: 2619, Celsius: 40, Watts: 200, HeldBack: []string{}, Steal: parts(.02), Others: parts(.01)}
	warm := calm
	warm.Celsius, warm.Watts, warm.MHz, warm.Steal = 70, 400, 1950, parts(.06)
	slow := Reading{MHz: 1400, MemoryMHz: 1500, HeldBack: []string{"heat"}, Steal: parts(.2), Others: parts(.3)}
	old := report(told(calm, calm, calm, calm))
	assert.Empty(t, Compare(old, report(told(warm, warm, warm, slow))).machines)
	assert.Empty(t, Compare(old, report(told(Reading{}, Reading{}))).machines, "what one does not tell")
	assert.Equal(t, []string{
		"cuda:0 at 1 MiB: the clock was 1980 MHz, and is 1400 MHz",
		"cuda:0 at 1 MiB: the memory's clock was 2619 MHz, and is 1500 MHz",
		"cuda:0 at 1 MiB: other guests of the machine took 2 % of the processors' time, and take 20 %",
		"cuda:0 at 1 MiB: other processes took 1 % of the processors' time, and take 30 %",
		"cuda:0 at 1 MiB: it was held back in 0 of 4 passes, and is in 3 of 4 passes (heat)",
	}, Compare(old, report(told(calm, slow, slow, slow))).machines)
}

func TestReadReadings(t *testing.T) {
	report := example(t)
	report.Devices[0].Readings = make([]Reading, 6)
	report.Devices[0].Readings[0] = Reading{MHz: 1, MemoryMHz: 2, Celsius: 3, Watts: 4.5, HeldBack: []string{"heat"}, Steal: parts(0), Others: parts(1)}
	report.Devices[0].Readings[1] = Reading{HeldBack: []string{}}
	text, err := json.Marshal(report)
	require.NoError(t, err)
	require.NoError(t, validate(t, schema(t), text))
	back, err := Read(text)
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
		_, err := Read([]byte(broken))
		require.ErrorIs(t, err, device.ErrInvalid, word)
		assert.ErrorContains(t, err, word)
	}
}
