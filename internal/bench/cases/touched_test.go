package cases

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
)

// Touched bytes, counted one by one.
func TestTouched(t *testing.T) {
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
		"fill/float/64/dst=2@0":                      512 + 512, // merged
		"copy/float/1024/dst=2@0/src=1@0":            8192 + 8192 + 4096,
		"copy/float/64/dst=100@0/src=1@0":            2*64*32 + 256,
		"fill/float/16x112/dst=128,1@0":              16 * 448,
		"fill/float/16x60/dst=128,1@0":               16 * (256 + 32), // the last of each row is merged
		"fill/float/16x112/dst=114,1@0":              16*456 + 16*32,  // the last with the first of the next row
		"fill/float/1000/dst=1@1":                    4000,
		// 8 rows of 64 bytes, of 100 or of 2; an index for each
		"take/float/8x16/dst=16,1@0/src=0,1@0/at=1,0@0/int64/by=0:100:16/wrong=0": 512 + 512 + 64,
		"take/float/8x16/dst=16,1@0/src=0,1@0/at=1,0@0/int64/by=0:2:16/wrong=0":   512 + 128 + 64,
		// 128 elements, of rows of 1000 or of 16; an index for each
		"take/float/8x16/dst=16,1@0/src=1000,0@0/at=16,1@0/int64/by=0:1000:1/wrong=0": 512 + 128*32 + 1024,
		"take/float/8x16/dst=16,1@0/src=16,0@0/at=16,1@0/int64/by=0:16:1/wrong=0":     512 + 512 + 1024,
		// 8 rows of 64 bytes, then 128 elements, whose sectors are merged, and 16 of them that are reduced
		"put/float/8x16/dst=0,1@0/src=16,1@0/at=1,0@0/int64/by=0:100:16/wrong=0/set/once":    512 + 512 + 64,
		"put/float/8x16/dst=0,0@0/src=16,1@0/at=16,1@0/int64/by=0:1000:1/wrong=0/set/once":   4000 + 4000 + 512 + 1024,
		"put/float/8x16/dst=0,0@0/src=16,1@0/at=16,1@0/int64/by=0:10000:16/wrong=0/set/once": 2*128*32 + 512 + 1024,
		"put/float/8x16/dst=0,1@0/src=16,1@0/at=1,0@0/int64/by=0:100:16/wrong=0/add":         2*512 + 512 + 64,
	} {
		read, written := Touched(parse(t, name), 32)
		assert.Equal(t, want, read+written, name)
	}
}

// Partly filled sectors, counted one by one, over whole periods of the runs' places in sectors.
func TestMerged(t *testing.T) {
	for _, axes := range [][]step{
		{{64, 2}}, {{64, 3}, {1, 9}}, {{7, 1}, {64, 8}}, {{7, 1}, {64, 9}}, {{7, 1}, {64, 32}}, {{16, 1}, {64, 17}}, {{16, 1}, {64, 19}},
		{{33, 1}, {64, 36}}, {{40, 1}, {64, 48}}, {{30, 1}, {64, 48}}, {{30, 1}, {64, 50}}, {{2, 1}, {32, 5}, {64, 160}}, {{8, 1}, {64, 64}},
	} {
		for _, dtype := range []layout.DType{layout.Int4, layout.Uint8, layout.Float32, layout.Complex128} {
			filled := map[int64]int64{} // elements of each sector
			each := 32 * 8 / int64(dtype.Bits())
			index := make([]int64, len(axes))
			for more := true; more; {
				at := int64(0)
				for i, a := range axes {
					at += index[i] * a.stride
				}
				filled[at/each]++
				more = false
				for i := range axes {
					if index[i]++; index[i] < axes[i].n {
						more = true
						break
					}
					index[i] = 0
				}
			}
			want := int64(0)
			for _, n := range filled {
				if n < each {
					want += 32
				}
			}
			r := runsOf(axes, dtype, 32)
			assert.InDelta(t, want, r.merged(32, touched(axes, dtype, 32)), 64, "%v of %v", axes, dtype)
		}
	}
}

// A layout reaches exactly the positions of its elements.
func TestReaches(t *testing.T) {
	whole, err := layout.Contiguous(5, 4, 6)
	require.NoError(t, err)
	part := func(l layout.Layout, axis int, start, end, step int64) layout.Layout {
		l, err := l.Slice(axis, start, end, step)
		require.NoError(t, err)
		return l
	}
	permuted, err := part(part(whole, 1, 1, 3, 1), 2, 5, -7, -2).Permute(2, 0, 1)
	require.NoError(t, err)
	one := part(part(part(whole, 0, 2, 3, 1), 1, 0, 1, 1), 2, 3, 4, 1)
	for _, l := range []layout.Layout{whole, part(whole, 0, 1, 5, 3), part(whole, 2, 1, 6, 2), permuted, one} {
		in := map[int64]bool{}
		for i := range l.Dim(0) {
			for j := range l.Dim(1) {
				for k := range l.Dim(2) {
					in[l.At(i, j, k)] = true
				}
			}
		}
		for p := int64(0); p < 130; p++ {
			assert.Equal(t, in[p], Reaches(l, p), "%v at %d", l, p)
		}
	}
	none := part(whole, 0, 2, 2, 1)
	assert.False(t, Reaches(none, 48))
}
