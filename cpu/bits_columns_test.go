package cpu_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/internal/oracle"
)

// TestColumns are transposes of few rows that goroutines share by columns, which begin with a
// byte or within one, and casts to wider elements.
func TestColumns(t *testing.T) {
	cpu.EachLevel(t, func(t *testing.T) {
		severalWorkers(t, 4)
		dev := open(t)
		defer dev.Close()
		for _, name := range []string{
			"copy/uint4/8x400x1100/dst=440000,1100,1@0/src=1,8,3200@0",
			"copy/uint4/8x401x1101/dst=441902,1102,1@2/src=1,8,3208@1",
			"copy/uint4/8x401x1101/dst=441501,1101,1@1/src=1,8,3208@3",
			"copy/int2/24x30001/dst=30004,1@4/src=1,24@5",
			"copy/int2/24x30001/dst=30001,1@1/src=1,24@5",
			"convert/float4e2m1-double/109x16x2x2x8/dst=16,1,27904,1744,3488@7/src=512,32,16,8,1@2/how=unsaturated",
			"convert/int4-int8/24x30001/dst=30001,1@1/src=1,24@5",
		} {
			c, err := oracle.ParseCase(name)
			require.NoError(t, err)
			require.NoError(t, oracle.Check(dev, c, 1))
		}
	})
}
