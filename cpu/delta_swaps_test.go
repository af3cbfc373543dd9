package cpu_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/internal/oracle"
)

// Elements of words in another order: of one word and of up to eight, backwards, with gaps on
// either side, from within words, and those whose blocks are not whole.
func TestSwaps(t *testing.T) { cpu.EachLevel(t, testSwaps) }

func testSwaps(t *testing.T) {
	severalWorkers(t, 3)
	dev := open(t)
	defer dev.Close()
	q, err := dev.NewQueue()
	require.NoError(t, err)
	for i, name := range []string{
		"copy/uint4/40x8x768/dst=6144,768,1@0/src=6144,1,8@0",
		"copy/uint4/6x8x1008/dst=8070,1008,1@2/src=8066,1,8@2",
		"copy/uint4/3x1001x4x2/dst=8008,8,2,1@0/src=8010,8,1,4@2",
		"copy/uint4/3x1002x4x2/dst=8016,8,2,1@16/src=8018,8,1,4@2",
		"copy/uint4/999x2x16/dst=32,16,1@0/src=36,1,2@4",
		"copy/uint4/999x2x16/dst=34,16,1@2/src=36,1,2@3",
		"copy/uint4/600x8/dst=8,1@0/src=8,-1@7",
		"copy/uint4/300x4x8/dst=32,8,1@0/src=34,-1,-4@33",
		"copy/uint4/601x16/dst=18,1@0/src=-16,-1@9615",
		"copy/int2/77x32x64/dst=2048,64,1@0/src=2048,1,32@0",
		"copy/uint2/200x4x2x16/dst=128,32,16,1@4/src=-130,1,-4,8@25878",
		"copy/bit/100x8x8/dst=64,8,1@0/src=64,1,8@0",
		"copy/uint8/700x8x2/dst=16,2,1@0/src=16,1,8@0",
		"copy/uint8/500x2x8/dst=17,8,1@3/src=18,-1,2@2",
		"copy/float16/400x4x4/dst=16,4,1@0/src=17,-1,4@3",
		"copy/float16/9x8x2x32/dst=512,64,32,1@0/src=512,1,256,8@0",
		"copy/uint8/16x3x8x8/dst=192,64,8,1@0/src=8,128,-1,384@7",
		"copy/bit/8x8x16x8x4/dst=256,1,2048,32,8@0/src=4096,512,32,4,1@2",
		"copy/float8e4m3fnuz/2x8x8x4x8x16x2/dst=65536,8192,1024,256,32,2,1@128/src=64,128,16384,1,4,1024,32@2",
	} {
		if cpu.Elsewhere(i) {
			continue
		}
		c, err := oracle.ParseCase(name)
		require.NoError(t, err, name)
		require.NoError(t, oracle.CheckOn(dev, q, c, uint64(i)), name)
	}
}

// Parts of a packed copy whose words have one order on both sides were left unwritten.
func TestBugSwapsOfOneOrder(t *testing.T) { cpu.EachLevel(t, testBugSwapsOfOneOrder) }

func testBugSwapsOfOneOrder(t *testing.T) {
	severalWorkers(t, 3)
	dev := open(t)
	defer dev.Close()
	for i, name := range []string{
		"copy/uint4/3x30000x16/dst=540001,18,1@0/src=600001,20,1@0",
		"copy/bit/2x60000x64/dst=4320001,72,1@0/src=4800001,80,1@0",
		"copy/uint2/2x9000x1x1x8x8/dst=576002,64,64,64,8,1@0/src=612000,68,8,8,8,1@8",
		"copy/uint4/3x9000x8x4x8/dst=2322001,258,32,8,1@2/src=2322000,258,-32,8,1@224",
		"copy/uint4/7x260x20x16/dst=94121,362,18,1@0/src=104521,402,20,1@0",
	} {
		c, err := oracle.ParseCase(name)
		require.NoError(t, err, name)
		require.NoError(t, oracle.Check(dev, c, uint64(i)), name)
	}
}
