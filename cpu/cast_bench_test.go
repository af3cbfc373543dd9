package cpu_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/internal/simd"
)

// BenchmarkCasts is BenchmarkCycles for casts, most of them to and from types of at most 8 bits
// that package bench has no case for. Its cycles are for each byte that is read or written.
func BenchmarkCasts(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, l := range simd.Levels() {
		for _, types := range []string{
			"float-float4e2m1", "float16-float4e2m1", "bfloat16-float4e2m1", "float-float8e4m3fn", "float-float8e5m2", "float16-float8e4m3fn", "bfloat16-float8e5m2",
			"float-int4", "float16-int4", "float16-int8", "float4e2m1-float", "float4e2m1-float16", "float8e4m3fn-float", "float8e4m3fn-bfloat16", "float8e8m0-float", "float-float8e8m0",
			"float16-float", "float-float16", "float-bfloat16", "float16-bfloat16",
		} {
			b.Run("level="+l.String()+"/"+types, func(b *testing.B) {
				cpu.Force(b, l)
				c, err := oracle.ParseCase("convert/" + types + "/128x1024/dst=1024,1@0/src=1024,1@0")
				require.NoError(b, err)
				const count = 128 << 10
				moved := count * int64(c.DstType.Bits()+c.SrcType.Bits()) / 8
				benchmarkCycles(b, c, moved)
			})
		}
	}
}
