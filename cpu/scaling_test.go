package cpu_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/internal/oracle"
)

// TestScalings are dequantizations and quantizations, some of which several workers share.
func TestScalings(t *testing.T) { cpu.EachLevel(t, testScalings) }

func testScalings(t *testing.T) {
	dev, err := cpu.Open()
	require.NoError(t, err)
	defer dev.Close()
	rng := rand.New(rand.NewPCG(8, 8))
	for seed := range uint64(200) {
		c := oracle.Random(rng, oracle.Limits{MaxBytes: 32 << 10, Ops: []oracle.Op{oracle.OpDequantize, oracle.OpQuantize}})
		require.NoError(t, oracle.Check(dev, c, seed))
	}
}

// TestLongScalings are of several pieces: blocks and rows that tables are made for, those
// that have terms by lines, and those that have neither, from where no line begins, too;
// and blocks whose scales are found.
func TestLongScalings(t *testing.T) { cpu.EachLevel(t, testLongScalings) }

func testLongScalings(t *testing.T) {
	dev, err := cpu.Open()
	require.NoError(t, err)
	defer dev.Close()
	for i, name := range []string{
		"dequantize/uint4-float16/70x128/dst=128,1@0/src=128,1@0/scale=float16:1,0@1/zero=uint4:1,0@3",
		"dequantize/int4-float16/300x32/dst=32,1@3/src=32,1@1/scale=float:1,0@1/zero=int4:1,0@3/add=float:1,0@0",
		"dequantize/float4e2m1-float/300x32/dst=32,1@0/src=32,1@5/scale=float8e8m0:1,0@1",
		"dequantize/uint4-bfloat16/3x5024/dst=5024,1@0/src=5024,1@0/scale=bfloat16:1,0@1/add=bfloat16:0,0@2/subtract",
		"dequantize/uint2-float/40x160/dst=160,1@0/src=160,1@2/scale=float16:0,0@1/zero=uint2:1,0@0",
		"dequantize/uint4-float16/9x1040/dst=1040,1@0/src=1040,1@0/scale=float16:1,0@1",
		"dequantize/uint4-float16/2x4x1100/dst=4400,1100,1@0/src=4400,1100,1@0/scale=float16:1100,0,1@1/zero=uint4:1100,0,1@1",
		"dequantize/int8-float/9x1104/dst=1104,1@0/src=1104,1@3/scale=float:1,0@1/zero=int8:1,0@0",
		"dequantize/uint8-float16/9x1001/dst=1001,1@0/src=1001,1@3/scale=float:1,0@1/zero=uint8:0,0@0",
		"quantize/float-int8/9x1104/dst=1104,1@0/src=1104,1@3/scale=float:1,0@1/zero=int8:1,0@0",
		"quantize/float-uint4/300x32/dst=32,1@0/src=32,1@3/scale=float16:1,0@1/zero=uint4:1,0@0",
		"quantize/float16-uint8/9x1001/dst=1001,1@0/src=1001,1@3/scale=float:0,1@1",
		"quantize/float-int16/7x1024/dst=1024,1@0/src=1024,1@3/scale=float:0,1@1/zero=int32:1,0@0",
		"quantize/float-float8e4m3fn/7x1024/dst=1024,1@0/src=1024,1@3/scale=float:1,0@1/zero=float8e4m3fn:1,0@0",
		"quantize/float-uint4/300x32/dst=32,1@0/src=32,1@3/scale=float16:1,0@1/find",
		"quantize/float-int8/300x48/dst=48,1@0/src=48,1@0/scale=bfloat16:1,0@1/find",
		"quantize/float-float4e2m1/300x32/dst=32,1@0/src=32,1@0/scale=float8e8m0:1,0@1/find",
		"quantize/float4e2m1-uint4/2000x16/dst=16,1@0/src=16,1@0/scale=float:1,0@1/find",
		"quantize/float8e5m2-int8/90x33/dst=33,1@0/src=33,1@0/scale=float16:1,0@1/find",
		"quantize/float16-float4e2m1/3x2000/dst=2000,1@0/src=2000,1@0/scale=float8e8m0:1,0@1/find",
		"quantize/bfloat16-uint4/40x32/dst=64,2@0/src=32,1@0/scale=float16:3,0@1/find",
	} {
		c, err := oracle.ParseCase(name)
		require.NoError(t, err, name)
		require.NoError(t, oracle.Check(dev, c, uint64(i)))
	}
}
