package cpu_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device/oracle"
)

// TestStream are writes past the caches, which only large ones are elsewhere.
func TestStream(t *testing.T) { cpu.EachLevel(t, testStream) }

func testStream(t *testing.T) {
	severalWorkers(t, 3)
	cpu.StreamFrom(t, 1)
	dev := open(t)
	defer dev.Close()
	q, err := dev.NewQueue()
	require.NoError(t, err)
	for i, name := range []string{
		"copy/int4/600001/dst=1@1/src=1@2",
		"copy/int4/600001/dst=1@1/src=1@1",
		"copy/int4/600001/dst=1@127/src=1@3",
		"copy/int2/1100001/dst=1@3/src=1@1",
		"copy/int4/200x5001/dst=5001,1@1/src=5002,1@0",
		"copy/int2/31x7x3001/dst=21007,3001,1@2/src=21014,3002,1@1",
		"copy/int4/301x3001/dst=3001,1@1/src=3001,-1@3000",
		"copy/int2/201x5501/dst=5501,1@1/src=5501,-1@5500",
		"copy/int4/31x30001/dst=30001,1@1/src=1,0@1",
		"copy/int4/600001/dst=1@1/src=2@1",
		"copy/int2/600001/dst=1@1/src=5@1",
		"fill/int4/600001/dst=1@1",
		"fill/int2/21x40001/dst=40001,1@3",
		"convert/int4-int8/300001/dst=1@5/src=1@1",
		"convert/uint2-uint8/300x1001/dst=1001,1@7/src=1003,1@3",
		"convert/int8-int4/600001/dst=1@131/src=1@3",
		"convert/uint8-uint2/300x5501/dst=5501,1@1/src=5502,1@9",
		"convert/float-float16/300001/dst=1@33/src=1@3",
		"convert/bfloat16-float16/300001/dst=1@33/src=1@3",
		"convert/int4-float16/300001/dst=1@3/src=1@3",
		"convert/uint4-float/100001/dst=1@3/src=2@3",
		"convert/float-int4/600001/dst=1@3/src=1@1",
		"convert/int64-float/100001/dst=1@3/src=1@1",
	} {
		if cpu.Elsewhere(i) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			parsed, err := oracle.ParseCase(name)
			require.NoError(t, err)
			require.NoError(t, oracle.CheckOn(dev, q, parsed, 1))
		})
	}
}
