package planner

import (
	"errors"
	"math/bits"
	"slices"

	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/internal/nest"
	"github.com/restride/restride/layout"
)

// Target is what a plan depends on of the processor.
type Target struct {
	// CPU: work-groups run as loops, and local memory is no faster than any
	// other, as on CPUs.
	CPU bool
	// Multiprocessors is how many of them the GPU has: compute units. 0: unknown.
	Multiprocessors int
	// Capability is CUDA's compute capability, as 90 for 9.0; 0 elsewhere.
	Capability int
	// Atomics32: atomic operations are of 32 bits at the most.
	Atomics32 bool
	// MostRounds is how often all loops of a work-item together go round before the device
	// ends them; 0: for ever.
	MostRounds int64
}

// fewBlocks is how many blocks a launch should have at least, where there is a choice:
// as many groups as run at once, or what a large GPU runs.
func (t Target) fewBlocks() int64 {
	if t.Multiprocessors <= 0 {
		return fewBlocks
	}
	return groupsAtOnce * int64(t.Multiprocessors)
}

const (
	groupsAtOnce = 8       // on a multiprocessor: 2,048 work-items
	fewBlocks    = 1 << 10 // of a large GPU
)

// Launch is one kernel call: everything but the buffers.
type Launch struct {
	Spec   Spec
	Groups uint32 // work-groups, in one dimension; 0: there is nothing to do
	Local  uint32 // work-items in each
	Params []byte // the parameters that the kernel reads, with a capacity of Spec.ParameterBytes at least
	Bytes  int64  // that will be written
	Class  string // of a copy, as nest.Class has them; else "fill", "convert", "take", ...

	Arguments []Argument // of the kernel, in its order

	bases [MaxOperands]base // by role
}

// base turns an operand's offset into the kernel's: reversed axes are walked from their
// other end, and the kernel's elements are wider, 1<<shift of the operand's each, or are
// parts of such.
type base struct {
	add   int64
	shift uint8
	parts int64
}

// moved is the base of an operand whose layout was simplified: its elements stay as they are.
func moved(simple, given layout.Layout) base {
	return base{add: simple.Offset() - given.Offset(), parts: 1}
}

// Base returns a kernel's argument for an operand with this offset, in elements of its own. A
// launch fits all operands with the layouts that it was planned for but other offsets: those
// of dst and src are the same modulo 128.
func (l *Launch) Base(r Role, offset int64) int64 {
	b := &l.bases[r]
	return (offset + b.add) >> b.shift * b.parts
}

// Kernel names the kernel for people: its form and the width of the elements that it writes, as
// "shuffle.32"; "nothing" where there is nothing to do.
func (l *Launch) Kernel() string {
	if l.Groups == 0 {
		return "nothing"
	}
	return l.Spec.kernel()
}

// problem is a copy, fill, conversion, take or put made ready for choosing a kernel: the
// fewest axes, outermost first in the order of dst's steps, over the widest
// elements.
type problem struct {
	op           string
	target       Target
	axes         []axis
	dBits, sBits int // sBits 0: a fill
	signed       bool
	bytes        int64 // of dst; or tooMany
	dBase, sBase int64 // dst's and src's first element
	d, s         base
	manyAxes     bool                 // only kernels with Spec.ManyAxes have room for the parameters
	notes        *[]backend.Candidate // gets the planners' answers; nil: nobody asks
}

// tooMany stands for a size in bytes that overflows int64.
const tooMany = -1

// planCopy plans a copy between layouts of one shape, of elements of 1 to 128
// bits.
func (p *problem) planCopy(dst, src layout.Layout, bits int) (Launch, error) {
	p.simplify(dst, src, bits, 128)
	p.sBits = p.dBits
	return p.plan(nest.ClassOf(p.axes, 1, 1).String(), func(p *problem, k *parameters) (Spec, error) {
		return choose(copyPlanners, newTiling(p), p, k)
	})
}

// planFill plans a fill with a pattern of one element of 1 to 128 bits.
func (p *problem) planFill(dst layout.Layout, bits int) (Launch, error) {
	p.simplify(dst, dst, bits, 128)
	return p.plan("fill", func(p *problem, k *parameters) (Spec, error) {
		return choose(fillPlanners, p, p, k)
	})
}

// planPack plans a conversion between layouts of one shape by the elements' low
// bits: from below a byte to 8 bits, where signed says whether they are numbers
// with a sign, or back.
func (p *problem) planPack(dst, src layout.Layout, dstBits, srcBits int, signed bool) (Launch, error) {
	p.sBits, p.signed = srcBits, signed && srcBits < dstBits
	p.simplify(dst, src, dstBits, dstBits)
	return p.plan("convert", func(p *problem, k *parameters) (Spec, error) {
		return choose(packPlanners, p, p, k)
	})
}

// simplify takes over a call's layouts, over the fewest axes and elements of up to
// limit bits.
func (p *problem) simplify(dst, src layout.Layout, bits, limit int) {
	d, s := dst, src
	layout.Simplify(&d, &s)
	wide := layout.Widen(bits, limit, &d, &s)
	p.walk(d, s, dst.Offset(), src.Offset(), wide, int64(wide/bits))
}

// walk takes over simplified layouts whose elements of the given width are per of the
// operands' each.
func (p *problem) walk(d, s layout.Layout, dOffset, sOffset int64, width int, per int64) {
	p.axes = nest.Append(p.axes, &d, &s)
	p.dBits, p.dBase, p.sBase = width, d.Offset(), s.Offset()
	shift := uint8(bits.TrailingZeros64(uint64(per)))
	p.d = base{d.Offset()*per - dOffset, shift, 1}
	p.s = base{s.Offset()*per - sOffset, shift, 1}
	if bytes, ok := layout.PackedBytes(d.Count(), width); ok {
		p.bytes = bytes
	} else {
		p.bytes = tooMany
	}
}

// plan makes the launch of a kernel that choose returns with its parameters. Each try gets
// a problem of its own, as forms change it: axes that run backwards, elements in parts.
func (p *problem) plan(class string, choose func(*problem, *parameters) (Spec, error)) (Launch, error) {
	switch p.bytes {
	case 0:
		return Launch{Class: class}, nil
	case tooMany:
		return Launch{}, layout.Errorf(layout.ErrUnsupported, p.op, "%d axes of %d-bit elements: the size in bytes overflows int64", len(p.axes), p.dBits)
	}
	var k parameters
	try := p.clone()
	spec, err := choose(try, &k)
	if err == nil && !p.target.CPU && !k.fits(spec) {
		try, k = p.clone(), parameters{}
		try.manyAxes = true
		if spec, err = choose(try, &k); err == nil && !k.fits(spec) {
			err = errTooLong
		}
	}
	if err != nil {
		kind := layout.ErrUnsupported
		if errors.Is(err, ErrRounds) {
			kind = ErrRounds
		}
		return Launch{}, layout.Errorf(kind, p.op, "%d axes, %d bytes: %v", len(p.axes), p.bytes, err)
	}
	groups := k.groups
	if groups == 0 {
		groups = k.blocks
	}
	return Launch{
		Spec: spec, Groups: uint32(groups), Local: spec.group(), Params: k.encode(spec.ParameterBytes()), Bytes: p.bytes,
		Class: class, bases: [MaxOperands]base{Dst: try.d, Src: try.s},
	}, nil
}

// clone is the same problem with axes of its own.
func (p *problem) clone() *problem {
	q := *p
	q.axes = slices.Clone(p.axes)
	return &q
}

// spec is a kernel of a form for the problem's elements.
func (p *problem) spec(f Form) Spec {
	return Spec{Form: f, DstBits: uint8(p.dBits), SrcBits: uint8(p.sBits), Signed: p.signed, CPUTarget: p.target.CPU, ManyAxes: p.manyAxes}
}

// inner returns the i-th axis from the innermost one; a trivial one beyond.
func (p *problem) inner(i int) axis {
	if i >= len(p.axes) {
		return axis{N: 1}
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
func (p *problem) dense() bool { return len(p.axes) == 0 || p.inner(0).D == 1 }

// nearest returns the axis, counted from the innermost one, along which src's
// elements are nearest to each other; repeated ones do not count.
func (p *problem) nearest() int {
	if len(p.axes) == 0 {
		return 0
	}
	return len(p.axes) - 1 - nest.NearOf(p.axes, 1, 1).Nearest
}
