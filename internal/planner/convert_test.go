package planner_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/internal/rounding"
	"github.com/restride/restride/internal/soak"
	"github.com/restride/restride/layout"
)

// numberTypes are the types of at most so many bits that are converted by value.
func numberTypes(most int) (all []layout.DType) {
	for _, t := range layout.DTypes() {
		switch numeric.KindOf(t) {
		case numeric.BoolKind, numeric.IntKind, numeric.UintKind, numeric.FloatKind:
			if t.Bits() <= most {
				all = append(all, t)
			}
		}
	}
	return all
}

// roundings are those that make a difference to values of a type.
func roundings(to layout.DType) (all []device.Rounding) {
	for i := range 12 {
		how := rounding.For(device.Rounding{Unsaturated: i&1 != 0, Legacy: i&2 != 0, Scale: device.RoundDirection(i >> 2)}, to)
		if !slices.Contains(all, how) {
			all = append(all, how)
		}
	}
	return all
}

// cast runs a conversion by its plan, and compares the whole of dst's memory with what the
// oracle leaves there.
func (h *host) cast(t *testing.T, rnd *rand.Rand, dst, src layout.Layout, to, from layout.DType, how device.Rounding, fill func(src []byte)) planner.Launch {
	t.Helper()
	l, err := planner.Plan(casting(dst, src, to, from, how), planner.Target{})
	require.NoError(t, err)
	_, dEnd, _ := dst.Extent()
	_, sEnd, _ := src.Extent()
	dMore, sMore := 64*rnd.Int64N(3), 64*rnd.Int64N(3)
	dst, err = dst.Rebase(dst.Offset() + dMore)
	require.NoError(t, err)
	src, err = src.Rebase(src.Offset() + sMore)
	require.NoError(t, err)
	low := uintptr(rnd.IntN(2))
	written, freeWritten := h.buffer(dEnd+1+dMore, to.Bits(), 128, low)
	defer freeWritten()
	read, freeRead := h.buffer(sEnd+1+sMore, from.Bits(), 128, low)
	defer freeRead()
	for i := range written {
		written[i] = byte(rnd.Uint32())
	}
	fill(read[sMore*int64(from.Bits())/8:])
	want := bytes.Clone(written)
	oracle.Convert(want, dst, to, read, src, from, how)

	lo, hi := planner.Numbers(to, from, how)
	dl.Call(h.numbers, uintptr(lo), uintptr(hi))
	d, s := l.Base(planner.Dst, dst.Offset()), l.Base(planner.Src, src.Offset())
	params := slices.Grow(slices.Clone(l.Params), 16)
	r := dl.Call(h.run, h.entries[l.Spec], uintptr(l.Groups), uintptr(l.Local), uintptr(unsafe.Pointer(&written[0])), uintptr(unsafe.Pointer(&read[0])),
		uintptr(unsafe.Pointer(&params[0])), uintptr(d), uintptr(s), uintptr(rnd.IntN(2)))
	require.Zero(t, r)
	if !bytes.Equal(want, written) {
		for i := range dst.Count() {
			x, y := numeric.Bits(written, to.Bits(), dst.Offset()+i), numeric.Bits(want, to.Bits(), dst.Offset()+i)
			require.Equal(t, y, x, "%v from %v by %v, %+v: element %d, of %#x", to, from, l.Spec, how, i, numeric.Bits(read, from.Bits(), src.Offset()+i))
		}
		t.Fatalf("%v from %v by %v, %v <- %v: what is beside dst's elements changed", to, from, l.Spec, dst, src)
	}
	return l
}

// TestDenseCasts converts every value of up to 16 bits, and values of 32 that are hard to
// convert, between all types, with every rounding; where tests do not run at length, some
// of the values of 16 and 32 bits, with one rounding.
func TestDenseCasts(t *testing.T) {
	h := hostOf(t)
	_, rnd := sweep(t, 0, 11)
	for _, from := range numberTypes(32) {
		n, every := int64(1)<<11, int64(1)
		switch {
		case from.Bits() < 16:
			n = 512
		case from.Bits() == 16 && soak.Enabled():
			n = 1 << 16
		case from.Bits() == 16:
			every = 1 << 5
		case soak.Enabled():
			n = 1 << 13
		}
		for _, to := range numberTypes(32) {
			if backend.ConversionOf(to, from) != backend.ByValue {
				continue
			}
			all := roundings(to)
			if !soak.Enabled() {
				all = []device.Rounding{all[rnd.IntN(len(all))]}
			}
			for _, how := range all {
				l := h.cast(t, rnd, dense(n), dense(n), to, from, how, func(src []byte) {
					for i := range n {
						switch from.Bits() {
						case 32:
							binary.LittleEndian.PutUint32(src[4*i:], uint32(oracle.Edge(rnd, to, from)))
						case 16:
							binary.LittleEndian.PutUint16(src[2*i:], uint16(i*every+rnd.Int64N(every)))
						default:
							src[i*int64(from.Bits())/8] = byte(i)
						}
					}
				})
				require.Equal(t, planner.DenseCast, l.Spec.Form, "%v", l.Spec)
			}
		}
	}
}

// TestWideCasts converts from and to types of 64 bits values that are hard to convert, and any of
// usual magnitude.
func TestWideCasts(t *testing.T) {
	h := hostOf(t)
	n, rnd := sweep(t, 1<<9, 23)
	for _, from := range numberTypes(64) {
		for _, to := range numberTypes(64) {
			if backend.ConversionOf(to, from) != backend.ByValue || max(to.Bits(), from.Bits()) < 64 {
				continue
			}
			for _, how := range roundings(to) {
				l := h.cast(t, rnd, dense(int64(n)), dense(int64(n)), to, from, how, func(src []byte) {
					for i := range src {
						src[i] = byte(rnd.Uint32())
					}
					for i := range int64(n) {
						v := oracle.Edge(rnd, to, from)
						switch bits := int64(from.Bits()); {
						case bits == 64 && i%2 == 0:
							binary.LittleEndian.PutUint64(src[8*i:], v)
						case bits == 64: // near 1, or an integer of any length
							binary.LittleEndian.PutUint64(src[8*i:], rnd.Uint64()>>rnd.IntN(64))
							if numeric.KindOf(from) == numeric.FloatKind {
								src[8*i+7], src[8*i+6] = byte(0x3c+rnd.IntN(8)|rnd.IntN(2)<<7), byte(rnd.Uint32())
							}
						case bits == 32:
							binary.LittleEndian.PutUint32(src[4*i:], uint32(v))
						case bits == 16:
							binary.LittleEndian.PutUint16(src[2*i:], uint16(v))
						case bits == 8:
							src[i] = byte(v)
						}
					}
				})
				require.Contains(t, []planner.Form{planner.Cast, planner.CastWords}, l.Spec.Form)
			}
		}
	}
}

// TestDenseCastsAnywhere converts rows of all lengths from and to all places, between guard
// pages, by plans that were made for other offsets.
func TestDenseCastsAnywhere(t *testing.T) {
	h := hostOf(t)
	rounds, rnd := sweep(t, 600, 12)
	types := numberTypes(32)
	lengths := []int64{4, 7, 8, 13, 16, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1000, 4099}
	planned := map[planner.Spec]bool{}
	for range rounds {
		to, from := types[rnd.IntN(len(types))], types[rnd.IntN(len(types))]
		if backend.ConversionOf(to, from) != backend.ByValue {
			continue
		}
		dims := []int64{1 + rnd.Int64N(4), lengths[rnd.IntN(len(lengths))]}
		switch {
		case dims[1] < 128:
			dims[0] *= 1 + rnd.Int64N(40)
		case rnd.IntN(16) == 0: // of several blocks
			dims[1] += 15000
		}
		dst, src := rowsOf(t, rnd, dims, false), rowsOf(t, rnd, dims, false)
		if rnd.IntN(4) == 0 { // rows far apart
			src, _ = layout.Strided(dims, []int64{1 << 14, 1}, src.Offset())
		}
		if rnd.IntN(4) == 0 { // in reverse order
			var err error
			src, err = layout.Strided(dims, []int64{-src.Stride(0), 1}, src.Offset()+(dims[0]-1)*src.Stride(0))
			require.NoError(t, err)
		}
		how := device.Rounding{Unsaturated: rnd.IntN(2) == 0}
		l := h.cast(t, rnd, dst, src, to, from, how, func(src []byte) {
			for i := 0; i < len(src); i += 1 + len(src)/100000 {
				src[i] = byte(rnd.Uint32())
			}
		})
		planned[l.Spec] = true
	}
	require.Greater(t, len(planned), 20)
}

// TestTransposedCasts converts matrices that lie transposed on one side, between guard pages,
// and what has no matrices of the same pitch: reversed columns, lines that begin anywhere.
func TestTransposedCasts(t *testing.T) {
	h := hostOf(t)
	rounds, rnd := sweep(t, 300, 13)
	types := numberTypes(32)
	planned := map[planner.Spec]bool{}
	for range rounds {
		any := func() layout.DType { return types[rnd.IntN(len(types))] }
		to, from := any(), any()
		long, small := rnd.IntN(4) == 0, rnd.IntN(4) == 0 // by columns, and matrices that follow each other
		for (long || small) && (to.Bits() < 16 || from.Bits() < 8 || from.Bits() > 16) {
			to, from = any(), any()
		}
		if backend.ConversionOf(to, from) != backend.ByValue {
			continue
		}
		dims := []int64{1 + rnd.Int64N(4), 8 + rnd.Int64N(150), 8 + rnd.Int64N(150)}
		if long {
			dims[0], dims[1], dims[2] = 1, dims[1]+rnd.Int64N(300), dims[2]+rnd.Int64N(300)
		}
		if rnd.IntN(3) == 0 { // lines that begin on 16 bytes
			dims[1], dims[2] = dims[1]/16*16+16, dims[2]/16*16+16
		}
		if small {
			dims = []int64{1 + rnd.Int64N(80), 8 + rnd.Int64N(30), 3 + rnd.Int64N(30)}
		}
		backwards := rnd.IntN(4) == 0
		if backwards && rnd.IntN(2) == 0 { // lines that end on 16 bytes
			dims[1] = dims[1]/16*16 + 1
		}
		wide, high := dims[2]+rnd.Int64N(2)*rnd.Int64N(33), dims[1]+rnd.Int64N(2)*rnd.Int64N(33)
		if small {
			wide, high = dims[2], dims[1]
		}
		dst, err := layout.Strided(dims, []int64{wide * dims[1], wide, 1}, rnd.Int64N(2)*rnd.Int64N(65))
		require.NoError(t, err)
		src, err := layout.Strided(dims, []int64{high * dims[2], 1, high}, rnd.Int64N(2)*rnd.Int64N(65))
		if backwards {
			if dims[1]%16 == 1 {
				high = high/16*16 + 16
			}
			src, err = layout.Strided(dims, []int64{high * dims[2], -1, high}, (src.Offset()+dims[1]+15)/16*16)
		}
		require.NoError(t, err)
		l := h.cast(t, rnd, dst, src, to, from, device.Rounding{}, func(src []byte) {
			for i := range src {
				src[i] = byte(rnd.Uint32())
			}
		})
		switch l.Spec.Form {
		case planner.TransposedCast, planner.ColumnCast, planner.BatchedCast:
			planned[l.Spec] = true
		}
	}
	require.Greater(t, len(planned), 18)
	for _, dst := range []uint8{16, 32} {
		require.True(t, planned[planner.Spec{Form: planner.ColumnCast, DstBits: dst, SrcBits: 16}])
		require.True(t, planned[planner.Spec{Form: planner.ColumnCast, DstBits: dst, SrcBits: 8}])
		require.True(t, planned[planner.Spec{Form: planner.BatchedCast, DstBits: dst, SrcBits: 8}])
	}
}
