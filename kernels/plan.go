package kernels

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/restride/restride/layout"
)

// Class is what a copy is, by where its elements lie: the row of the table in
// the package's description.
type Class string

// The classes.
const (
	Nothing        Class = "nothing"    // no elements
	Contiguous     Class = "contiguous" // one dense run on both sides
	Rows           Class = "rows"       // dense rows on both sides
	transposeClass Class = "transpose"  // dense along different axes, both long
	shuffleClass   Class = "shuffle"    // dense along different axes, short ones
	Reverse        Class = "reverse"    // src's rows run backwards
	Strided        Class = "strided"    // src's rows have gaps
	Broadcast      Class = "broadcast"  // src repeats elements
	Gather         Class = "gather"     // anything else
	Filling        Class = "fill"       // no src
	Converting     Class = "convert"    // between element types
)

// The forms.
const (
	Element Form = "element" // an element per item
	Fill    Form = "fill"    // the same, of one value
	Pack    Form = "pack"    // a word per item, from elements anywhere
	Run     Form = "run"     // words from runs that are dense on both sides
	Repack  Form = "repack"  // the same between widths, or backwards in src
)

// Target is what a plan depends on of the processor.
type Target struct {
	// Serial: work-groups run as loops, and local memory is no faster than any
	// other, as on CPUs.
	Serial bool
}

// Launch is one kernel call: everything but the buffers.
type Launch struct {
	Spec   Spec
	Class  Class
	Groups uint32 // work-groups, in one dimension; 0: there is nothing to do
	Local  uint32 // work-items in each
	Params []byte // the parameters that the kernel reads
	Bytes  int64  // that will be written

	d, s base
	a    int64 // of a take: what is added to the offset of the indices
}

// base turns an operand's offset into the kernel's: elements of a view start
// where its offset says, but for reversed axes; and a kernel counts its own,
// wider elements, of which each is a power of two of the operand's.
type base struct {
	add   int64
	shift uint8
}

func (b base) of(offset int64) int64 { return (offset + b.add) >> b.shift }

// Bases returns the kernel's arguments dBase and sBase for operands with these
// offsets, in elements of theirs. A launch fits all operands with the layouts
// it was planned for but other offsets, if these are the same modulo 64.
func (l *Launch) Bases(dst, src int64) (d, s int64) { return l.d.of(dst), l.s.of(src) }

// Name tells people the class and the width of the elements moved.
func (l *Launch) Name() string {
	if l.Class == Nothing {
		return string(Nothing)
	}
	return fmt.Sprintf("%s.%d", l.Class, l.Spec.DstBits)
}

// problem is a copy, fill or conversion made ready for choosing a kernel: the
// fewest axes, outermost first in the order of dst's steps, over the widest
// elements.
type problem struct {
	op           string
	target       Target
	axes         []axis
	dBits, sBits int // sBits 0: a fill
	signed       bool
	dBase        int64 // dst's first element
	launch       Launch
}

// PlanCopy plans a copy between layouts of one shape, of elements of 2 to 128
// bits.
func PlanCopy(dst, src layout.Layout, bits int, t Target) (Launch, error) {
	p := problem{op: "Copy", target: t, dBits: bits, sBits: bits}
	d, s := dst, src
	layout.Simplify(&d, &s)
	p.widen(d, s, dst.Offset(), src.Offset())
	p.launch.Class = p.class()
	return p.plan(p.chooseCopy)
}

// PlanFill plans a fill with a pattern of one element of 2 to 128 bits.
func PlanFill(dst layout.Layout, bits int, t Target) (Launch, error) {
	p := problem{op: "Fill", target: t, dBits: bits, sBits: bits}
	d := dst
	layout.Simplify(&d)
	p.widen(d, d, dst.Offset(), dst.Offset())
	p.sBits = 0
	p.launch.Class = Filling
	return p.plan(p.chooseFill)
}

// PlanPack plans a conversion between layouts of one shape by the elements' low
// bits: from below a byte to 8 bits, where signed says whether they are numbers
// with a sign, or back.
func PlanPack(dst, src layout.Layout, dstBits, srcBits int, signed bool, t Target) (Launch, error) {
	p := problem{op: "Convert", target: t, dBits: dstBits, sBits: srcBits, signed: signed && srcBits < dstBits}
	d, s := dst, src
	layout.Simplify(&d, &s)
	p.take(d, s, dst.Offset(), src.Offset(), 1)
	p.launch.Class = Converting
	return p.plan(p.choosePack)
}

// widen takes over a simplified pair, over the widest elements.
func (p *problem) widen(d, s layout.Layout, dOffset, sOffset int64) {
	wide := layout.Widen(p.dBits, 128, &d, &s)
	per := int64(wide / p.dBits)
	p.dBits, p.sBits = wide, wide
	p.take(d, s, dOffset, sOffset, per)
}

// take takes over a simplified pair whose elements are per of the operands'.
func (p *problem) take(d, s layout.Layout, dOffset, sOffset, per int64) {
	for i := range d.Rank() {
		p.axes = append(p.axes, axis{d.Dim(i), d.Stride(i), s.Stride(i)})
	}
	p.dBase = d.Offset()
	shift := uint8(bits.TrailingZeros64(uint64(per)))
	p.launch.d = base{d.Offset()*per - dOffset, shift}
	p.launch.s = base{s.Offset()*per - sOffset, shift}
	p.launch.Bytes = (d.Count()*int64(p.dBits) + 7) / 8
}

// plan completes the launch with what choose says.
func (p *problem) plan(choose func(*parameters) (Form, error)) (Launch, error) {
	l := &p.launch
	if l.Bytes == 0 {
		l.Class = Nothing
		return *l, nil
	}
	var k parameters
	form, err := choose(&k)
	if err != nil {
		return Launch{}, layout.Errorf(layout.ErrUnsupported, p.op, "%d axes, %d bytes: %v", len(p.axes), l.Bytes, err)
	}
	l.Spec.Form = form
	l.Spec.DstBits, l.Spec.SrcBits = uint8(p.dBits), uint8(p.sBits)
	l.Spec.Signed = p.signed
	l.Spec.Serial = p.target.Serial
	l.Local = l.Spec.group()
	l.Groups = uint32(k.blocks)
	l.Params = k.encode()
	return *l, nil
}

// inner returns the i-th axis from the innermost one; a trivial one beyond.
func (p *problem) inner(i int) axis {
	if i >= len(p.axes) {
		return axis{n: 1}
	}
	return p.axes[len(p.axes)-1-i]
}

// innermostFirst returns the axes the other way round.
func (p *problem) innermostFirst() []axis {
	axes := slices.Clone(p.axes)
	slices.Reverse(axes)
	return axes
}

// dense reports whether dst's elements are neighbours along its innermost axis.
func (p *problem) dense() bool { return len(p.axes) == 0 || p.inner(0).d == 1 }

// class tells what a copy is.
func (p *problem) class() Class {
	in, near := p.inner(0), p.nearest()
	for _, a := range p.axes {
		if a.s == 0 {
			return Broadcast
		}
	}
	switch {
	case len(p.axes) == 0 || len(p.axes) == 1 && in.d == 1 && in.s == 1:
		return Contiguous
	case in.d != 1 || near > 0 && magnitude(p.inner(near).s) != 1:
		return Gather
	case near > 0 && min(in.n, p.inner(near).n) >= longSide:
		return transposeClass
	case near > 0:
		return shuffleClass
	case in.s == 1:
		return Rows
	case in.s == -1:
		return Reverse
	}
	return Strided
}

// longSide is the extent from which an axis counts as long.
const longSide = 24

// nearest returns the axis, counted from the innermost one, along which src's
// elements are nearest to each other; repeated ones do not count.
func (p *problem) nearest() int {
	near := 0
	for i := range p.axes {
		if s := magnitude(p.inner(i).s); s != 0 && (p.inner(near).s == 0 || s < magnitude(p.inner(near).s)) {
			near = i
		}
	}
	return near
}

func magnitude(x int64) int64 {
	if x < 0 {
		return -x
	}
	return x
}

// chooseCopy picks the form of a copy.
func (p *problem) chooseCopy(k *parameters) (Form, error) {
	if p.target.Serial && p.dBits >= 8 {
		return p.planSerial(k)
	}
	if form, ok, err := p.planTiles(k); ok || err != nil {
		return form, err
	}
	if p.dBits < 8 || p.dBits < 32 && p.dense() {
		return p.choosePack(k)
	}
	return Element, p.planElements(k)
}

// choosePack picks the form for words of narrow elements.
func (p *problem) choosePack(k *parameters) (Form, error) {
	form, in := Pack, p.inner(0)
	if p.dense() {
		same, long := p.sBits == p.dBits, in.n >= 2*32/int64(p.dBits)
		switch {
		case same && (len(p.axes) == 0 || in.s == 1):
			form = Run
		case !same && in.s == 1 && long:
			form = Repack
		case same && in.s == -1 && long:
			form, p.launch.Spec.Step = Repack, -1
		}
	}
	if form == Pack {
		return Pack, p.planWords(k, len(p.axes), 1)
	}
	span := int64(1)
	if p.target.Serial {
		span = serialWords
	}
	return form, p.planWords(k, 1, span)
}

// chooseFill picks the form of a fill.
func (p *problem) chooseFill(k *parameters) (Form, error) {
	if p.dBits < 8 || p.dBits < 32 && p.dense() {
		return Pack, p.planWords(k, len(p.axes), 1)
	}
	return Fill, p.planElements(k)
}
