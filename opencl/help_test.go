package opencl

import (
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/layout"
)

// openTest opens the device that the environment names (RESTRIDE_OPENCL_DEVICE=1),
// or the first one, or ends the test.
func openTest(tb testing.TB, o Options) *Device {
	tb.Helper()
	index := 0
	if word := os.Getenv("RESTRIDE_OPENCL_DEVICE"); word != "" {
		var err error
		index, err = strconv.Atoi(word)
		require.NoError(tb, err)
	}
	dev, err := OpenWith(index, o)
	devicetest.Require(tb, "opencl", err)
	tb.Cleanup(func() { _ = dev.Close() })
	return dev
}

func queueOf(tb testing.TB, dev *Device) device.Queue {
	tb.Helper()
	q, err := dev.NewQueue()
	require.NoError(tb, err)
	return q
}

// floats is a buffer seen as a matrix.
func floats(b device.Buffer, dims, strides []int64) device.Operand {
	l, err := layout.Strided(dims, strides, 0)
	if err != nil {
		panic(err)
	}
	return device.Operand{Buffer: b, Layout: l, Type: layout.Float32}
}
