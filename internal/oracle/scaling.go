package oracle

import (
	"math"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/layout"
)

// Terms are the terms of a dequantization or a quantization.
type Terms struct {
	Scale, Zero, Add Term
	Subtract         bool         // of a dequantization
	Precision        layout.DType // of a quantization; Invalid: Float32
	FindScale        bool         // of a quantization: Scale's data is written
}

// Term is one term; without a type it is absent.
type Term struct {
	Layout layout.Layout
	Type   layout.DType
	Data   []byte // not part of a case
}

// at returns the bits of a term's element.
func (t *Term) at(index []int64) packedElement {
	return packedElement{t.Type, t.Data, t.Layout.At(index...)}
}

// packedElement is one of some packed elements.
type packedElement struct {
	dtype  layout.DType
	packed []byte
	at     int64
}

func (e packedElement) value() number { return decode(e.dtype, e.packed, e.at) }

func (e packedElement) isInteger() bool {
	k := numeric.KindOf(e.dtype)
	return k == numeric.IntKind || k == numeric.UintKind
}

// Scale writes the results of OpDequantize or OpQuantize on the elements at s in src to those
// at d in dst. The terms have their data.
func Scale(op Op, dst []byte, d layout.Layout, to layout.DType, src []byte, s layout.Layout, from layout.DType, terms *Terms, how device.Rounding) {
	if terms.FindScale {
		terms.quantizeBlocks(dst, d, to, src, s, from)
		return
	}
	number := int64(0)
	width := int64(to.Bits())
	walk(d, s, func(p, q int64) {
		i, x := index(d, number), packedElement{from, src, q}
		number++
		var bits uint64
		if op == OpQuantize {
			bits = terms.quantized(to, x, i, how)
		} else {
			bits = terms.dequantized(to, x, i)
		}
		setElement(dst, p, width, bits)
	})
}

// setElement sets an element of the given number of bits.
func setElement(to []byte, at, width int64, bits uint64) {
	for k := range width {
		setBit(to, at*width+k, bits>>k&1 == 1)
	}
}

// single rounds a value to a float of 32 bits.
func single(n number) float32 {
	return math.Float32frombits(uint32(encode(layout.Float32, n, device.Rounding{})))
}

// The result of one step on floats of 32 bits is exact in one of 64 bits, or rounded to more
// than twice as many bits plus two: rounding it again gives the same as rounding once.
func times(a, b float32) float32 { return float32(float64(a) * float64(b)) }
func plus(a, b float32) float32  { return float32(float64(a) + float64(b)) }
func over(a, b float32) float32  { return float32(float64(a) / float64(b)) }

// difference is a - b, rounded once.
func difference(a, b packedElement) float32 {
	if !a.isInteger() || !b.isInteger() {
		return plus(single(a.value()), -single(b.value()))
	}
	whole := func(n number) int64 {
		if n.negative {
			return -int64(n.whole)
		}
		return int64(n.whole)
	}
	d := whole(a.value()) - whole(b.value())
	if d < 0 {
		return single(integer(true, uint64(-d)))
	}
	return single(integer(false, uint64(d)))
}

// real is the value of a float; a NaN has no sign.
func real(v float32) number {
	if v != v {
		return number{nan: true}
	}
	return number{negative: math.Signbit(float64(v)), real: math.Abs(float64(v))}
}

// dequantized returns the bits of an element of dst.
func (t *Terms) dequantized(to layout.DType, src packedElement, index []int64) uint64 {
	v := single(src.value())
	if t.Zero.Type != layout.Invalid {
		v = difference(src, t.Zero.at(index))
	}
	v = times(v, single(t.Scale.at(index).value()))
	if t.Add.Type != layout.Invalid {
		add := single(t.Add.at(index).value())
		if t.Subtract {
			add = -add
		}
		v = plus(v, add)
	}
	return encode(to, real(v), device.Rounding{})
}

// quantized returns the bits of an element of dst.
func (t *Terms) quantized(to layout.DType, src packedElement, index []int64, how device.Rounding) uint64 {
	precise := func(v float32) float32 {
		if t.Precision == layout.Float16 || t.Precision == layout.BFloat16 {
			return single(rounded(t.Precision, real(v)))
		}
		return v
	}
	v := precise(over(precise(single(src.value())), precise(single(t.Scale.at(index).value()))))
	if numeric.KindOf(to) == numeric.FloatKind {
		if t.Zero.Type != layout.Invalid {
			v = plus(v, single(t.Zero.at(index).value()))
		}
		return encode(to, real(v), how)
	}
	whole := math.RoundToEven(float64(v))
	if v != v {
		whole = 0
	}
	if t.Zero.Type != layout.Invalid {
		zero := t.Zero.at(index).value()
		if zero.negative {
			zero.real = -zero.real
		}
		whole += zero.real // exact where it matters
	}
	return encode(to, number{negative: whole < 0, real: math.Abs(whole)}, device.Rounding{Legacy: true}) // which gives the nearest one
}

// rounded is a value in a type.
func rounded(t layout.DType, n number) number {
	bits := encode(t, n, device.Rounding{})
	return decode(t, []byte{byte(bits), byte(bits >> 8)}, 0)
}
