package devicetest

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/restride/restride/device"
)

func TestKeep(t *testing.T) {
	opened := 0
	keep := func(name string, kind device.Kind, index int) {
		Keep(device.Info{Backend: "keep", Index: index, Name: name, Kind: kind}, func() (device.Device, error) {
			opened++
			return nil, device.ErrNoDevice
		})
	}
	keep("a processor", device.CPU, 0)
	keep("Restride simulator 0", device.GPU, 0)
	assert.Zero(t, opened)
	for range 3 {
		keep("a GPU", device.GPU, 0)
		keep("another", device.GPU, 1)
	}
	assert.Equal(t, 2, opened)
}
