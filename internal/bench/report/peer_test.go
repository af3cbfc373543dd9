package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func took(passes ...float64) Timing {
	var all []Timing
	for _, ns := range passes {
		all = append(all, NewTiming([]float64{ns}, 1))
	}
	return Summary(all)
}

// The lead is a ratio of times of the same passes: a slow moment of the machine affects both.
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
	assert.Same(t, p, fastest([]*Peer{slow, p, slow}, c))
	assert.Nil(t, fastest([]*Peer{slow, p}, &CaseResult{Name: "y"}))
}

// Figures of peers are next to the device's.
func TestPeerTable(t *testing.T) {
	r := example(t).Devices[0]
	one := *r.Cases[0]
	r.Cases = nil
	for _, name := range []string{"c-heads/8", "c-heads/16", "c-heads/32", "pack/2"} {
		next := one
		next.Name = name
		r.Cases = append(r.Cases, &next)
	}
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
		table := &Table{W: &out}
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
