package cuda

import (
	"strings"
	"testing"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/bench/benchtest"
)

// BenchmarkCases runs the cases of package bench.
func BenchmarkCases(b *testing.B) {
	if strings.Contains(openTest(b).Info().Name, "simulator") {
		b.Skip("how fast the simulator is says nothing")
	}
	benchtest.Run(b, func(b testing.TB) device.Device { return openTest(b) })
}
