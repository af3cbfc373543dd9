package page

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/bench/report"
)

// The page opens with the peers' results, and links to their tables.
func TestBeside(t *testing.T) {
	r := large(t, 1, 3)
	d := r.Devices[0]
	d.Peers[0].Name, d.Peers[1].Name, d.Peers[2].Name = "numpy 2.4.6", "PyTorch 2.9", "none"
	for i, times := range []float64{1.5, .5} {
		for _, c := range d.Peers[i].Cases {
			if c.Error == "" {
				c.Median = times * d.Cases[0].Time.Median
			}
		}
		for _, c := range d.Cases {
			c.Time.Median = d.Cases[0].Time.Median
		}
	}
	for _, c := range d.Peers[2].Cases {
		c.Error = "no such thing"
	}
	text := write(t, r)
	n := newView(r).Devices[0].Peers[0].Compared
	require.Positive(t, n)
	lede := text[strings.Index(text, `<p class="lede">`):]
	lede = lede[:strings.Index(lede, "</p>")]
	assert.Contains(t, lede, `,</span> at `, "no comma begins a line")
	assert.Regexp(t, `<a href="#d0-peers">Beside others</a>: 1\.50× numpy \(\d+ of \d+ cases ahead\), 0\.50× PyTorch \(0 of \d+ cases ahead\)\.$`, lede)
	assert.Contains(t, text, `id="d0-peers"`)
	assert.NotContains(t, write(t, large(t, 1, 0)), "Beside others")
}

// The reason for a peer's missing figure is a word, with its message as a tooltip, and failures
// are distinct from unsupported cases.
func TestPeerLacks(t *testing.T) {
	r := large(t, 1, 1)
	p := r.Devices[0].Peers[0]
	long := strings.Repeat("operands could not be broadcast ", 10) + "<b>"
	p.Cases[1] = &report.PeerCase{Name: p.Cases[1].Name, Error: long}
	p.Cases[2] = &report.PeerCase{Name: p.Cases[2].Name, Error: "no such type", Unsupported: true}
	p.Cases[3].Name = "of another run"
	d := newView(r).Devices[0]
	rates := map[string]cell{}
	for _, row := range d.Table.Rows {
		rates[row.Cells[0].Text] = row.Cells[8]
	}
	cases := r.Devices[0].Cases
	assert.Equal(t, cell{Text: "failed", Style: "why bad", Why: long}, rates[cases[1].Name])
	assert.Equal(t, cell{Text: "unsupported", Style: "why", Why: "no such type"}, rates[cases[2].Name])
	assert.Equal(t, cell{Text: "not measured", Style: "why"}, rates[cases[3].Name])
	assert.NotEmpty(t, rates[cases[4].Name].Key)
	assert.Equal(t, "1", d.Peers[0].Failed)
	assert.Contains(t, d.Notes, note{false, "Library 1.0: 1 case failed there.", []string{p.Cases[1].Name + ": " + long}})
	assert.Contains(t, write(t, r), `<td class="why" title="no such type">unsupported<span class="unseen">: no such type</span></td>`)
}

// A fill is compared with the plain fill, and says so.
func TestFills(t *testing.T) {
	d := newView(large(t, 1, 0)).Devices[0]
	seen := 0
	for i, k := range d.Classes {
		roof, of := d.roof, "of the roof"
		if k.Name == "fill" {
			roof, of = d.fill, "of the plain fill"
			assert.InDelta(t, 70, roof, 1e-9)
			seen++
		}
		assert.Equal(t, width(roof, d.longest()), k.Roof, k.Name)
		assert.True(t, strings.HasSuffix(k.About, of), k.About)
		for _, dot := range d.Figure.Panels[i].Dots {
			assert.Contains(t, dot.Title, of)
		}
	}
	assert.Equal(t, 1, seen)
}
