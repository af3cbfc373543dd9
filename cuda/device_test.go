package cuda

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
)

// TestDevice runs the suite on every device.
func TestDevice(t *testing.T) {
	openTest(t)
	infos, err := backend{}.List()
	require.NoError(t, err)
	for _, info := range infos {
		t.Run(strconv.Itoa(info.Index), func(t *testing.T) {
			t.Log(info.Name, "by", info.Driver)
			devicetest.Run(t, func(t *testing.T) device.Device {
				dev, err := OpenWith(info.Index, Options{})
				require.NoError(t, err)
				devicetest.Keep(info, func() (device.Device, error) { return OpenWith(info.Index, Options{}) })
				return dev
			})
		})
	}
}
