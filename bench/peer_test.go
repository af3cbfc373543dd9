package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func took(ns float64) Timing {
	return Timing{Samples: 9, Batch: 1, Median: ns, Min: ns, Q1: ns, Q3: ns, Max: ns}
}

// Figures of peers stand beside ours where they are of the same layouts, and of
// the same device.
func TestPeer(t *testing.T) {
	r, err := Run(context.Background(), onCPU(t), Options{Cases: some(t, "^(c-heads|pack)/"), Size: 4 << 10, Time: time.Nanosecond})
	require.NoError(t, err)
	ours := r.Cases[0].Time.Median
	var peers []*Peer
	for _, p := range []Peer{
		{Name: "Other 1.2", Device: "a processor", For: "cpu", Cases: []*PeerCase{
			{Name: "c-heads/8", Case: r.Cases[0].Case, Timing: took(2 * ours), Verified: "every bit"},
			{Name: "c-heads/16", Case: r.Cases[1].Case + "0", Timing: took(5)},
			{Name: "c-heads/32", Case: r.Cases[2].Case, Error: "no float"},
		}},
		{Name: "Board 3", Device: "a board", For: "cuda:0", Cases: []*PeerCase{{Name: "c-heads/8", Case: r.Cases[0].Case, Timing: took(1)}}},
		{Name: "Slow 7", Device: "a processor", Cases: []*PeerCase{{Name: "c-heads/8", Case: r.Cases[0].Case, Timing: took(4 * ours)}}},
	} {
		text, err := json.Marshal(p)
		require.NoError(t, err)
		back, err := ReadPeer(text)
		require.NoError(t, err)
		assert.Equal(t, &p, back)
		peers = append(peers, back)
	}
	assert.Equal(t, 2*ours, Fastest(peers[:1], r.Cases[0]))
	assert.Equal(t, 1., Fastest(peers, r.Cases[0]))
	assert.True(t, math.IsInf(Fastest(peers, r.Cases[1]), 1))

	for name, c := range map[string]struct {
		peers []*Peer
		ends  map[string]string
	}{
		"one": {peers[:2], map[string]string{
			"case": "Other  faster", "c-heads/8": " 2.00x", "c-heads/16": "-  other shape", "c-heads/32": "-  no float", "pack/2": "-  not measured",
		}},
		"two":  {peers, map[string]string{"case": "Other     Slow  faster", "c-heads/8": " 2.00x", "c-heads/16": "-        -  not measured"}},
		"none": {nil, map[string]string{"case": "touched"}},
	} {
		var out bytes.Buffer
		table := NewTable(&out, Cases(), c.peers)
		table.Update(r)
		table.Close(r)
		lines := strings.Split(out.String(), "\n")
		for start, end := range c.ends {
			i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, start+" ") })
			if assert.Positive(t, i, start) {
				assert.True(t, strings.HasSuffix(lines[i], end), "%s: %s", name, lines[i])
			}
		}
		assert.Equal(t, len(c.peers) > 0, strings.Contains(out.String(), "Other: Other 1.2 on a processor"))
		assert.NotContains(t, out.String(), "Board")
	}
}

// badPeers are files that are no peer's, and what the error says.
var badPeers = map[string]string{
	"":                        "unexpected end",
	"[]":                      "cannot unmarshal array",
	"{}":                      "no name, or no cases",
	"null":                    "no name, or no cases",
	`{"peer":"x","cases":[]}`: "no name, or no cases",
	`{"peer":"x","cases":[{"name":"a","error":"e"}]} 7`:                                "after top-level value",
	`{"peer":"x","cases":[null]}`:                                                      "case 0 has no name",
	`{"peer":"x","cases":[{"error":"e"}]}`:                                             "case 0 has no name",
	`{"peer":"x","cases":[{"name":"a","error":"e"},{"name":"a","error":"e"}]}`:         `"a" is there twice`,
	`{"peer":"x","cases":[{"name":"a","median_ns":"1"}]}`:                              "cannot unmarshal string",
	`{"peer":"x","cases":[{"name":"a","median_ns":NaN}]}`:                              "invalid character",
	`{"peer":"x","cases":[{"name":"a","median_ns":1e999}]}`:                            "cannot unmarshal number 1e999",
	`{"peer":"x","cases":[{"name":"a"}]}`:                                              "a: 0 samples",
	`{"peer":"x","cases":[{"name":"a","samples":9,"batch":-1}]}`:                       "9 samples of -1 calls",
	`{"peer":"x","cases":[{"name":"a","samples":9,"batch":1}]}`:                        "want more than 0",
	peerOf(-5, 1, 2, 3, 4):                                                             "a call took -5 to 4 ns",
	peerOf(1, 2, 3, 4, 1e15):                                                           "less than a day",
	peerOf(1, 3, 2, 4, 5):                                                              "in order",
	peerOf(1, 2, 3, 5, 4):                                                              "in order",
	`{"peer":"x\u001b[2J","cases":[{"name":"a","error":"e"}]}`:                         "cannot be printed",
	`{"peer":"x","cases":[{"name":"a","error":"two\nlines"}]}`:                         "cannot be printed",
	`{"peer":"x","cases":[{"name":"a","error":"` + strings.Repeat("e", 5000) + `"}]}`:  "5000 bytes",
	`{"peer":"x","cases":[` + strings.Repeat(`{"name":"a"},`, 5000) + `{"name":"a"}]}`: "5001 cases",
}

func peerOf(min, q1, median, q3, max float64) string {
	text, err := json.Marshal(Peer{Name: "x", Cases: []*PeerCase{{Name: "a", Timing: Timing{Samples: 9, Batch: 1, Median: median, Min: min, Q1: q1, Q3: q3, Max: max}}}})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// What stands beside an error is no figure.
func TestReadPeerErrors(t *testing.T) {
	p, err := ReadPeer([]byte(`{"peer":"x","cases":[{"name":"a","error":"e","median_ns":-5,"batch":7}]}`))
	require.NoError(t, err)
	assert.Equal(t, &PeerCase{Name: "a", Error: "e"}, p.Cases[0])
}

func TestReadPeerRefuses(t *testing.T) {
	for text, want := range badPeers {
		_, err := ReadPeer([]byte(text))
		require.ErrorContains(t, err, "a peer's figures: ", text)
		assert.ErrorContains(t, err, want)
	}
}

// What is read can be shown, and written again.
func FuzzReadPeer(f *testing.F) {
	f.Add([]byte(peerOf(1, 2, 3, 4, 5)))
	for text := range badPeers {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ReadPeer(data)
		if err != nil {
			require.Nil(t, p)
			return
		}
		text, err := json.Marshal(p)
		require.NoError(t, err)
		back, err := ReadPeer(text)
		require.NoError(t, err)
		require.Equal(t, p, back)
		for _, c := range p.Cases {
			ns, why := p.Find(&CaseResult{Name: c.Name, Case: c.Case})
			require.Equal(t, c.Error, why)
			require.True(t, why != "" || ns > 0 && ns < day)
		}
	})
}

// Calls go on from batch to batch, after those that warm up; a call that fails
// ends it.
func TestMeasure(t *testing.T) {
	calls := 0
	timing, none, err := Measure(time.Millisecond, 3, func(i int) error {
		assert.Equal(t, calls, i)
		calls++
		time.Sleep(100 * time.Microsecond)
		return nil
	}, nil)
	require.NoError(t, err)
	assert.Zero(t, none)
	require.NoError(t, timing.check())
	assert.GreaterOrEqual(t, timing.Samples, 9)
	assert.GreaterOrEqual(t, timing.Min, 1e5)
	assert.Greater(t, calls, 3+timing.Samples*timing.Batch)

	for at := range 4 {
		_, _, err := Measure(0, 2, func(i int) error {
			if i == at {
				return errors.New("no more")
			}
			return nil
		}, nil)
		require.EqualError(t, err, "no more")
	}
	// A memcpy takes place between the samples, but no more time than they do.
	copies := 0
	timing, ns, err := Measure(time.Millisecond, 1, func(int) error {
		time.Sleep(100 * time.Microsecond)
		return nil
	}, func(i int) {
		assert.Equal(t, copies, i)
		copies++
		time.Sleep(time.Millisecond)
	})
	require.NoError(t, err)
	assert.GreaterOrEqual(t, ns, 1e6)
	assert.GreaterOrEqual(t, copies, 3)
	assert.LessOrEqual(t, float64(copies-2)*ns, 2*timing.Max*float64(timing.Samples*timing.Batch))

	assert.Equal(t, []int{256, 128, 4, 2, 2}, []int{Turns(0), Turns(2 << 20), Turns(64 << 20), Turns(128 << 20), Turns(1 << 40)})
}
