package devicetest

import (
	"strings"
	"sync"

	"github.com/restride/restride/device"
)

var kept sync.Map // by device ID

// Keep opens a device once more until the process ends, if it is a GPU: there a context is
// created with the first device and destroyed with the last, which costs each test half a
// second. The simulator is excluded, as tests count its open objects.
func Keep(info device.Info, open func() (device.Device, error)) {
	if info.Kind != device.GPU || strings.Contains(info.Name, "simulator") {
		return
	}
	if _, there := kept.LoadOrStore(info.ID(), true); !there {
		_, _ = open() // without it tests only run longer
	}
}
