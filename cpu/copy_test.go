package cpu_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/device/oracle"
	"github.com/restride/restride/internal/race"
	"github.com/restride/restride/internal/soak"
	"github.com/restride/restride/layout"
)

// severalWorkers makes copies use more workers than most machines that run the
// tests would.
func severalWorkers(t *testing.T, n int) {
	old := runtime.GOMAXPROCS(n)
	t.Cleanup(func() { runtime.GOMAXPROCS(old) })
}

// The suite's cases are small, and do not choose their kernel. These are large
// enough for blocks, for their remainders and for several workers, with a case
// for each kernel and width.
func TestKernels(t *testing.T) { cpu.EachLevel(t, testKernels) }

func testKernels(t *testing.T) {
	severalWorkers(t, 5)
	dev := open(t)
	q, err := dev.NewQueue()
	require.NoError(t, err)
	for i, c := range []struct{ kernel, name string }{
		{"dense.128", "copy/float/400004/dst=1@0/src=1@4"},
		{"dense.32", "copy/float/300001/dst=1@1/src=1@2"},
		{"rows.8", "copy/uint8/700x600/dst=700,1@3/src=611,1@0"},
		{"rows.8", "copy/uint8/100000x3/dst=5,1@3/src=4,1@0"},
		{"rows.16", "copy/float16/90000x3/dst=3,1@1/src=4,1@0"},
		{"rows.32", "copy/float/60000x3/dst=3,1@1/src=4,1@0"},
		{"rows.128", "copy/float/8x16x51x64/dst=52224,3264,64,1@0/src=52224,64,1024,1@0"},
		{"rows.128", "copy/float/4x51x16x64/dst=52224,1024,64,1@0/src=52224,64,3264,1@0"},
		{"rows.128", "copy/double/3x40000/dst=40000,1@0/src=0,1@0"},
		{"rows.string", "copy/string/300x100/dst=100,1@2/src=101,1@0"},
		{"transpose.8", "copy/uint8/777x555/dst=555,1@1/src=1,777@3"},
		{"transpose.16", "copy/float16/777x555/dst=600,1@1/src=1,777@3"},
		{"transpose.32", "copy/float/777x555/dst=555,1@1/src=1,777@3"},
		{"transpose.32", "copy/float/1024x1024/dst=1024,1@0/src=1,1024@0"},
		{"transpose.64", "copy/double/333x555/dst=555,1@1/src=1,333@3"},
		{"transpose.128", "copy/complex128/133x255/dst=255,1@1/src=1,133@3"},
		{"transpose.32", "copy/float/5x7x9x8x11x13/dst=72072,10296,1144,143,13,1@0/src=1,5,35,3465,315,27720@0"},
		{"transpose.32", "copy/float/13x6x5x3x16x14/dst=20160,3360,672,224,14,1@0/src=1,546,3276,182,16380,13@0"},
		{"transpose.32", "copy/float/300x200x5/dst=1000,5,1@0/src=1,300,60000@0"},
		{"transpose.32", "copy/float/555x777/dst=777,1@0/src=-1,555@554"}, // turned by 90 degrees
		{"transpose.32", "copy/float/100000x4/dst=4,1@0/src=1,0@0"},
		{"transpose.8", "copy/uint8/900x1300x3/dst=3900,3,1@1/src=1,900,1170000@2"},
		{"transpose.16", "copy/float16/90000x9/dst=9,1@1/src=1,90000@3"},
		{"transpose.16", "copy/float16/3000x5x101/dst=505,101,1@0/src=5,1,15000@3"},
		{"transpose.16", "copy/float16/3x5001x33/dst=165033,33,1@1/src=165033,1,5001@3"}, // few rows side by side
		{"transpose.32", "copy/float/5001x64/dst=64,1@0/src=-1,5003@5000"},
		{"transpose.64", "copy/double/3x3001x61/dst=183061,61,1@1/src=183061,1,3001@3"},
		{"transpose.128", "copy/complex128/2x1501x5/dst=7505,5,1@0/src=7505,1,1501@0"},
		{"transpose.8", "copy/uint8/3x5001x64/dst=320064,64,1@1/src=320064,1,5001@3"},
		{"transpose.8", "copy/uint8/13x13x1301/dst=16913,1301,1@0/src=1,13,169@2"}, // fewer columns than 16 bytes have
		{"transpose.8", "copy/uint8/7x2x130100/dst=262144,131072,1@0/src=1,0,7@2"},
		{"transpose.8", "copy/uint8/2049x1088/dst=1088,1@0/src=1,2049@0"}, // whole lines, and columns that remain
		{"transpose.8", "copy/uint8/1090x1088/dst=1088,1@0/src=1,1536@0"}, // and rows that fall into few sets of L1
		{"transpose.16", "copy/float16/1041x608/dst=608,1@0/src=1,2048@0"},
		{"transpose.32", "copy/float/1037x304/dst=304,1@0/src=1,1536@0"},
		{"transpose.16", "copy/float16/2049x555/dst=576,1@0/src=1,2049@0"},
		{"transpose.32", "copy/float/1301x999/dst=1008,1@0/src=1,1301@1"},
		{"transpose.64", "copy/double/1029x255/dst=256,1@0/src=-1,1029@1028"},
		{"transpose.128", "copy/complex128/1029x125/dst=128,1@0/src=1,1029@0"},
		{"transpose.8", "copy/uint8/2x3x400x500/dst=600000,200000,500,1@0/src=0,200000,1,400@0"},
		{"transpose.8 or general.8", "copy/uint8/5x3x70000/dst=210000,70000,1@0/src=210000,1,3@0"},
		{"transpose.8 or general.8", "copy/uint8/5x3x70001/dst=210003,70001,1@1/src=210003,1,3@3"},
		{"transpose.8 or general.8", "copy/uint8/3x300x900/dst=286720,900,1@0/src=1,3000,3@1"},
		{"transpose.16", "copy/float16/5x70001x3/dst=210003,3,1@1/src=210003,1,70001@3"},
		{"transpose.32", "copy/float/5x70000x3/dst=210000,3,1@0/src=210000,1,-70000@140000"}, // channels backwards
		{"transpose.64", "copy/double/50000x3/dst=3,1@0/src=1,0@0"},
		{"transpose.128 or general.128", "copy/complex128/3x40000/dst=40000,1@0/src=1,3@0"},
		{"reversed.8", "copy/uint8/333x1111/dst=1111,1@0/src=1111,-1@1110"},
		{"reversed.16", "copy/float16/333x1111/dst=1111,1@0/src=1111,-1@1110"},
		{"reversed.32", "copy/float/333x1111/dst=1111,1@0/src=1111,-1@1110"},
		{"reversed.64", "copy/double/333x1111/dst=1111,1@0/src=1111,-1@1110"},
		{"broadcast.8", "copy/uint8/500x1001/dst=1001,1@0/src=1,0@0"},
		{"broadcast.128", "copy/complex128/50x1001/dst=1001,1@0/src=1,0@0"},
		{"broadcast.string", "copy/string/50x1001/dst=1001,1@0/src=1,0@0"},
		{"strided.8", "copy/uint8/600000/dst=1@0/src=3@1"},
		{"strided.32", "copy/float/400x1000/dst=3000,2@1/src=2000,2@0"},
		{"general.32", "copy/float/700x600/dst=1300,2@1/src=1,700@0"},
		{"transpose.64 or general.64", "copy/double/3x100003/dst=100003,1@0/src=1,3@0"},
		{"general.string", "copy/string/200x210/dst=210,1@0/src=1,200@0"},
		{"general.string", "copy/string/9x7x500/dst=3500,500,1@0/src=1,-9,63@54"},

		// What is written past the caches, from and to anywhere in a line: in one
		// run, in long rows, in short ones put together, in sets of rows that are
		// whole lines, and of such that are not.
		{"dense.8", "copy/uint8/4500001/dst=1@3/src=1@1"},
		{"rows.8", "copy/uint8/2x3000x1501/dst=6000000,2000,1@3/src=4503000,1501,1@1"},
		{"rows.8", "copy/uint8/20000x241/dst=241,1@5/src=250,1@1"},
		{"rows.64", "copy/double/100001x5/dst=5,1@1/src=11,1@0"},
		{"rows.32", "copy/float/500001x3/dst=3,1@1/src=4,1@0"},
		{"rows.32", "copy/float/500001x3/dst=5,1@1/src=3,1@0"},
		{"rows.8", "copy/uint8/1500001x3/dst=3,1@1/src=-4,1@6000000"},
		{"rows.8", "copy/uint8/1500001x3/dst=4,1@1/src=3,1@5"},
		{"rows.128", "copy/float/4x16x520x40/dst=332800,20800,40,1@0/src=332800,40,640,1@0"},
		{"rows.128", "copy/float/4x16x520x40/dst=332800,20800,40,1@4/src=332800,40,640,1@8"},
		{"rows.128", "copy/float/4x16x520x32/dst=300000,18640,32,1@0/src=266240,32,512,1@0"},
		{"rows.128", "copy/float/4x16x520x32/dst=600000,37280,64,1@16/src=266240,32,512,1@0"},
		{"rows.128", "copy/float/3x16x300x128/dst=614400,38400,128,1@0/src=614400,128,2048,1@0"},
		{"rows.8", "copy/uint8/5x7x2000x67/dst=938000,134000,67,1@3/src=938000,67,469,1@1"},
		{"reversed.8", "copy/uint8/4500001/dst=1@3/src=-1@4500000"},
		{"reversed.128", "copy/complex128/300001/dst=1@0/src=-1@300000"},
		{"strided.8", "copy/uint8/4500001/dst=1@1/src=2@1"},
		{"strided.8", "copy/uint8/3000x1501/dst=1501,1@1/src=-4600,-3@13804503"},
		{"strided.16", "copy/float16/3000x1001/dst=1001,1@1/src=4010,4@1"},
		{"strided.32", "copy/float/1200x1001/dst=1003,1@1/src=9009,9@1"},
		{"strided.64", "copy/double/600001/dst=1@1/src=2@1"},
		{"strided.128", "copy/complex128/300001/dst=1@1/src=2@1"},
		{"strided.32", "copy/float/300000/dst=40@1/src=1@1"},
		{"broadcast.16", "copy/float16/2000x1501/dst=1501,1@1/src=1,0@0"},
		{"broadcast.64", "copy/double/200x3001/dst=3100,1@1/src=1,0@0"},
		// Elements far enough apart for a scatter that leaves gaps, at every width.
		{"strided.8", "copy/uint8/300x1001/dst=2010,2@1/src=1001,1@1"},
		{"strided.8", "copy/uint8/300001/dst=4@1/src=1@1"},
		{"strided.16", "copy/float16/300x1001/dst=3010,3@1/src=1001,1@1"},
		{"strided.32", "copy/float/300x1001/dst=2010,2@1/src=1001,1@1"},
		{"strided.64", "copy/double/300x1001/dst=3010,3@1/src=1001,1@1"},
		{"strided.128", "copy/complex128/300x101/dst=300,2@1/src=101,1@1"},

		{"bits.dense.4", "copy/int4/600001/dst=1@1/src=1@2"},
		{"bits.dense.2", "copy/int2/1100001/dst=1@1/src=1@2"},
		{"bits.dense.2", "copy/int2/1100001/dst=1@3/src=1@1"},
		{"dense.128", "copy/int4/600000/dst=1@0/src=1@32"},
		// Rows that share bytes with their neighbours, in phases that repeat and
		// phases that do not, and gaps that belong to nobody.
		{"bits.rows.4", "copy/int4/250001x3/dst=3,1@0/src=4,1@0"},
		{"bits.rows.4", "copy/int4/200001x4/dst=4,1@1/src=5,1@0"},
		{"bits.rows.2", "copy/int2/300001x7/dst=7,1@2/src=8,1@1"},
		{"bits.rows.2", "copy/int2/300001x5/dst=6,1@3/src=8,1@1"},
		{"bits.rows.4", "copy/int4/3x5x7x11x501/dst=192885,38577,5511,501,1@1/src=202000,40000,5600,502,1@0"},
		{"bits.broadcast.4", "copy/int4/301x3001/dst=3001,1@1/src=1,0@1"},
		{"bits.broadcast.2", "copy/int2/201x5501/dst=5501,1@1/src=1,0@1"},
		{"bits.reversed.4", "copy/int4/301x3001/dst=3001,1@1/src=3001,-1@3000"},
		{"bits.reversed.2", "copy/int2/201x5501/dst=5501,1@1/src=5501,-1@5500"},
		{"bits.strided.4", "copy/int4/600001/dst=1@1/src=3@1"},
		{"bits.strided.2", "copy/int2/1100001/dst=1@3/src=2@1"},
		{"bits.strided.4", "copy/int4/600001/dst=2@1/src=1@0"},
		{"bits.general.4", "copy/int4/300001x3/dst=3,1@1/src=1,300001@1"},
		{"bits.transpose.4", "copy/int4/1001x999/dst=999,1@1/src=1,1001@1"},
		{"bits.transpose.4", "copy/int4/1024x1024/dst=1024,1@0/src=1,1024@0"},
		{"bits.transpose.4", "copy/int4/1000x1001/dst=1001,1@0/src=-1,1000@999"},
		{"bits.transpose.2", "copy/int2/1501x1499/dst=1499,1@1/src=1,1501@1"},
		{"bits.transpose.2", "copy/int2/3x17x1100x40/dst=748000,44000,40,1@1/src=748000,1,17,18700@2"},
		// Parts of the innermost axis, where rows are few and end anywhere.
		{"bits.transpose.4", "copy/int4/25x40001/dst=40001,1@1/src=1,25@1"},
		{"bits.transpose.4", "copy/int4/48x20002/dst=20005,1@0/src=-1,48@47"},
		{"bits.transpose.2", "copy/int2/2x33x30003/dst=990099,30003,1@3/src=990099,1,33@2"},
		{"bits.transpose.2", "copy/int2/100x20000/dst=20000,1@0/src=1,100@0"},
		// Rows that become one.
		{"bits.transpose.4", "copy/int4/40001x24/dst=24,1@2/src=1,40001@1"},
		{"bits.transpose.2", "copy/int2/40002x48/dst=48,1@0/src=1,40002@0"},
		// Axes that interleave: one worker.
		{"bits.strided.4", "copy/int4/2x300001/dst=3,2@0/src=300001,1@0"},

		{"", "convert/int4-int8/600001/dst=1@0/src=1@1"},
		{"", "convert/int8-int4/600001/dst=1@1/src=1@0"},
		{"", "convert/int2-int8/300x3001/dst=1,300@0/src=3001,1@1"},
		{"", "convert/uint8-uint2/300x5501/dst=5501,1@1/src=1,300@0"},
		{"", "convert/uint8-float4e2m1/300001x3/dst=3,1@1/src=1,300001@0"},
		{"", "convert/int4-int8/300x3001/dst=3001,1@1/src=1,300@0"},
		{"", "convert/int8-int4/600001/dst=2@1/src=-1@600000"},
		{"", "fill/int4/250001x3/dst=4,1@1"},
		{"", "fill/int4/600001/dst=1@1"},
		{"", "fill/double/300x1000/dst=2000,2@1"},
		{"", "fill/float/1000003/dst=1@0"},
		{"", "fill/float/1500003/dst=1@1"},
		{"", "fill/uint8/3000x1501/dst=1600,1@7"},
	} {
		if cpu.Elsewhere(i) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			parsed, err := oracle.ParseCase(c.name)
			require.NoError(t, err)
			if with, without, depends := strings.Cut(c.kernel, " or "); depends {
				c.kernel = without
				if cpu.Vectors() {
					c.kernel = with
				}
			}
			if c.kernel != "" {
				require.Equal(t, c.kernel, kernelName(t, dev, q, parsed))
			}
			if !soak.Enabled() {
				parsed = shortened(t, parsed)
			}
			require.NoError(t, oracle.CheckOn(dev, q, parsed, 1))
		})
	}
}

// shortened makes a case large enough for stores past the caches a quarter as large,
// and these pay sooner.
func shortened(t *testing.T, c oracle.Case) oracle.Case {
	if c.Op != oracle.OpCopy || c.DstType == layout.String || c.Dst.Count()*int64(c.DstType.Bits())/8 < 4<<20 {
		return c
	}
	cpu.StreamFrom(t, 1<<20)
	longest := 0
	for i := range c.Dst.Rank() {
		if c.Dst.Dim(i) > c.Dst.Dim(longest) {
			longest = i
		}
	}
	n, err := c.Dst.Dim(longest)/4+1, error(nil)
	c.Dst, err = c.Dst.Slice(longest, 0, n, 1)
	require.NoError(t, err)
	c.Src, err = c.Src.Slice(longest, 0, n, 1)
	require.NoError(t, err)
	return c
}

func kernelName(t *testing.T, dev device.Device, q device.Queue, c oracle.Case) string {
	room := func(l layout.Layout, typ layout.DType) device.Buffer {
		_, hi, _ := l.Extent()
		if typ == layout.String {
			buf, err := dev.(device.StringAllocator).AllocStrings(hi + 1)
			require.NoError(t, err)
			return buf
		}
		size, ok := layout.PackedBytes(hi+1, typ.Bits())
		require.True(t, ok)
		buf, err := dev.Alloc(size)
		require.NoError(t, err)
		return buf
	}
	dst := device.Operand{Buffer: room(c.Dst, c.DstType), Layout: c.Dst, Type: c.DstType}
	src := device.Operand{Buffer: room(c.Src, c.SrcType), Layout: c.Src, Type: c.SrcType}
	defer func() {
		require.NoError(t, dst.Buffer.Free())
		require.NoError(t, src.Buffer.Free())
	}()
	return q.(device.KernelNamer).KernelName(dst, src)
}

// Random cases of a size at which workers share them, with the edges of parts
// anywhere.
func TestKernelsRandom(t *testing.T) { cpu.EachLevel(t, testKernelsRandom) }

func testKernelsRandom(t *testing.T) {
	severalWorkers(t, 4)
	dev := open(t)
	q, err := dev.NewQueue()
	require.NoError(t, err)
	cases := 40
	switch {
	case soak.Enabled():
		cases = 150
	case testing.Short():
		cases = 15
	}
	for seed := range uint64(cases) {
		if cpu.Elsewhere(int(seed)) {
			continue
		}
		rng := rand.New(rand.NewPCG(seed, 7))
		outer, mid, in := 1+rng.Int64N(9), 1+rng.Int64N(120), 1+rng.Int64N(1300)
		typ := []layout.DType{layout.Int4, layout.Int2, layout.Uint8, layout.Float32}[rng.IntN(4)]
		bits := typ.Bits()
		if most := int64(3<<20*8/bits) / (outer * mid); in > most {
			in = most
		} else if least := int64(300<<10*8/bits) / (outer * mid); in < least {
			in = least
		}
		pad := func() int64 { return rng.Int64N(3) }
		d2, d1 := in+pad(), int64(0)
		d1 = mid*d2 + pad()
		dims := []int64{outer, mid, in}
		perm := rng.Perm(3)
		src := make([]int64, 3)
		step := int64(1)
		for _, k := range perm {
			src[k] = step
			step = step*dims[k] + pad()
		}
		name := fmt.Sprintf("copy/%v/%dx%dx%d/dst=%d,%d,1@%d/src=%d,%d,%d@%d", typ, outer, mid, in,
			d1, d2, rng.Int64N(5), src[0], src[1], src[2], rng.Int64N(5))
		c, err := oracle.ParseCase(name)
		require.NoError(t, err, name)
		require.NoError(t, oracle.CheckOn(dev, q, c, seed))
	}
}

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

	dst, src := turned(20)
	column, err := mustDense(t, 100).Slice(0, 0, 100, 3)
	require.NoError(t, err)
	strings := device.Operand{Buffer: words, Layout: column, Type: layout.String}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if q.(device.KernelNamer).KernelName(dst, src) == "" || q.(device.StringQueue).FillString(strings, "again") != nil {
			t.Error("refused")
		}
	}))

	severalWorkers(t, 3) // AllocsPerRun has one processor
	dst, src = turned(512)
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

// Wrapped memory may start anywhere; elements are then aligned to nothing.
func TestWrapUnaligned(t *testing.T) { cpu.EachLevel(t, testWrapUnaligned) }

func testWrapUnaligned(t *testing.T) {
	dev := open(t)
	defer dev.Close()
	q, err := dev.NewQueue()
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(3, 3))
	for _, name := range []string{
		"copy/float/50x60/dst=60,1@1/src=1,50@2",
		"copy/double/50x60/dst=60,1@1/src=61,1@2",
		"copy/complex128/50x60/dst=60,1@1/src=60,-1@59",
		"copy/float16/3000/dst=1@1/src=2@2",
		"copy/int4/3001/dst=1@1/src=1@2",
		"copy/float/50x60/dst=60,1@1/src=1,0@2",
	} {
		c, err := oracle.ParseCase(name)
		require.NoError(t, err)
		for shift := range 9 {
			a, b := make([]byte, 128<<10), make([]byte, 128<<10)
			for i := range a {
				a[i], b[i] = byte(rng.Uint32()), byte(rng.Uint32())
			}
			a, b = a[shift:], b[(shift*5)%8:]
			want := append([]byte{}, a...)
			oracle.Copy(want, c.Dst, b, c.Src, c.DstType.Bits())
			to, from := cpu.Wrap(a), cpu.Wrap(b)
			require.NoError(t, q.Copy(
				device.Operand{Buffer: to, Layout: c.Dst, Type: c.DstType},
				device.Operand{Buffer: from, Layout: c.Src, Type: c.SrcType}))
			require.Equal(t, want, a, "%s, %d bytes off", name, shift)

			pattern := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}[:(c.DstType.Bits()+7)/8]
			oracle.Fill(want, c.Dst, pattern, c.DstType.Bits())
			require.NoError(t, q.Fill(device.Operand{Buffer: to, Layout: c.Dst, Type: c.DstType}, pattern))
			require.Equal(t, want, a, "fill of %s, %d bytes off", name, shift)
		}
	}
}

// TestStream are writes past the caches, which only large ones are elsewhere.
func TestStream(t *testing.T) {
	cpu.EachLevel(t, testStream)
	t.Run("otherwise", func(t *testing.T) {
		cpu.EachLevel(t, func(t *testing.T) {
			cpu.Otherwise(t)
			testStream(t)
		})
	})
}

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
		"convert/float8e4m3fn-float16/300001/dst=1@33/src=1@3",
		"convert/float16-float4e2m1/600001/dst=1@3/src=1@1",
		// Rows that fall into few sets, and pieces with more of them or fewer.
		"copy/uint8/300x200/dst=200,1@0/src=1,2048@1",
		"copy/uint8/256x320/dst=320,1@0/src=1,1024@0",
		"copy/uint8/1000x129/dst=129,1@3/src=1,4096@0",
		"copy/int4/700x300/dst=300,1@0/src=1,4096@0",
		"copy/int2/900x300/dst=301,1@1/src=1,8192@0",
		"copy/int2/900x300/dst=300,1@0/src=1,8192@8",
		"copy/int4/701x400/dst=512,1@128/src=1,702@0",
		"copy/int4/700x300/dst=384,1@0/src=1,4096@0",
		"copy/int2/901x530/dst=768,1@0/src=1,904@0",
		"copy/int2/1003x530/dst=768,1@256/src=1,8192@4",
		"copy/int4/3x200x256/dst=51200,256,1@0/src=51200,-1,200@199",
		// Rows that begin within bytes, or end there, in several pieces and as one run.
		"copy/int4/700x2300/dst=2300,1@1/src=1,701@1",
		"copy/int2/900x2301/dst=2301,1@3/src=1,903@5",
		"copy/int4/40x300x51/dst=15300,51,1@1/src=15300,1,300@3",
		"copy/int2/40x300x67/dst=20101,67,1@3/src=20100,1,300@2",
		"copy/int4/5x300x16/dst=4800,16,1@1/src=4801,1,300@1",
		"copy/float16/200x300/dst=300,1@3/src=1,1024@0",
		"copy/float/300x170/dst=192,1@0/src=1,300@0",
		"copy/double/130x170/dst=170,1@0/src=1,131@0",
		"copy/float/13x24x5x16x14/dst=26880,1120,224,14,1@0/src=1,14560,182,910,13@0",
		// Rows in short runs of the source, some of which go on along another axis.
		"copy/uint8/13x2x3x12x64x14/dst=64512,32256,10752,896,14,1@0/src=1,2184,4368,182,13104,13@0",
		"copy/uint8/13x3x2x12x63x14/dst=63504,21168,10584,882,14,1@0/src=1,2184,6552,182,13104,13@0",
		"copy/uint8/7x3x1x12x119x14/dst=59976,19992,19992,1666,14,1@0/src=1,1176,3528,98,3528,7@0",
		"copy/uint8/9x2x1x3x200x14/dst=16800,8400,8400,2800,14,1@0/src=1,378,756,126,756,9@0",
		"copy/uint8/13x5x1x7x61x11/dst=23485,4697,4697,671,11,1@0/src=1,1001,5005,143,5005,13@0",
		"copy/float16/13x3x2x12x31x14/dst=31248,10416,5208,434,14,1@0/src=1,2184,6552,182,13104,13@0",
		"copy/float16/33x13x20x1x12x14/dst=43680,3360,168,168,14,1@0/src=1,5544,72072,5544,462,33@0",
		"copy/float/13x5x16x14/dst=1120,224,14,1@0/src=1,182,910,13@0",
		"copy/double/13x5x9x14/dst=630,126,14,1@0/src=1,182,910,13@0",
		"copy/complex128/7x5x9x14/dst=630,126,14,1@0/src=1,98,490,7@0",
		"copy/uint8/13x300x14/dst=4200,14,1@0/src=1,300,13@0",
		"copy/uint8/13x200x24/dst=4801,24,1@3/src=1,400,-13@299",
		"copy/float16/13x5x200x14/dst=14016,2803,14,1@1/src=-1,182,910,13@12",
		"copy/uint8/13x5x200x14/dst=14080,2800,14,1@64/src=1,-182,910,13@728",
		// Rows of the destination on lines, but not evenly apart.
		"copy/float16/3x3x250x96/dst=72000,24000,96,1@0/src=3,1,9,2250@0",
		"copy/float16/3x3x512x64/dst=98304,32768,64,1@0/src=3,1,9,4608@0",
		"copy/uint8/7x300x64/dst=19200,64,1@0/src=1,7,2100@0",
		"copy/uint8/9x115x128/dst=14720,128,1@37/src=1,9,1035@0",
		"copy/uint8/5x11x64x128/dst=90112,8192,128,1@0/src=1,5,55,3520@0",
		"copy/double/5x33x40/dst=1320,40,1@0/src=1,5,165@0",
		"copy/float/2x3x41x48/dst=5904,1968,48,1@0/src=-3,-1,-6,246@245",
		"copy/float/3x1025x80/dst=82000,80,1@0/src=1,3,3075@0",
		"copy/uint8/13x14x67x192/dst=180096,12864,192,1@0/src=1,13,182,12194@0",
		// Columns of a few bytes that are neighbours.
		"copy/uint8/8x8x8x4x32x8/dst=65536,8192,1024,256,8,1@0/src=2048,65536,32,16384,1,256@0",
		"copy/uint8/9x4x7x5x33x4/dst=18480,4620,660,132,4,1@0/src=924,41580,33,8316,1,231@0",
		"copy/float16/3x4x8x6x32x4/dst=24576,6144,768,128,4,1@0/src=1024,18432,32,3072,1,256@0",
		"copy/double/7x9x8x6x32x1/dst=13824,1536,192,32,1,1@0/src=256,10752,32,1792,1,256@0",
		// Whole lines of picks, and what is before and after them.
		"copy/uint8/19x3001/dst=3001,1@5/src=6002,2@1",
		"copy/uint8/19x3001/dst=3008,1@64/src=3001,-1@3000",
		"copy/float16/19x3001/dst=3001,1@1/src=9003,3@2",
		"copy/float/19x3001/dst=3001,1@1/src=3001,-1@3000",
		"copy/double/17x2001/dst=2001,1@1/src=2001,-1@2000",
		"copy/complex128/17x1001/dst=1001,1@1/src=2002,2@0",
		"copy/uint8/50x512x3/dst=1536,3,1@0/src=1536,-3,1@1533",
		"copy/uint8/4x3x4100/dst=12300,4100,1@0/src=12300,1,3@0",
		"copy/float/4x3x4096/dst=12288,4096,1@0/src=12288,1,3@0",
		"copy/double/3x70001/dst=70001,1@1/src=70001,-1@70000",
		"copy/uint16/19x3001/dst=3008,1@3/src=9003,-3@9000",
		// Rows that are joined, also backwards and over each other, and rows of whole lines.
		"copy/uint8/700x65/dst=65,1@3/src=97,1@1",
		"copy/uint8/700x224/dst=224,1@0/src=256,1@16",
		"copy/uint8/31x40x127/dst=5080,127,1@63/src=10000,128,1@1",
		"copy/float16/400x300/dst=300,1@7/src=-310,1@123690",
		"copy/float/300x100/dst=100,1@1/src=9,1@2",
		"copy/uint8/9x40x16x64/dst=40960,64,2560,1@64/src=40960,1024,64,1@1",
		"copy/uint8/9x40x16x64/dst=81920,64,5120,1@0/src=40960,1024,64,1@0",
		// Short rows that make lines together, all along the other axis or parts of it.
		"copy/uint8/9x16x40x32/dst=20480,1280,32,1@64/src=20480,32,512,1@1",
		"copy/uint8/9x16x41x96/dst=62976,3936,96,1@5/src=62976,96,1536,1@0",
		"copy/uint8/9x18x48x40/dst=34560,1920,40,1@0/src=34560,40,720,1@2",
		"copy/float16/3x300x16x12/dst=57600,192,12,1@0/src=57600,12,3600,1@3",
		"copy/float/3x420x16x10/dst=67200,160,10,1@16/src=67200,-10,4200,1@4190",
		"copy/uint8/3x401x16x32/dst=205312,512,32,1@0/src=205312,32,12832,1@0",
		"copy/uint8/2000x12/dst=12,1@5/src=16,1@0",
		"copy/uint8/2000x7/dst=7,1@0/src=9,1@0",
		"fill/float/40x60x30/dst=2048,33,1@5",
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
