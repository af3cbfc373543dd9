package devicetest

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/internal/rounding"
	"github.com/restride/restride/layout"
)

// convert converts every value of each type of at most 8 bits (in full, 16) to each type, and
// of wider ones values at the edges of dst; then many layouts.
func (r runner) convert(t *testing.T) {
	rig := r.rig(t)
	t.Run("Values", func(t *testing.T) { r.convertValues(rig.fork(t)) })
	t.Run("Layouts", func(t *testing.T) { r.convertLayouts(rig.fork(t)) })
	t.Run("Packing", func(t *testing.T) { r.convertPacking(rig.fork(t)) })
}

func isNumber(t layout.DType) bool {
	return t != layout.String && t != layout.Complex64 && t != layout.Complex128 && t != layout.Bit
}

// numbers are the types that Convert accepts: all of them, or one of each width and kind.
func (r runner) numbers() []layout.DType {
	if r.Small {
		return []layout.DType{layout.Int2, layout.Float4E2M1, layout.Float8E4M3FN, layout.Float16, layout.Float32, layout.Int64}
	}
	var all []layout.DType
	for _, t := range layout.DTypes() {
		if isNumber(t) {
			all = append(all, t)
		}
	}
	return all
}

// roundings are the ones that affect values of a type.
func roundings(dst layout.DType) []device.Rounding {
	var all []device.Rounding
	for _, way := range []device.RoundDirection{device.RoundUp, device.RoundDown, device.RoundNearest} {
		for _, how := range []device.Rounding{
			{Scale: way}, {Scale: way, Unsaturated: true}, {Scale: way, Legacy: true}, {Scale: way, Unsaturated: true, Legacy: true},
		} {
			if rounding.For(how, dst) == how {
				all = append(all, how)
			}
		}
	}
	return all
}

// convertValues compares the results for many values of each type with the
// oracle's.
func (r runner) convertValues(rig rig) {
	rng := rand.New(rand.NewPCG(r.seed, 7))
	for _, src := range r.numbers() {
		for _, dst := range r.numbers() {
			values := r.values(rng, dst, src)
			n := int64(len(values)) * 8 / int64(src.Bits())
			from := rig.buffer(values)
			for _, how := range roundings(dst) {
				want := noise((n*int64(dst.Bits())+7)/8, uint64(n))
				to := rig.buffer(want)
				rig.ok(rig.q.Convert(operand(to, dst, dense(0, n)), operand(from, src, dense(0, n)), how))
				oracle.Convert(want, dense(0, n), dst, values, dense(0, n), src, how)
				rig.same(fmt.Sprintf("%v to %v, %+v", src, dst, how), dst, rig.bytes(to), want, func(i int64) string {
					return hexOf(values, src, i)
				})
				rig.ok(to.Free())
			}
			rig.ok(from.Free())
		}
	}
}

// same compares packed elements.
func (r rig) same(what string, t layout.DType, got, want []byte, source func(i int64) string) {
	r.Helper()
	if string(got) == string(want) {
		return
	}
	for i := range int64(len(want)) * 8 / int64(t.Bits()) {
		if g, w := hexOf(got, t, i), hexOf(want, t, i); g != w {
			r.Errorf("%s: element %d, %s, gives %s, want %s", what, i, source(i), g, w)
			if *r.wrong++; *r.wrong == 10 {
				r.FailNow()
			}
			return
		}
	}
	r.Errorf("%s: the bits behind the last element changed", what)
}

// hexOf writes the bits of an element.
func hexOf(packed []byte, t layout.DType, i int64) string {
	if b := int64(t.Bits()); b < 8 {
		return fmt.Sprintf("%#x", packed[i*b/8]>>(i*b%8)&(1<<b-1))
	}
	size := int64(t.Bits() / 8)
	var word [8]byte
	copy(word[:], packed[i*size:][:size])
	return fmt.Sprintf("%#x", binary.LittleEndian.Uint64(word[:]))
}

// values returns elements of a type: all, up to 16 bits, or some at the edges of dst.
func (r runner) values(rng *rand.Rand, dst, src layout.DType) []byte {
	bits := src.Bits()
	var all []byte
	switch {
	case bits <= 8:
		for i := range 256 {
			all = append(all, byte(i))
		}
	case bits == 16 && !r.Small:
		for i := range 1 << 16 {
			all = binary.LittleEndian.AppendUint16(all, uint16(i))
		}
	default:
		n := 3000
		if r.few() {
			n = 150
		}
		for range n {
			v := oracle.Edge(rng, dst, src)
			if rng.IntN(8) == 0 {
				v = rng.Uint64()
			}
			word := binary.LittleEndian.AppendUint64(nil, v)
			all = append(all, word[:bits/8]...)
		}
	}
	return all
}

// convertLayouts converts between all widths through permuted, reversed and broadcast
// layouts with gaps, at all offsets within a byte.
func (r runner) convertLayouts(rig rig) {
	types := []layout.DType{layout.Uint2, layout.Float4E2M1, layout.Float8E4M3FN, layout.BFloat16, layout.Float32, layout.Float64}
	rank := 3
	if r.Small {
		rank = 2
	}
	n := r.seed
	for _, src := range types {
		for _, dst := range types {
			of := src
			if dst.Bits() < src.Bits() {
				of = dst
			}
			for rank := range rank + 1 {
				shape := []int64{3, 5, 7}[:rank]
				permutations(rank, func(perm []int) {
					for _, mark := range marks(rank) {
						// One of three, in a sample one of fifteen: different ones for each
						// pair of types (which has 76 numbers) and each seed.
						if n++; n%3 != 0 || r.few() && n%5 != 0 {
							continue
						}
						r.offsets(n, of, func(d, s int64) {
							from := side(shape, perm, mark, 1)
							for _, c := range []oracle.Case{
								pair(src, shape, side(shape, nil, nil, 1), from, d, s),
								pair(src, shape, side(shape, perm, nil, 3), from, d, s),
							} {
								c.Op, c.DstType = oracle.OpConvert, dst
								rig.check(c, n)
							}
						})
					}
				})
			}
			for _, length := range []int64{1, 5, 16, 33, 129, 5000} {
				if r.Small && length > 200 {
					continue
				}
				c := oracle.Case{Op: oracle.OpConvert, DstType: dst, SrcType: src, Dst: dense(length%7, length), Src: dense(length%3, length)}
				rig.check(c, uint64(length))
			}
			n += 2
			r.offsets(n, of, func(d, s int64) { // dense rows with gaps between them
				rows := []int64{3, 61}
				c := oracle.Case{Op: oracle.OpConvert, DstType: dst, SrcType: src}
				c.Dst, c.Src = strided(rows, []int64{67, 1}, d), strided(rows, []int64{71, 1}, s)
				rig.check(c, n)
			})
		}
	}
}

// convertPacking packs and unpacks integers below a byte, by tables of its own,
// and then many layouts against the oracle.
func (r runner) convertPacking(rig rig) {
	for _, narrow := range []layout.DType{layout.Uint4, layout.Int4, layout.Uint2, layout.Int2} {
		wide := narrow.Container()
		packValues(rig, narrow, wide)
		n := uint64(0)
		for rank := range 4 {
			shape := []int64{3, 5, 7}[:rank]
			permutations(rank, func(perm []int) {
				for _, mark := range marks(rank) {
					n++
					r.offsets(n, narrow, func(d, s int64) {
						src := side(shape, perm, mark, 1)
						for _, c := range []oracle.Case{
							pair(narrow, shape, side(shape, nil, nil, 1), src, d, s),
							pair(narrow, shape, side(shape, perm, nil, 3), src, d, s),
						} {
							c.Op = oracle.OpConvert
							c.DstType = wide
							rig.check(c, n)
							c.DstType, c.SrcType = narrow, wide
							rig.check(c, n)
						}
					})
				}
			})
		}
		for _, n := range []int64{1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 1000} {
			r.offsets(uint64(n), narrow, func(d, s int64) {
				c := oracle.Case{Op: oracle.OpConvert, DstType: wide, SrcType: narrow, Dst: dense(d, n), Src: dense(s, n)}
				rig.check(c, uint64(n))
				c.DstType, c.SrcType = narrow, wide
				rig.check(c, uint64(n))
			})
		}
	}
}

func packValues(r rig, narrow, wide layout.DType) {
	r.Helper()
	const n = 256
	values := make([]byte, n)
	for i := range values {
		values[i] = byte(i)
	}
	per := int(perByte(narrow))
	wides, packed := r.buffer(values), r.buffer(make([]byte, n/per))
	w, p := operand(wides, wide, dense(0, n)), operand(packed, narrow, dense(0, n))
	r.ok(r.q.Convert(p, w, device.Rounding{}))
	for i, got := range r.bytes(packed) {
		want := 0
		for k := range per {
			value := i*per + k
			want |= value % (1 << narrow.Bits()) << (k * narrow.Bits())
		}
		if got != byte(want) {
			r.Errorf("values from %d packed into %v give %#02x, want %#02x", i*per, narrow, got, want)
		}
	}
	r.ok(r.q.Convert(w, p, device.Rounding{}))
	for i, got := range r.bytes(wides) {
		low := i % (1 << narrow.Bits())
		if signed := wide == layout.Int8; signed && low >= 1<<(narrow.Bits()-1) {
			low -= 1 << narrow.Bits()
		}
		if got != byte(low) {
			r.Errorf("%d packed into %v and back is %d, want %d", int8(i), narrow, int8(got), int8(low))
		}
	}
	r.ok(wides.Free())
	r.ok(packed.Free())
}
