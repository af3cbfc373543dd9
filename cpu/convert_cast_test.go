package cpu

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/race"
	"github.com/restride/restride/internal/simd"
	"github.com/restride/restride/internal/soak"
	"github.com/restride/restride/layout"
)

// hard returns elements of a type: all that there are of at most 16 bits; else
// every high half with low halves at which rounding changes, and noise.
func hard(t layout.DType) []byte {
	var all []byte
	size := max(t.Bits()/8, 1)
	put := func(v uint64) { all = append(all, binary.LittleEndian.AppendUint64(nil, v)[:size]...) }
	if t.Bits() <= 16 {
		for v := range uint64(1) << t.Bits() {
			put(v)
		}
		return all
	}
	step := uint64(7)
	if soak.Enabled() {
		step = 1
	}
	if race.Enabled {
		step = 61 // it has nothing to watch here
	}
	for high := uint64(0); high < 1<<16; high += step {
		for _, low := range []uint64{0, 1, 0x0fff, 0x1000, 0x1001, 0x2000, 0x3000, 0x7fff, 0x8000, 0x8001, 0xffff} {
			v := high<<16 | low
			if size == 8 {
				v = v<<32 | low<<16 | low
			}
			put(v)
		}
	}
	rng := rand.New(rand.NewPCG(4, 4))
	for range 100_000 {
		put(rng.Uint64() >> rng.IntN(64))
	}
	return all
}

// Kernels, and ways by float32, give what the general rule gives, for every value.
func TestCasters(t *testing.T) {
	pairs := map[[2]layout.DType]bool{}
	for pair := range castKernels {
		pairs[pair] = true
	}
	for _, half := range []layout.DType{layout.Float16, layout.BFloat16} {
		for _, other := range []layout.DType{
			layout.Float16, layout.BFloat16, layout.Float32, layout.Float64, layout.Int8, layout.Int16, layout.Int32,
			layout.Int64, layout.Uint8, layout.Uint16, layout.Uint32, layout.Uint64, layout.Bool, layout.Int4,
		} {
			pairs[[2]layout.DType{half, other}] = half != other
			pairs[[2]layout.DType{other, half}] = half != other
		}
	}
	for _, narrow := range []layout.DType{layout.Int2, layout.Uint2, layout.Int4, layout.Uint4, layout.Float4E2M1} {
		for _, wide := range []layout.DType{layout.Float16, layout.BFloat16, layout.Int16, layout.Float32, layout.Int32} {
			pairs[[2]layout.DType{wide, narrow}] = true
		}
		pairs[[2]layout.DType{narrow, layout.Float32}] = true
	}
	for _, narrow := range []layout.DType{layout.Float8E4M3FN, layout.Float8E4M3FNUZ, layout.Float8E5M2, layout.Float8E5M2FNUZ} {
		pairs[[2]layout.DType{layout.Float16, narrow}] = true
		for _, wide := range []layout.DType{layout.Float16, layout.BFloat16, layout.Float32} {
			pairs[[2]layout.DType{narrow, wide}] = true
		}
	}
	pairs[[2]layout.DType{layout.Float4E2M1, layout.Float16}] = true
	pairs[[2]layout.DType{layout.Float4E2M1, layout.BFloat16}] = true
	for pair, wanted := range pairs {
		if !wanted {
			continue
		}
		dst, src := pair[0], pair[1]
		t.Run(src.String()+"-"+dst.String(), func(t *testing.T) {
			elements := hard(src)
			for _, how := range []device.Rounding{{}, {Legacy: true}, {Unsaturated: true}} {
				from, to := numberOf(src, how), numberOf(dst, how)
				n := int64(len(elements)) / int64(max(src.Bits()/8, 1))
				size := int64(max(dst.Bits()/8, 1))
				want := make([]byte, n*size)
				for i := range n {
					to.put(unsafe.Pointer(&want[0]), i, to.encode(from.decode(from.get(unsafe.Pointer(&elements[0]), i))))
				}
				for _, level := range simd.Levels() {
					Force(t, level)
					for _, past := range []bool{false, true} {
						got := make([]byte, n*size)
						c, sc := newCaster(dst, src, how), new(scratch)
						c.run(unsafe.Pointer(&got[0]), unsafe.Pointer(&elements[0]), n, past, sc)
						if dst.Bits() < 8 { // packing drops the bits above
							for i := range got {
								got[i] &= 1<<dst.Bits() - 1
							}
						}
						packed := make([]byte, n)
						done := c.pack(unsafe.Pointer(&packed[0]), 0, unsafe.Pointer(&elements[0]), n, past)
						if c.packing != nil && c.packing(kernels) != nil {
							require.Positive(t, done, "packed elements, %v", level)
						}
						for i := range done {
							require.Equal(t, want[i], getBits(unsafe.Pointer(&packed[0]), 4*i, 4), "packed element %d, %v, %+v", i, level, how)
						}
						if string(got) == string(want) {
							continue
						}
						for i := range n {
							require.Equal(t, to.get(unsafe.Pointer(&want[0]), i), to.get(unsafe.Pointer(&got[0]), i),
								"element %d, %#x, %v, %+v", i, from.get(unsafe.Pointer(&elements[0]), i), level, how)
						}
					}
				}
			}
		})
	}
}

// The types that the rules of kernels are for follow them.
func TestRules(t *testing.T) {
	for _, narrow := range []layout.DType{layout.Float8E4M3FN, layout.Float8E4M3FNUZ, layout.Float8E5M2, layout.Float8E5M2FNUZ} {
		require.NotNil(t, wordsOf(newLoop(layout.Float16, narrow, plain)), narrow.String())
		require.Nil(t, wordsOf(newLoop(layout.BFloat16, narrow, plain)), narrow.String())
	}
	require.Nil(t, wordsOf(newLoop(layout.Int16, layout.Int8, plain)))
	require.NotNil(t, stepsOf(newLoop(layout.Float4E2M1, layout.Float16, plain)))
	require.NotNil(t, stepsOf(newLoop(layout.Float4E2M1, layout.BFloat16, plain)))
	require.Nil(t, stepsOf(newLoop(layout.Int4, layout.Float16, plain)))
	require.Nil(t, stepsOf(newLoop(layout.Int4, layout.Int16, plain)))
}

// Elements may lie anywhere, and in any number.
func TestCasterEdges(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for _, pair := range [][2]layout.DType{
		{layout.Float32, layout.Float16}, {layout.Float16, layout.Float32}, {layout.Int8, layout.Float32},
		{layout.Float16, layout.Float8E4M3FN}, {layout.Float4E2M1, layout.Float16}, {layout.Float32, layout.Int64}, {layout.Float16, layout.Int4}, {layout.BFloat16, layout.Float16},
	} {
		dst, src := pair[0], pair[1]
		c := newCaster(dst, src, plain)
		for _, n := range []int64{1, 15, 16, 31, 32, 33, 63, 64, 65, 127, 129, 500, 1023, 1025, 2100} {
			for shift := range int64(9) {
				sSize := int64(max(src.Bits()/8, 1))
				from := make([]byte, n*sSize+shift)
				for i := range from {
					from[i] = byte(rng.Uint32())
					if src.Bits() < 8 {
						from[i] &= 1<<src.Bits() - 1
					}
				}
				base := make([]byte, n*c.dSize+200)
				for i := range base {
					base[i] = byte(rng.Uint32())
				}
				at := 64 + shift*3
				var want []byte
				for _, level := range simd.Levels() {
					Force(t, level)
					for _, past := range []bool{false, true} {
						got := append([]byte{}, base...)
						c.run(unsafe.Pointer(&got[at]), unsafe.Pointer(&from[shift]), n, past, new(scratch))
						if want == nil {
							want = got // by loops
							require.Equal(t, base[:at], got[:at])
							require.Equal(t, base[at+n*c.dSize:], got[at+n*c.dSize:])
						}
						require.Equal(t, want, got, "%v to %v: %d elements, %d bytes off, %v, past the caches: %v", src, dst, n, shift, level, past)
					}
				}
			}
		}
	}
}
