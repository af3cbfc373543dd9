package cpu_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/internal/race"
)

func open(t *testing.T) device.Device {
	dev, err := cpu.Open()
	require.NoError(t, err)
	return dev
}

func TestDevice(t *testing.T) {
	if race.Enabled { // it sees no kernels: the best level is enough
		devicetest.Run(t, open)
		return
	}
	cpu.EachLevel(t, func(t *testing.T) { devicetest.Run(t, open) })
}
