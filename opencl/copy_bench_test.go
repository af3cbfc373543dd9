package opencl_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/internal/bench/benchtest"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/internal/race"
)

// TestLargeCopies has copies large enough to bypass a CPU's caches, with rows that begin and
// end within cache lines.
func TestLargeCopies(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector sees nothing of kernels in C")
	}
	dev, err := device.Open("opencl")
	devicetest.Require(t, "opencl", err)
	defer dev.Close()
	q, err := dev.NewQueue()
	require.NoError(t, err)
	for _, name := range []string{
		"copy/uint8/2000003/dst=1@1/src=1@2",
		"copy/float/1000003/dst=1@1/src=-1@1000002",
		"copy/float16/1000x1001/dst=1003,1@1/src=1,0@2",
		"copy/uint8/1501x1499/dst=1499,1@1/src=1,1501@3",
		"copy/float16/1111x999/dst=1001,1@1/src=1,1111@3",
		"copy/float/777x1024/dst=1024,1@3/src=1,777@1",
		"copy/float/777x1024/dst=1024,1@0/src=-1,777@776",
		"copy/double/555x777/dst=777,1@1/src=1,555@0",
		"copy/complex128/333x555/dst=555,1@1/src=1,333@3",
		"copy/float/13x6x5x3x16x34/dst=48960,8160,1632,544,34,1@0/src=1,1326,7956,442,39780,13@0",
		"copy/uint8/700x1000x3/dst=3001,3,1@1/src=1000,1,700000@1",
		"copy/float/300x1000x3/dst=3000,3,1@1/src=4000,4,1@1",
		"copy/float/400x1000/dst=3000,2@1/src=2000,2@0",
	} {
		c, err := oracle.ParseCase(name)
		require.NoError(t, err)
		require.NoError(t, oracle.CheckOn(dev, q, c, 1))
	}
}

// BenchmarkCases runs the cases of package bench.
func BenchmarkCases(b *testing.B) {
	benchtest.Run(b, func(b testing.TB) device.Device {
		dev, err := device.Open("opencl")
		devicetest.Require(b, "opencl", err)
		return dev
	})
}
