package bench

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func took(passes ...float64) Timing {
	s := series{batch: 1}
	for _, ns := range passes {
		s.add([]float64{ns})
	}
	return s.timing()
}

// How much faster we are is a ratio of the same passes: what slows the machine for
// one of them slows both.
func TestFaster(t *testing.T) {
	ours := took(1, 9, 1, 2, 9)
	c := &CaseResult{Name: "x", Time: &ours}
	p := &Peer{Cases: []*PeerCase{{Name: "x", Timing: took(3, 27, 3, 6, 18)}, {Name: "y", Error: "no"}}}
	times, spread := p.Faster(c)
	assert.Equal(t, []float64{3, 1. / 3}, []float64{times, spread})
	for _, none := range []*CaseResult{{Name: "x"}, {Name: "y", Time: &ours}, {Name: "z", Time: &ours}} {
		times, spread = p.Faster(none)
		assert.Zero(t, times+spread)
	}
	slow := &Peer{Cases: []*PeerCase{{Name: "x", Timing: took(1e3)}}}
	assert.Same(t, p, Fastest([]*Peer{slow, p, slow}, c))
	assert.Nil(t, Fastest([]*Peer{slow, p}, &CaseResult{Name: "y"}))
}

// Figures of peers stand beside ours.
func TestPeerTable(t *testing.T) {
	r, err := Run(context.Background(), onCPU(t), Options{Cases: some(t, "^(c-heads|pack)/"), Size: 4 << 10, Time: time.Nanosecond})
	require.NoError(t, err)
	times := func(x float64) Timing {
		passes := slices.Clone(r.Cases[0].Time.Passes)
		for i := range passes {
			passes[i] *= x
		}
		return took(passes...)
	}
	peers := []*Peer{
		{Name: "Other 1.2", Device: "a processor", Cases: []*PeerCase{
			{Name: "c-heads/8", Timing: times(2), Verified: "every bit"}, {Name: "c-heads/16", Error: "no half", Unsupported: true}, {Name: "c-heads/32", Error: "it died"},
		}},
		{Name: "Slow 7", Device: "a processor", Cases: []*PeerCase{{Name: "c-heads/8", Timing: times(4)}}},
	}
	for name, c := range map[string]struct {
		peers []*Peer
		ends  map[string]string
	}{
		"one": {peers[:1], map[string]string{
			"case": "Other  faster     ±", "c-heads/8": " 2.00x    0%", "c-heads/16": "-  no half", "c-heads/32": "-  it died", "pack/2": "-  not measured",
		}},
		"two":  {peers, map[string]string{"case": "Other     Slow  faster     ±", "c-heads/8": " 2.00x    0%", "c-heads/16": "-        -  not measured"}},
		"none": {nil, map[string]string{"case": "touched"}},
	} {
		r.Peers = c.peers
		var out bytes.Buffer
		table := NewTable(&out, Cases())
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
		assert.Equal(t, len(c.peers) > 0, strings.Contains(out.String(), "Other: 1 cases failed there, the first c-heads/32: it died\n"))
	}
}

// Calls go on from batch to batch, after those that warm up; a call that fails ends
// it.
func TestMeasure(t *testing.T) {
	calls := 0
	count := func(i int) error {
		assert.Equal(t, calls, i)
		calls++
		time.Sleep(100 * time.Microsecond)
		return nil
	}
	samples, n, err := Measure(time.Millisecond, 0, 3, count)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, len(samples), 3)
	assert.GreaterOrEqual(t, slices.Min(samples), 1e5)
	assert.Greater(t, calls, 3+len(samples)*n)

	calls = 0 // of a batch that is known, no one is looked for
	samples, n, err = Measure(0, 7, 3, count)
	require.NoError(t, err)
	assert.Equal(t, []int{3, 7, 3 + 3*7}, []int{len(samples), n, calls})

	calls = 0 // of slow ones there are few
	samples, _, err = Measure(0, 1, 256, func(int) error {
		calls++
		time.Sleep(slow + time.Millisecond)
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, []int{2, 3}, []int{len(samples), calls})

	for at := range 5 {
		_, _, err := Measure(0, 0, 2, func(i int) error {
			if i == at {
				return errors.New("no more")
			}
			return nil
		})
		require.EqualError(t, err, "no more")
	}
}
