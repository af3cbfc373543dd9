package gpu_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
)

// A driver that cannot share memory with GL returns an error.
func TestNoGL(t *testing.T) {
	dev := open(t, newFake(t))
	_, err := dev.ShareGL(1, device.GLRead)
	for _, err := range []error{err, dev.CheckGL()} {
		require.ErrorIs(t, err, device.ErrUnsupported)
		assert.ErrorContains(t, err, "fake:0 shares no memory with GL")
	}
}
