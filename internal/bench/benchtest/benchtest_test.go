package benchtest

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/bench/cases"
)

// gpu is a device that claims to be a GPU: it is compared with its own copy.
type gpu struct{ device.Device }

func (g gpu) Info() device.Info {
	info := g.Device.Info()
	info.Kind = device.GPU
	return info
}

func TestRun(t *testing.T) {
	before := flag.Lookup("test.benchtime").Value.String()
	require.NoError(t, flag.Set("test.benchtime", "3x"))
	defer func() { require.NoError(t, flag.Set("test.benchtime", before)) }()
	for _, c := range cases.All() {
		for _, kind := range []device.Kind{device.CPU, device.GPU} {
			dev, err := cpu.Open()
			require.NoError(t, err)
			var of device.Device = dev
			if kind == device.GPU {
				of = gpu{dev}
			}
			r := testing.Benchmark(func(b *testing.B) { run(b, c, of, 4<<10) })
			require.Equal(t, 3, r.N, c.Name) // it did not fail
			assert.Positive(t, r.Extra["xmemcpy"], c.Name)
			assert.Positive(t, r.Bytes, c.Name)
			require.ErrorIs(t, dev.Close(), device.ErrClosed, "it is closed")
		}
	}
}
