package cpu_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/internal/oracle"
)

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

// streamCases are cases of every kernel that writes past the caches.
var streamCases = []string{
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
}

func testStream(t *testing.T) {
	severalWorkers(t, 3)
	cpu.StreamFrom(t, 1)
	dev := open(t)
	defer dev.Close()
	q, err := dev.NewQueue()
	require.NoError(t, err)
	for i, name := range streamCases {
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
