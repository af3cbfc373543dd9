package main

import (
	"bytes"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/bench"
	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/bench/cases"
)

// A sweep is of the sizes that fit a device, and says where it ends.
func TestSweep(t *testing.T) {
	f := &benchFlags{devices: []string{"cpu"}, sizes: []string{sweep}}
	require.NoError(t, f.parse())
	assert.Equal(t, sweepSizes, f.bytes)
	var said bytes.Buffer
	cmd := new(cobra.Command)
	cmd.SetErr(&said)
	f.bytes = []int64{4096, 8192, 1 << 60, 1 << 61}
	sizes, err := f.sizesOf(cmd, "cpu")
	require.NoError(t, err)
	assert.Equal(t, []int64{4096, 8192}, sizes)
	assert.Regexp(t, `^cpu: the sweep ends at 8192 bytes: 2 larger sizes want more memory than \d+ bytes\n$`, said.String())
	f.sweep = false
	sizes, err = f.sizesOf(cmd, "nowhere")
	require.NoError(t, err)
	assert.Equal(t, f.bytes, sizes, "those that were asked for")
	f.sweep = true
	_, err = f.sizesOf(cmd, "nowhere")
	assert.Error(t, err)

	for args, want := range map[string]string{"sweep,1M": `"sweep" is no size`, "1M,sweep": `"sweep" is no size`} {
		_, err := restride("bench", "--size", args)
		assert.ErrorContains(t, err, want)
	}
}

func TestFitting(t *testing.T) {
	const G = 1 << 30
	for free, most := range map[int64]int64{0: 256 << 20, -1: 256 << 20, 1: 256 << 10, G: 16 << 20, 20*G - 1: 256 << 20, 20 * G: G, 80 * G: G} {
		fit := fitting(sweepSizes, free)
		assert.Equal(t, most, fit[len(fit)-1], "%d bytes", free)
	}
	assert.Empty(t, fitting(nil, G))

	assert.EqualValues(t, 4*G, half(16*G, 8*G))
	assert.EqualValues(t, 2*G, half(4*G, 8*G), "what a container may have")
	assert.EqualValues(t, 2*G, half(4*G, 0), "other systems do not say")
	assert.EqualValues(t, 4*G, half(0, 8*G))
	assert.Zero(t, half(0, 0))
}

// What a run takes of memory is what [sweepNeeds] says, or less.
func TestSweepNeeds(t *testing.T) {
	dev, err := cpu.Open()
	require.NoError(t, err)
	defer func() { require.NoError(t, dev.Close()) }()
	const size = 8 << 20 // large enough to say what larger ones do
	var pair, source, written int64
	for _, c := range cases.All() {
		at, err := c.At(size)
		require.NoError(t, err)
		o, err := bench.NewOperands(dev, at)
		require.NoError(t, err)
		all := int64(0)
		for _, b := range []device.Buffer{o.Dst.Buffer, o.Src.Buffer, o.At.Buffer} {
			if b != nil {
				all += b.Size()
			}
		}
		if o.Src.Buffer != nil {
			source = max(source, o.Src.Buffer.Size())
		}
		pair, written = max(pair, all), max(written, o.Dst.Buffer.Size())
		require.NoError(t, o.Free())
	}
	needs := float64(2*pair+source+written) / size
	assert.LessOrEqual(t, needs, float64(sweepNeeds))
	t.Logf("%.1f times", needs)
}
