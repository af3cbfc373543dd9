package cpu_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/internal/soak"
	"github.com/restride/restride/layout"
)

// Takes that are large enough for blocks and several workers, through the caches and
// past them, each way that units can be found and moved. Half of them have indices out
// of range.
func TestTakes(t *testing.T) { cpu.EachLevel(t, testTakes) }

func testTakes(t *testing.T) {
	severalWorkers(t, 5)
	dev := open(t)
	defer dev.Close()
	for i, name := range []string{
		// Rows: of lines, of lines with gaps, of neither, of more than a block.
		"take/float/20000x16/dst=16,1@0/src=0,1@0/at=1,0@0/int64/by=0:999:16/wrong=0",
		"take/float/10000x32/dst=48,1@16/src=0,1@3/at=1,0@0/int32/by=0:999:33/wrong=0",
		"take/float/20000x25/dst=25,1@1/src=0,1@0/at=1,0@5/int64/by=0:999:25/wrong=0",
		"take/float/600x260/dst=270,1@1/src=0,1@0/at=1,0@0/int32/by=0:99:260/wrong=0",
		"take/uint8/20000x19/dst=31,1@1/src=0,1@18962/at=1,0@0/int64/by=0:999:-19/wrong=0",
		"take/double/6x20001/dst=20001,1@1/src=0,1@0/at=1,0@0/int64/by=0:4:20001/wrong=0",
		"take/int4/20000x34/dst=34,1@0/src=0,1@0/at=1,0@0/int64/by=0:999:34/wrong=0",
		// Elements of every width.
		"take/uint8/300000/dst=1@1/src=0@0/at=1@0/int64/by=0:999:1/wrong=0",
		"take/float16/200000/dst=1@1/src=0@0/at=1@0/int32/by=0:999:1/wrong=0",
		"take/float/100000/dst=1@1/src=0@0/at=1@1/int64/by=0:9999:1/wrong=0",
		"take/double/70000/dst=2@1/src=0@0/at=1@3/int32/by=0:9999:1/wrong=0",
		"take/complex128/40000/dst=1@1/src=0@0/at=1@0/int64/by=0:999:1/wrong=0",
		"take/string/40000/dst=1@1/src=0@0/at=1@0/int64/by=0:999:1/wrong=0",
		"take/int4/300001/dst=1@1/src=0@0/at=1@0/int64/by=0:999:1/wrong=0",
		// Along the last axis, along the first one with few behind it, along columns.
		"take/float/300x500/dst=500,1@0/src=700,0@0/at=0,1@0/int64/by=0:700:1/wrong=0",
		"take/float/300x501/dst=501,1@0/src=700,0@0/at=501,1@0/int64/by=0:700:1/wrong=0", // from a table each
		"take/float/50000x3/dst=3,1@0/src=0,1@0/at=3,1@0/int64/by=0:999:3/wrong=0",
		"take/float/50000x3/dst=4,1@0/src=0,1@0/at=3,1@0/int32/by=0:999:3/wrong=0",
		"take/float/500x301/dst=1,500@0/src=0,999@0/at=1,0@0/int32/by=0:999:1/wrong=0",
		// Indices in tuples, backwards, and more of them than kernels count.
		"take/float/40000x4/dst=4,1@0/src=0,1@0/at=3,0@0/int64/by=0:9:400,1:10:40,2:10:4/wrong=0",
		"take/float/100000/dst=1@1/src=0@0/at=-1@99999/int64/by=0:9999:1/wrong=0",
		"take/float/50000x2/dst=2,1@1/src=0,1@0/at=1,0@0/int64/by=0:1099511627776:0,8:99:2/wrong=0",
	} {
		if cpu.Elsewhere(i) {
			continue
		}
		c, err := oracle.ParseCase(name)
		require.NoError(t, err)
		for _, from := range []int64{1, 4 << 20} {
			cpu.StreamFrom(t, from)
			for _, c.Wrong = range []int{0, 2} {
				if c.Wrong > 0 && from > 1 && !soak.Enabled() {
					continue // an error ends no kernel sooner: one of the two is enough
				}
				require.NoError(t, oracle.Check(dev, c, uint64(i)))
			}
		}
	}
}

// Takes from and to memory that starts anywhere.
func TestTakeUnaligned(t *testing.T) {
	dev := open(t)
	defer dev.Close()
	q, err := dev.NewQueue()
	require.NoError(t, err)
	for off := range 16 {
		for _, dtype := range []layout.DType{layout.Float16, layout.Float32, layout.Int64, layout.Complex128} {
			size := dtype.Bits() / 8
			table, out, indices := make([]byte, 16+40*size), make([]byte, 16+12*size), make([]byte, 16+4*8)
			for i := range table {
				table[i] = byte(i * 7)
			}
			rows := []byte{9, 0, 4, 7}
			for i, r := range rows {
				indices[off+8*i] = r
			}
			at := func(b []byte, t layout.DType, strides []int64) device.Operand {
				l, err := layout.Strided([]int64{4, 3}, strides, 0)
				if err != nil {
					panic(err)
				}
				return device.Operand{Buffer: cpu.Wrap(b[off:]), Layout: l, Type: t}
			}
			require.NoError(t, q.Take(at(out, dtype, []int64{3, 1}), at(table, dtype, []int64{0, 1}), at(indices, layout.Int64, []int64{1, 0}),
				layout.Index{Extent: 10, Stride: 4}))
			for i, r := range rows {
				require.Equal(t, table[off+4*int(r)*size:][:3*size], out[off+3*i*size:][:3*size], "%v at %d", dtype, off)
			}
		}
	}
}
