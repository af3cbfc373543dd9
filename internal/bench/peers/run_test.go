package peers_test

import (
	"context"
	"encoding/json"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/bench"
	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/bench/cases"
	"github.com/restride/restride/internal/bench/peers"
	"github.com/restride/restride/internal/bench/report"
)

func onCPU(t *testing.T) device.Device {
	dev, err := cpu.Open()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dev.Close()) })
	return dev
}

// some returns the cases that match.
func some(t *testing.T, filter string) (list []cases.Case) {
	re := regexp.MustCompile(filter)
	for _, c := range cases.All() {
		if re.MatchString(c.Name) {
			list = append(list, c)
		}
	}
	require.NotEmpty(t, list)
	return list
}

func good(t *testing.T, kind string) *peers.Process {
	p, err := peers.Fake(t, context.Background(), kind, time.Minute)
	require.NoError(t, err)
	return p
}

// Peers are asked directly after the device, in every pass, and continue from pass to pass; one
// that fails has an error in its cases, and the others continue.
func TestPeers(t *testing.T) {
	limited := good(t, "good")
	limited.Only = regexp.MustCompile("/8$")
	r, err := bench.Run(context.Background(), onCPU(t), bench.Options{
		Cases: some(t, "^c-heads/"), Size: 4 << 10, Time: time.Nanosecond, Peers: []*peers.Process{good(t, "good"), good(t, "dies"), limited},
	})
	require.NoError(t, err)
	require.Len(t, r.Peers, 3)
	names := func(p *report.Peer) (out []string) {
		for _, c := range p.Cases {
			out = append(out, c.Name)
		}
		return out
	}
	assert.Equal(t, "Fake 1", r.Peers[0].Name)
	assert.Equal(t, []string{"c-heads/8", "c-heads/16", "c-heads/32", "c-heads/64", "c-heads/128", "c-heads/4"}, names(r.Peers[0]))
	assert.Equal(t, []string{"c-heads/8"}, names(r.Peers[2]))
	c := r.Peers[0].Cases[0]
	assert.Empty(t, c.Error)
	assert.Equal(t, []float64{1, 2, 3, 4, 5, 6}, c.Passes)
	assert.Equal(t, []any{18, 4, 3e9, "every bit"}, []any{c.Samples, c.Batch, c.Max, c.Verified})
	times, _ := r.Peers[0].Faster(r.Cases[0])
	assert.Positive(t, times)
	assert.Equal(t, &report.PeerCase{Name: "c-heads/32", Error: "no float", Unsupported: true}, r.Peers[0].Cases[2])
	assert.Equal(t, &report.PeerCase{Name: "c-heads/64", Error: "wrong result"}, r.Peers[0].Cases[3])
	for _, c := range r.Peers[1].Cases {
		assert.Equal(t, &report.PeerCase{Name: c.Name, Error: "it ended: exit status 7; it said: first the\\x1b[2J last words"}, c)
	}
	for _, c := range r.Cases {
		assert.Empty(t, c.Error)
		assert.Len(t, c.Time.Passes, bench.Passes)
	}
	all := bench.NewReport()
	all.Devices = []*report.Result{r}
	text, err := json.Marshal(all)
	require.NoError(t, err)
	back, err := report.Read(text)
	require.NoError(t, err)
	assert.Equal(t, all, back)
}

// Peers are not asked for a case that fails on the device.
func TestPeersOfFailures(t *testing.T) {
	broken := some(t, "^c-heads/8$")
	broken[0].DstType = 200
	r, err := bench.Run(context.Background(), onCPU(t), bench.Options{Cases: broken, Size: 4 << 10, Time: time.Nanosecond, Peers: []*peers.Process{good(t, "good")}})
	require.NoError(t, err)
	assert.NotEmpty(t, r.Cases[0].Error)
	assert.Empty(t, r.Peers[0].Cases)
}

// An interrupt does not wait for an answer, and the report keeps the results so far.
func TestPeersInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	p, err := peers.Fake(t, ctx, "hangs", time.Hour)
	require.NoError(t, err)
	time.AfterFunc(300*time.Millisecond, cancel)
	var last *report.Result
	_, err = bench.Run(ctx, onCPU(t), bench.Options{
		Cases: some(t, "^c-heads/8$"), Size: 4 << 10, Time: time.Nanosecond, Peers: []*peers.Process{p}, Progress: func(r *report.Result, _ float64) { last = r },
	})
	require.ErrorIs(t, err, context.Canceled)
	assert.Positive(t, last.Cases[0].Ratio)
	assert.Empty(t, last.Peers[0].Cases)
	assert.True(t, p.Waited())
}
