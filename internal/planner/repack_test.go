package planner_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/layout"
)

// TestRepack packs, unpacks and reverses rows of all lengths from and to all places,
// between guard pages, by plans that were made for other offsets; no bit beside dst's
// elements changes.
func TestRepack(t *testing.T) {
	h := hostOf(t)
	rounds, rnd := sweep(t, 300, 7)
	lengths := []int64{1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 1000, 4099, 70001}
	repacked := 0
	for range rounds {
		dims := []int64{1 + rnd.Int64N(4), lengths[rnd.IntN(len(lengths))]}
		if rnd.IntN(3) == 0 { // in periods
			dims = []int64{100 + rnd.Int64N(100), 8 + rnd.Int64N(200)}
		}
		dBits, sBits, back, signed := 2<<rnd.IntN(4), 0, true, rnd.IntN(2) == 0
		if sBits = dBits; rnd.IntN(2) == 0 {
			dBits, sBits, back = 8, 2<<rnd.IntN(2), false
			if rnd.IntN(2) == 0 {
				dBits, sBits = sBits, dBits
			}
		}
		dst, src := rowsOf(t, rnd, dims, false), rowsOf(t, rnd, dims, back)
		target := planner.Target{CPU: rnd.IntN(2) == 0}
		l, err := planner.Plan(packing(dst, src, dBits, sBits, signed), target)
		if back {
			l, err = planner.Plan(copying(dst, src, dBits), target)
		}
		require.NoError(t, err)
		if l.Spec.Form == planner.Repack {
			repacked++
		}

		dMore, sMore := 64*rnd.Int64N(3), 64*rnd.Int64N(3)
		_, dEnd, _ := dst.Extent()
		_, sEnd, _ := src.Extent()
		low := uintptr(rnd.IntN(2))
		to, freeTo := h.buffer(dEnd+1+dMore, dBits, unit(l.Spec), low)
		from, freeFrom := h.buffer(sEnd+1+sMore, sBits, unit(l.Spec), low)
		for _, b := range [][]byte{to, from} {
			for i := range b {
				b[i] = byte(rnd.Uint32())
			}
		}
		want := bytes.Clone(to)
		walk(dst, src, func(d, s int64) {
			v := bitsAt(from, s+sMore, sBits)
			if signed && sBits < dBits && v>>(sBits-1) == 1 {
				v |= 0xffff << sBits
			}
			setBitsAt(want, d+dMore, dBits, v)
		})
		d, s := l.Base(planner.Dst, dst.Offset()+dMore), l.Base(planner.Src, src.Offset()+sMore)
		params := slices.Grow(slices.Clone(l.Params), 16)
		r := dl.Call(h.run, h.entries[l.Spec], uintptr(l.Groups), uintptr(l.Local), uintptr(unsafe.Pointer(&to[0])), uintptr(unsafe.Pointer(&from[0])),
			uintptr(unsafe.Pointer(&params[0])), uintptr(d), uintptr(s), uintptr(rnd.IntN(2)))
		require.Zero(t, r)
		require.True(t, bytes.Equal(want, to), "%v <- %v, %d bits of %d, signed %v, by %v", dst, src, dBits, sBits, signed, l.Spec)
		freeTo()
		freeFrom()
	}
	require.Greater(t, repacked, rounds/3)
}

// rowsOf is a layout of rows with gaps or without, somewhere; backwards: each from its end.
func rowsOf(t *testing.T, rnd *rand.Rand, dims []int64, backwards bool) layout.Layout {
	t.Helper()
	strides, offset := []int64{dims[1] + rnd.Int64N(3)*rnd.Int64N(9), 1}, rnd.Int64N(40)
	if backwards {
		strides[1], offset = -1, offset+dims[1]-1
	}
	l, err := layout.Strided(dims, strides, offset)
	require.NoError(t, err)
	return l
}

// bitsAt is an element of up to 16 bits, bit by bit.
func bitsAt(b []byte, at int64, bits int) (v uint32) {
	for i := range int64(bits) {
		p := at*int64(bits) + i
		v |= uint32(b[p/8]>>(p%8)&1) << i
	}
	return v
}

func setBitsAt(b []byte, at int64, bits int, v uint32) {
	for i := range int64(bits) {
		p := at*int64(bits) + i
		b[p/8] = b[p/8]&^(1<<(p%8)) | byte(v>>i&1)<<(p%8)
	}
}
