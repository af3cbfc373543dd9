package cpu

import (
	"math"
	"unsafe"

	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/internal/simd"
	"github.com/restride/restride/layout"
)

// What a scaling does with the floats of a piece. Conversions to float32 between two
// operations are what keeps them from being fused.

// term is what the elements of a piece have in common, or one for each.
type term struct {
	one  float32
	each []float32 // nil: one
}

// term reads a term of a piece as floats.
func (c *scaling) term(p *piece, side int, into *[]byte) term {
	o := &c.operands[side]
	step := c.axes[c.rank-1].by[side]
	if step == 0 {
		return term{one: o.float(p.at[side])}
	}
	each := floatsOf(into)
	for i := range p.values {
		each[i] = o.float(p.at[side] + int64(i)*step)
	}
	return term{each: each[:len(p.values)]}
}

// bits returns an element's.
func (o *scaled) bits(at int64) uint64 {
	if w := int64(o.is.bits); w < 8 {
		return uint64(getBits(o.base, at*w, w))
	}
	return o.is.get(o.base, at)
}

// float returns an element as a float.
func (o *scaled) float(at int64) float32 {
	if o.dtype == layout.Float16 && looseAlignment {
		return halfFloat(uint32(*(*uint16)(unsafe.Add(o.base, 2*at))))
	}
	x := o.bits(at)
	switch {
	case o.is.bits <= 8:
		return o.values[x]
	case o.dtype == layout.Float16:
		return halfFloat(uint32(x))
	case o.dtype == layout.Float32:
		return math.Float32frombits(uint32(x))
	case o.dtype == layout.BFloat16:
		return math.Float32frombits(uint32(x) << 16)
	}
	return math.Float32frombits(uint32(numbers[layout.Float32].encode(o.is.decode(x))))
}

// halfFloat is a float16.
func halfFloat(x uint32) float32 {
	v := math.Float32frombits(x&0x7fff<<13) * 0x1p112 // exact, with subnormal ones
	if x&0x7c00 == 0x7c00 {
		v = math.Float32frombits(x&0x7fff<<13 | floatInfinity)
	}
	return math.Float32frombits(math.Float32bits(v) | x&0x8000<<16)
}

// whole returns an element that is an integer.
func (o *scaled) whole(at int64) int64 {
	v := o.is.decode(o.bits(at))
	if v.negative {
		return -int64(v.magnitude)
	}
	return int64(v.magnitude)
}

// numbers are those of numberOf with the usual rounding, by type: of all but strings.
var numbers = func() (all [32]*number) {
	for _, t := range layout.DTypes() {
		if t != layout.String {
			all[t] = numberOf(t, plain)
		}
	}
	return all
}()

// tabulate fills the values of a type of at most 8 bits.
func (o *scaled) tabulate() {
	casterOf(layout.Float32, o.dtype, plain).loop(unsafe.Pointer(&o.values), unsafe.Pointer(&allBytes), 256)
}

var allBytes = func() (all [256]byte) {
	for i := range all {
		all[i] = byte(i)
	}
	return all
}()

// isInteger reports whether there is an operand, of integers.
func (o *scaled) isInteger() bool {
	return o.is != nil && (o.is.kind == numeric.IntKind || o.is.kind == numeric.UintKind)
}

// dequantize makes (v - zero) * scale + add of each value.
func (c *scaling) dequantize(p *piece) {
	v := p.values
	c.shift(p)
	if k := c.term(p, sideScale, &p.sc.terms); k.each != nil {
		for i, x := range k.each {
			v[i] *= x
		}
	} else {
		for i := range v {
			v[i] *= k.one
		}
	}
	if c.operands[sideAdd].is != nil {
		a := c.term(p, sideAdd, &p.sc.terms)
		if c.subtract {
			subtract(v, a)
		} else {
			add(v, a)
		}
	}
	quiet(v)
}

// scaledLine is how many floats a line of ScaleFloat has.
const scaledLine = cacheLine / 4

// addLines notes what the lines of a piece's values, which have the same terms, are scaled
// by.
func (c *scaling) addLines(p *piece, first int64) {
	by := simd.Scales{Scale: c.operands[sideScale].float(p.at[sideScale]), Add: float32(math.Copysign(0, -1))}
	if o := &c.operands[sideZero]; o.is != nil {
		by.Zero = o.float(p.at[sideZero])
	}
	if o := &c.operands[sideAdd]; o.is != nil {
		if by.Add = o.float(p.at[sideAdd]); c.subtract {
			by.Add = -by.Add
		}
	}
	lines := p.sc.scales[first:][:len(p.values)/scaledLine]
	for i := range lines {
		lines[i] = by
	}
}

// addBlocks is addLines for count blocks of so many lines, which follow each other along
// the axis outside the innermost one.
func (c *scaling) addBlocks(p *piece, first, count, lines int64) {
	by := p.sc.scales[first:][:count*lines]
	for i, v := range c.terms(p, sideScale, count) {
		for k := range lines {
			by[int64(i)*lines+k] = simd.Scales{Scale: v, Add: float32(math.Copysign(0, -1))}
		}
	}
	if c.operands[sideZero].is != nil {
		for i, v := range c.terms(p, sideZero, count) {
			for k := range lines {
				by[int64(i)*lines+k].Zero = v
			}
		}
	}
	if c.operands[sideAdd].is == nil {
		return
	}
	for i, v := range c.terms(p, sideAdd, count) {
		if c.subtract {
			v = -v
		}
		for k := range lines {
			by[int64(i)*lines+k].Add = v
		}
	}
}

// terms returns a term of count blocks.
func (c *scaling) terms(p *piece, side int, count int64) []float32 {
	out, j := floatsOf(&p.sc.terms)[:count], &p.sc.conversions[side]
	if j.b.s == 0 {
		v := c.operands[side].float(p.at[side])
		for i := range out {
			out[i] = v
		}
		return out
	}
	j.dst = unsafe.Pointer(&out[0])
	j.valueRow(0, p.at[side], count, p.sc)
	return out
}

func add(v []float32, by term) {
	if by.each == nil {
		for i := range v {
			v[i] += by.one
		}
		return
	}
	for i, x := range by.each {
		v[i] += x
	}
}

func subtract(v []float32, by term) {
	if by.each == nil {
		for i := range v {
			v[i] -= by.one
		}
		return
	}
	for i, x := range by.each {
		v[i] -= x
	}
}

// shift subtracts the zero point: of integers of 32 bits exactly, of shorter ones floats
// do that.
func (c *scaling) shift(p *piece) {
	v, src, zero := p.values, &c.operands[sideSrc], &c.operands[sideZero]
	if zero.is == nil {
		return
	}
	if c.whole {
		in := &c.axes[c.rank-1].by
		for i := range v {
			v[i] = float32(src.whole(p.at[sideSrc]+int64(i)*in[sideSrc]) - zero.whole(p.at[sideZero]+int64(i)*in[sideZero]))
		}
		return
	}
	subtract(v, c.term(p, sideZero, &p.sc.terms))
}

// quiet gives all values that are not a number the bits of one.
func quiet(v []float32) {
	for i, x := range v {
		if x != x {
			v[i] = math.Float32frombits(floatNaN)
		}
	}
}

// quantize makes round(v / scale) + zero of each value.
func (c *scaling) quantize(p *piece) {
	v := p.values
	c.round(v, p.sc)
	k := c.term(p, sideScale, &p.sc.terms)
	if k.each != nil {
		c.round(k.each, p.sc)
		for i, x := range k.each {
			v[i] /= x
		}
	} else {
		one := floatsOf(&p.sc.terms)[:1]
		one[0] = k.one
		c.round(one, p.sc)
		for i := range v {
			v[i] /= one[0]
		}
	}
	c.round(v, p.sc)
	switch {
	case c.operands[sideDst].isInteger():
		c.toIntegers(p)
		return
	case c.operands[sideZero].is != nil:
		add(v, c.term(p, sideZero, &p.sc.terms))
	}
	quiet(v)
}

// round rounds values to the precision of a quotient.
func (c *scaling) round(v []float32, sc *scratch) {
	if c.precision != layout.Float16 && c.precision != layout.BFloat16 {
		return
	}
	half, at := room(&sc.floats, 2*castPiece), unsafe.Pointer(&v[0])
	casterOf(c.precision, layout.Float32, plain).run(half, at, int64(len(v)), false, sc)
	casterOf(layout.Float32, c.precision, plain).run(at, half, int64(len(v)), false, sc)
}

// toIntegers rounds values, adds the zero point, and bounds the sums by what dst's
// type has.
func (c *scaling) toIntegers(p *piece) {
	to, zero := c.operands[sideDst].is, &c.operands[sideZero]
	least, most := 0.0, float64(uint64(1)<<to.bits-1)
	if to.kind == numeric.IntKind {
		least, most = -float64(to.sign), float64(to.sign-1)
	}
	step, z := c.axes[c.rank-1].by[sideZero], 0.0
	for i, x := range p.values {
		if zero.is != nil && (i == 0 || step != 0) {
			z = float64(zero.whole(p.at[sideZero] + int64(i)*step))
		}
		r := math.RoundToEven(float64(x))
		if x != x {
			r = 0
		}
		p.values[i] = float32(min(max(r+z, least), most))
	}
}
