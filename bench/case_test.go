package bench

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/oracle"
	"github.com/restride/restride/layout"
)

// Each case is an operation that devices accept, at any size, of about as many
// bytes as that says.
func TestCases(t *testing.T) {
	names := map[string]bool{}
	for _, c := range Cases() {
		assert.False(t, names[c.Name], "%s is there twice", c.Name)
		names[c.Name] = true
		assert.NotEmpty(t, c.Class)
		var before int64
		for _, size := range []int64{1, 1000, 64 << 10, 1 << 20, Reference, 4 * Reference, 1 << 36} {
			at, err := c.At(size)
			require.NoError(t, err, "%s at %d", c.Name, size)
			assert.True(t, at.Dst.SameShape(at.Src), c.Name)
			assert.False(t, at.Dst.SelfOverlaps(), c.Name)
			assert.Equal(t, at.Op == oracle.OpConvert, at.DstType.Bits() != at.SrcType.Bits(), c.Name)
			again, err := oracle.ParseCase(at.String())
			require.NoError(t, err)
			assert.Equal(t, at.String(), again.String(), "the name is the case")

			logical, err := LogicalBytes(at)
			require.NoError(t, err)
			assert.GreaterOrEqual(t, logical, before, "%s at %d is smaller than at a smaller size", c.Name, size)
			before = logical
			if size >= 4<<20 {
				assert.InDelta(t, 1, float64(logical)/float64(2*size), .8, "%s at %d", c.Name, size)
			}
			touched := TouchedBytes(at, 32)
			assert.Positive(t, touched)
			assert.LessOrEqual(t, touched, 4*logical+1<<10, "%s at %d", c.Name, size)
		}
	}
	for letter, width := range map[string]string{"a-transpose": "32", "b-nchw-nhwc": "8", "c-heads": "16", "d-every-second": "64", "e-reversed": "128", "f-shuffle": "32"} {
		assert.True(t, names[letter+"/"+width], letter)
	}
}

// The figures of others are of these shapes.
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
	}
	for _, c := range Cases() {
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
	c := Cases()[0]
	for _, size := range []int64{0, -1, math.MinInt64} {
		_, err := c.At(size)
		require.ErrorIs(t, err, device.ErrInvalid)
		assert.ErrorContains(t, err, c.Name)
	}
	for _, c := range Cases() {
		_, err := c.At(math.MaxInt64)
		if err == nil { // about as many bytes is fewer
			continue
		}
		require.ErrorIs(t, err, device.ErrInvalid, c.Name)
	}
}

// Touched bytes, counted one by one.
func TestTouchedBytes(t *testing.T) {
	for name, want := range map[string]int64{
		"copy/float/8/dst=1@0/src=1@0":               32 + 32,
		"copy/float/1000/dst=1@0/src=0@7":            4000 + 32, // read once
		"copy/float/1024/dst=1@0/src=2@0":            4096 + 8192,
		"copy/float/1024/dst=1@0/src=-2@2046":        4096 + 8192,
		"copy/float/1024/dst=1@0/src=100@0":          4096 + 1024*32, // a sector each
		"copy/float/16x64/dst=64,1@0/src=1024,1@0":   4096 + 4096,
		"copy/float/64x64/dst=64,1@0/src=1,64@0":     16384 + 16384,
		"convert/int4-int8/64/dst=1@0/src=1@0":       64 + 32,
		"copy/uint8/0x5/dst=0,0@0/src=0,0@0":         0,
		"copy/uint8/scalar/dst=@0/src=@3":            64,
		"copy/float/4x8x8/dst=64,8,1@0/src=0,1,8@0":  1024 + 256,
		"copy/uint8/64x100/dst=100,1@0/src=1000,1@0": 6400 + 64*128,
	} {
		c, err := oracle.ParseCase(name)
		require.NoError(t, err)
		assert.Equal(t, want, TouchedBytes(c, 32), name)
	}
}

// What peers read says where every element is.
func TestList(t *testing.T) {
	entries, err := List(Cases(), 1<<20)
	require.NoError(t, err)
	text, err := json.Marshal(entries)
	require.NoError(t, err)
	var back []Entry
	require.NoError(t, json.Unmarshal(text, &back))
	require.Len(t, back, len(Cases()))
	folds := 0
	for _, e := range back {
		c, err := oracle.ParseCase(e.Case)
		require.NoError(t, err)
		if e.Dst.Bits > c.DstType.Bits() && c.Op == oracle.OpCopy {
			folds++
			c = asBytes(c)
		}
		for _, p := range []struct {
			place Place
			l     layout.Layout
			t     layout.DType
		}{{e.Dst, c.Dst, c.DstType}, {e.Src, c.Src, c.SrcType}} {
			l, err := layout.Strided(p.place.Dims, p.place.Strides, p.place.Offset)
			require.NoError(t, err)
			assert.True(t, l.Equal(p.l), e.Name)
			assert.True(t, l.Fits(p.place.Length), e.Name)
			assert.False(t, l.Fits(p.place.Length-1), e.Name)
			assert.Equal(t, p.t.String(), p.place.Type)
			assert.Equal(t, p.t.Bits(), p.place.Bits)
			require.NotNil(t, p.place.Recipe, e.Name)
			made(t, p.place.Recipe, l)
		}
	}
	assert.Equal(t, 1, folds, "c-heads/4 is a copy of bytes, and no other case is")
	_, err = List(Cases(), 0)
	require.ErrorIs(t, err, device.ErrInvalid)
}
