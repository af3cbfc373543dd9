package cpu_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/internal/simd"
)

// BenchmarkScalings reports the cycles for each byte written as BenchmarkCycles does, of
// what package bench has no case for: groups along either axis, blocks of GGUF, and
// quantizations.
func BenchmarkScalings(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, l := range simd.Levels() {
		for name, scaling := range map[string]string{
			"gptq-groups": "dequantize/uint4-float16/8x128x128/dst=16384,128,1@0/src=16384,128,1@0/scale=float16:128,0,1@0/zero=uint4:128,0,1@0",
			"gptq-rows":   "dequantize/uint4-float16/1x32x4096/dst=131072,4096,1@0/src=131072,4096,1@0/scale=float16:4096,0,1@0/zero=uint4:4096,0,1@0",
			"awq-groups":  "dequantize/uint4-float16/32x32x128/dst=4096,128,1@0/src=4096,128,1@0/scale=float16:32,1,0@0/zero=uint4:32,1,0@0",
			"rows-half":   "dequantize/int8-float16/64x2048/dst=2048,1@0/src=2048,1@0/scale=float:1,0@0",
			"columns":     "dequantize/int8-float/32x2048/dst=2048,1@0/src=2048,1@0/scale=float:0,1@0",
			"odd-rows":    "dequantize/int8-float/64x1001/dst=1001,1@0/src=1001,1@0/scale=float:1,0@0",
			"q4-0":        "dequantize/uint4-float16/4096x32/dst=32,1@0/src=32,1@0/scale=float16:1,0@0/zero=uint4:0,0@0",
			"q8-0":        "dequantize/int8-float16/4096x32/dst=32,1@0/src=32,1@0/scale=float16:1,0@0",
			"mxfp4":       "dequantize/float4e2m1-float16/4096x32/dst=32,1@0/src=32,1@0/scale=float8e8m0:1,0@0",
			"to-uint4":    "quantize/float-uint4/2048x32/dst=32,1@0/src=32,1@0/scale=float:1,0@0/zero=uint4:1,0@0",
			"to-float8":   "quantize/float-float8e4m3fn/64x1024/dst=1024,1@0/src=1024,1@0/scale=float:1,0@0",
			"half-int8":   "quantize/float16-int8/64x1024/dst=1024,1@0/src=1024,1@0/scale=float16:1,0@0/precision=float16",
			"to-columns":  "quantize/float-int8/64x1024/dst=1024,1@0/src=1024,1@0/scale=float:0,1@0",
			"find-q4-0":   "quantize/float-uint4/2048x32/dst=32,1@0/src=32,1@0/scale=float16:1,0@0/find",
			"find-q8-0":   "quantize/float-int8/2048x32/dst=32,1@0/src=32,1@0/scale=float16:1,0@0/find",
			"find-mxfp4":  "quantize/float-float4e2m1/2048x32/dst=32,1@0/src=32,1@0/scale=float8e8m0:1,0@0/find",
		} {
			b.Run("level="+l.String()+"/"+name, func(b *testing.B) {
				cpu.Force(b, l)
				c, err := oracle.ParseCase(scaling)
				require.NoError(b, err)
				written, err := c.Dst.Shape().Bytes(c.DstType)
				require.NoError(b, err)
				benchmarkCycles(b, c, written)
			})
		}
	}
}
