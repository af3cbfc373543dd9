package cuda

import (
	"testing"

	"github.com/restride/restride/bench/benchtest"
	"github.com/restride/restride/device"
)

// BenchmarkCopy runs the cases of package bench. On the simulator it says nothing.
func BenchmarkCopy(b *testing.B) {
	benchtest.Run(b, func(b testing.TB) device.Device { return openTest(b) })
}
