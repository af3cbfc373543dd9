//go:build linux && (amd64 || arm64)

package opencl_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/opencl"
)

// The example works wherever there is a device.
func TestExampleInterop(t *testing.T) {
	dev, err := opencl.OpenWith(0, opencl.Options{})
	devicetest.Require(t, "opencl", err)
	defer dev.Close()
	for range 3 { // with memory that is reused
		assert.Equal(t, []float32{2, 8, 4, 10, 6, 12}, doubleColumns(dev))
	}
	assert.Zero(t, dev.Stats().Live)
}
