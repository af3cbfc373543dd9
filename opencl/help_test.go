package opencl

import (
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device/devicetest"
)

// openTest opens the device that the environment names (RESTRIDE_OPENCL_DEVICE=1), or the first
// one, or skips the test.
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
