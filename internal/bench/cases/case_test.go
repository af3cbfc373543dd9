package cases

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/oracle"
)

// Each case is an operation that devices accept, at any size, of about that many bytes.
func TestCases(t *testing.T) {
	names := map[string]bool{}
	for _, c := range All() {
		assert.False(t, names[c.Name], "%s is there twice", c.Name)
		names[c.Name] = true
		assert.NotEmpty(t, c.Class)
		var before int64
		for _, size := range []int64{1, 1000, 64 << 10, 1 << 20, Reference, 4 * Reference, 1 << 36} {
			at, err := c.At(size)
			require.NoError(t, err, "%s at %d", c.Name, size)
			assert.True(t, at.Op == oracle.OpFill || at.Dst.SameShape(&at.Src), c.Name)
			assert.False(t, at.Op != oracle.OpPut && at.Dst.SelfOverlaps(), c.Name)
			switch at.Op {
			case oracle.OpCopy, oracle.OpTake, oracle.OpPut, oracle.OpWhere:
				assert.Equal(t, at.DstType, at.SrcType, c.Name)
			case oracle.OpMap: // of any
			default:
				assert.NotEqual(t, at.DstType, at.SrcType, c.Name)
			}
			assert.Equal(t, at, parse(t, at.String()), "the name is the case")

			logical, err := LogicalBytes(at)
			require.NoError(t, err)
			assert.GreaterOrEqual(t, logical, before, "%s at %d is smaller than at a smaller size", c.Name, size)
			before = logical
			if size >= 4<<20 && c.Class != "convert" && c.Class != "scale" { // most are smaller
				assert.InDelta(t, 1, float64(logical)/float64(2*size), .8, "%s at %d", c.Name, size)
			}
		}
	}
	for letter, width := range map[string]string{"a-transpose": "32", "b-nchw-nhwc": "8", "c-heads": "16", "d-every-second": "64", "e-reversed": "128", "f-shuffle": "32"} {
		assert.True(t, names[letter+"/"+width], letter)
	}
}

// Published figures are for these shapes.
func TestReferenceShapes(t *testing.T) {
	want := map[string]string{
		"a-transpose/32":    "copy/float/4096x4096/dst=4096,1@0/src=1,4096@0",
		"b-nchw-nhwc/32":    "copy/float/32x112x112x64/dst=802816,7168,64,1@0/src=802816,112,1,12544@0",
		"c-heads/32":        "copy/float/8x16x512x64/dst=524288,32768,64,1@0/src=524288,64,1024,1@0",
		"d-every-second/32": "copy/float/4096x4096/dst=4096,1@0/src=8192,2@0",
		"e-reversed/32":     "copy/float/4096x4096/dst=4096,1@0/src=4096,-1@4095",
		"f-shuffle/32":      "copy/float/13x24x20x12x16x14/dst=1290240,53760,2688,224,14,1@0/src=1,2184,52416,182,1048320,13@0",
		"odd-nibble/4":      "copy/int4/134217728/dst=1@0/src=1@1",
		"unpack/4":          "convert/int4-int8/67108864/dst=1@0/src=1@0",
		"pack/2":            "convert/int8-int2/67108864/dst=1@0/src=1@0",
		"kv-cache-write/16": "copy/float16/64x16x512x64/dst=2097152,131072,64,1@32768/src=524288,64,1024,1@0",
		"expand-rows/32":    "copy/float/4096x4096/dst=4096,1@0/src=0,1@0",
		"flip-nhwc/8":       "copy/uint8/64x512x512x3/dst=786432,1536,3,1@0/src=786432,1536,-3,1@1533",
		"float4-to-half/4":  "convert/float4e2m1-float16/2097152/dst=1@0/src=1@0",
		"fill-inside/32":    "fill/float/32x64x112x112/dst=831744,12996,114,1@115",
		"fill-columns/16":   "fill/float16/4194304x4/dst=16,1@4",
		"awq-kn/4":          "copy/uint4/4096x1536x4x2/dst=12288,8,2,1@0/src=12288,8,1,4@0",
		"q4-0-nibbles/4":    "copy/uint4/1572864x2x16/dst=32,16,1@0/src=36,1,2@4",
		"take-rows/16":      "take/float16/8192x4096/dst=4096,1@0/src=0,1@0/at=1,0@0/int64/by=0:16384:4096/wrong=0",
		"take-pages/16":     "take/float16/8x4096x16x64/dst=4194304,1024,64,1@0/src=64,0,512,1@0/at=0,1,0,0@0/int64/by=0:8192:8192/wrong=0",
		"take-elements/32":  "take/float/2048x4096/dst=4096,1@0/src=8192,0@0/at=4096,1@0/int64/by=0:8192:1/wrong=0",
	}
	for _, c := range All() {
		if name := want[c.Name]; name != "" {
			at, err := c.At(Reference)
			require.NoError(t, err)
			assert.Equal(t, name, at.String())
			delete(want, c.Name)
		}
	}
	assert.Empty(t, want)
}

func TestCaseRefuses(t *testing.T) {
	c := All()[0]
	for _, size := range []int64{0, -1, math.MinInt64} {
		_, err := c.At(size)
		require.ErrorIs(t, err, device.ErrInvalid)
		assert.ErrorContains(t, err, c.Name)
	}
	for _, c := range All() {
		_, err := c.At(math.MaxInt64)
		if err == nil { // about as many bytes would be fewer
			continue
		}
		require.ErrorIs(t, err, device.ErrInvalid, c.Name)
	}
}

func TestLogicalBytes(t *testing.T) {
	for name, want := range map[string]int64{
		"copy/float/1000/dst=1@0/src=0@7":                                                  4000 + 4000,
		"convert/int4-int8/64/dst=1@0/src=1@0":                                             64 + 32,
		"fill/float16/8x4/dst=16,1@4":                                                      64,
		"take/float/8x16/dst=16,1@0/src=0,1@0/at=1,0@0/int64/by=0:100:16/wrong=0":          512 + 512 + 8*8,
		"take/float/8x16/dst=16,1@0/src=16,0@0/at=16,1@0/int32/by=0:16:1/wrong=0":          512 + 512 + 4*128,
		"take/int4/3x8x16/dst=128,16,1@0/src=16,0,1@0/at=0,1,0@0/int32/by=0:9:48/wrong=0":  192 + 192 + 4*8,
		"take/uint8/1x8x16/dst=128,16,1@0/src=16,0,1@0/at=8,1,0@0/int32/by=0:9:48/wrong=0": 128 + 128 + 4*8,
		"take/double/0x16/dst=0,0@0/src=0,0@0/at=0,0@0/int64/by=0:16:1/wrong=0":            0,
	} {
		got, err := LogicalBytes(parse(t, name))
		require.NoError(t, err)
		assert.Equal(t, want, got, name)
	}
}

// parse reads the name of an operation.
func parse(t *testing.T, name string) oracle.Case {
	t.Helper()
	c, err := oracle.ParseCase(name)
	require.NoError(t, err, name)
	return c
}
