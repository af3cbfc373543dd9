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
	"github.com/restride/restride/internal/oracle"
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

// kernelCases are cases for each kernel of copies, conversions and fills.
var kernelCases = []struct{ kernel, name string }{
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
}

func testKernels(t *testing.T) {
	severalWorkers(t, 5)
	dev := open(t)
	q, err := dev.NewQueue()
	require.NoError(t, err)
	for i, c := range kernelCases {
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
				require.Equal(t, c.kernel, cpu.Loops(&parsed.Dst, &parsed.Src, parsed.DstType))
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
