package cpu_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/internal/race"
	"github.com/restride/restride/layout"
)

// Small copies must not trouble the garbage collector.
func TestNoAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector makes pools forget")
	}
	dev := open(t)
	defer dev.Close()
	q, err := dev.NewQueue()
	require.NoError(t, err)
	for _, name := range []string{
		"copy/float/32x32/dst=32,1@0/src=32,1@0",
		"copy/float/32x32/dst=32,1@0/src=1,32@0",
		"copy/int4/32x64/dst=64,1@1/src=1,32@0",
		"copy/float/4x8x16/dst=128,16,1@0/src=16,64,1@0",
		"copy/uint8/64x64/dst=64,1@0/src=1,64@0",
		"convert/float-float16/32x32/dst=32,1@0/src=1,32@0",
		"convert/int4-float16/32x64/dst=64,1@1/src=1,32@0",
		"convert/double-uint2/32x32/dst=1,32@1/src=32,1@0/how=legacy",
	} {
		c, err := oracle.ParseCase(name)
		require.NoError(t, err)
		a, err := dev.Alloc(64 << 10)
		require.NoError(t, err)
		b, err := dev.Alloc(64 << 10)
		require.NoError(t, err)
		dst := device.Operand{Buffer: a, Layout: c.Dst, Type: c.DstType}
		src := device.Operand{Buffer: b, Layout: c.Src, Type: c.SrcType}
		allocs := testing.AllocsPerRun(200, func() {
			err := error(nil)
			if c.Op == oracle.OpConvert {
				err = q.Convert(dst, src, c.How)
			} else {
				err = q.Copy(dst, src)
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := q.Fill(dst, make([]byte, (c.DstType.Bits()+7)/8)); err != nil {
				t.Fatal(err)
			}
		})
		require.LessOrEqual(t, allocs, 1.0, "%s: the pattern may escape, nothing else", name)
	}
	noMoreAllocations(t, dev, q)
	for _, name := range []string{
		"take/float/8x16/dst=16,1@0/src=0,1@0/at=1,0@0/int64/by=0:9:16/wrong=0",
		"take/int4/8x16/dst=16,1@0/src=0,1@1/at=16,1@0/int32/by=0:9:16,8:3:1/wrong=0",
	} {
		c, err := oracle.ParseCase(name)
		require.NoError(t, err)
		var o [3]device.Operand
		for i, l := range []layout.Layout{c.Dst, c.Src, c.At} {
			b, err := dev.Alloc(4 << 10)
			require.NoError(t, err)
			o[i] = device.Operand{Buffer: b, Layout: l, Type: c.DstType}
		}
		o[2].Type = c.AtType
		require.NoError(t, q.Fill(device.Operand{Buffer: o[2].Buffer, Layout: mustDense(t, 4<<10), Type: layout.Uint8}, []byte{0}))
		require.Zero(t, testing.AllocsPerRun(200, func() {
			if err := q.Take(o[0], o[1], o[2], c.By...); err != nil {
				t.Fatal(err)
			}
		}), name)
	}
}

// Neither do calls of more forms than a queue keeps plans for, large ones that are
// shared with workers, fills with strings, and names of kernels.
func noMoreAllocations(t *testing.T, dev device.Device, q device.Queue) {
	words, err := dev.(device.StringAllocator).AllocStrings(100)
	require.NoError(t, err)
	a, err := dev.Alloc(1 << 20)
	require.NoError(t, err)
	b, err := dev.Alloc(1 << 20)
	require.NoError(t, err)
	turned := func(n int64) (dst, src device.Operand) {
		l, err := layout.Contiguous(n, n)
		require.NoError(t, err)
		s, err := l.Permute(1, 0)
		require.NoError(t, err)
		return device.Operand{Buffer: a, Layout: l, Type: layout.Float32}, device.Operand{Buffer: b, Layout: s, Type: layout.Float32}
	}
	var pairs [][2]device.Operand
	for n := int64(3); n < 200; n++ {
		dst, src := turned(n)
		pairs = append(pairs, [2]device.Operand{dst, src})
	}
	all := func() {
		for _, p := range pairs {
			if err := q.Copy(p[0], p[1]); err != nil {
				t.Fatal(err)
			}
		}
	}
	all()
	require.Zero(t, testing.AllocsPerRun(5, all), "forms of which the plans are made anew")

	column, err := mustDense(t, 100).Slice(0, 0, 100, 3)
	require.NoError(t, err)
	strings := device.Operand{Buffer: words, Layout: column, Type: layout.String}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if q.(device.StringQueue).FillString(strings, "again") != nil {
			t.Error("refused")
		}
	}))

	severalWorkers(t, 3) // AllocsPerRun has one processor
	dst, src := turned(512)
	var before, after runtime.MemStats
	const runs = 200
	for i := range 2 * runs {
		if i == runs {
			runtime.ReadMemStats(&before)
		}
		require.NoError(t, q.Copy(dst, src))
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.Mallocs-before.Mallocs, uint64(runs/2), "of %d large copies", runs)
}

func mustDense(t *testing.T, n int64) layout.Layout {
	t.Helper()
	l, err := layout.Contiguous(n)
	require.NoError(t, err)
	return l
}
