package devicetest

import (
	"strings"
	"sync"

	"github.com/restride/restride/device"
)

var kept sync.Map // of the IDs of devices

// Keep opens a device once more, and leaves that open until the process ends, if it is a
// GPU: there a context is made with the first device, and ends with the last, which takes
// tests that open one each half a second. The simulator is none, since tests count what is
// left open on it.
func Keep(info device.Info, open func() (device.Device, error)) {
	if info.Kind != device.GPU || strings.Contains(info.Name, "simulator") {
		return
	}
	if _, there := kept.LoadOrStore(info.ID(), true); !there {
		_, _ = open() // without it tests only take longer
	}
}
