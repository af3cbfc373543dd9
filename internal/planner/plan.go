package planner

import (
	"errors"
	"math/bits"
	"slices"

	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/internal/nest"
	"github.com/restride/restride/layout"
)

// Target holds the properties of the processor that plans depend on.
type Target struct {
	// CPU: work-groups run as loops, and local memory is no faster than other memory, as on
	// CPUs.
	CPU bool
	// Multiprocessors is the number of the GPU's multiprocessors (compute units). 0: unknown.
	Multiprocessors int
	// Capability is CUDA's compute capability, such as 90 for 9.0; 0 elsewhere.
	Capability int
	// Atomics32: atomic operations have at most 32 bits.
	Atomics32 bool
	// MostRounds is the number of rounds of all of a work-item's loops after which the device
	// ends them; 0: no limit.
	MostRounds int64
}

// fewBlocks is the least number of blocks that a launch should have, where there is a choice: the
// number of groups that run at once, here or on a large GPU.
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
	Params []byte // the kernel's parameters, with a capacity of at least Spec.ParameterBytes
	Bytes  int64  // to be written
	Class  string // a copy's nest.Class; else "fill", "convert", "take", ...

	Arguments []Argument // of the kernel, in its order

	bases [MaxOperands]base // by role
}

// base converts an operand's offset into the kernel's: reversed axes are walked from their other
// end, and each of the kernel's elements is 1<<shift of the operand's, or a part of one.
type base struct {
	add   int64
	shift uint8
	parts int64
}

// moved is the base of an operand whose layout was simplified without changing its elements.
func moved(simple, given layout.Layout) base {
	return base{add: simple.Offset() - given.Offset(), parts: 1}
}

// Base returns a kernel's argument for an operand with this offset, in elements of its own. A
// launch fits all operands with the layouts that it was planned for, also at other offsets, as
// long as the offsets of dst and src are the same modulo 128.
func (l *Launch) Base(r Role, offset int64) int64 {
	b := &l.bases[r]
	return (offset + b.add) >> b.shift * b.parts
}

// Kernel is a readable name of the kernel: its form and the width of the elements that it writes,
// such as "shuffle.32"; "nothing" where there is nothing to do.
func (l *Launch) Kernel() string {
	if l.Groups == 0 {
		return "nothing"
	}
	return l.Spec.kernel()
}

// problem is a copy, fill, conversion, take or put prepared for the choice of a kernel: the fewest
// axes, outermost first in the order of dst's steps, and the widest elements.
type problem struct {
	op           string
	target       Target
	axes         []axis
	dBits, sBits int // sBits 0: a fill
	signed       bool
	bytes        int64 // of dst; or tooMany
	dBase, sBase int64 // the first element of dst and src
	d, s         base
	manyAxes     bool                 // only kernels with Spec.ManyAxes have room for the parameters
	notes        *[]backend.Candidate // receives the planners' answers; nil: not wanted
}

// tooMany represents a size in bytes that overflows int64.
const tooMany = -1

// planCopy plans a copy between layouts of one shape, with elements of 1 to 128 bits.
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

// planPack plans a conversion between layouts of one shape by the elements' low bits: from below a
// byte to 8 bits, where signed says whether the elements are signed numbers, or back.
func (p *problem) planPack(dst, src layout.Layout, dstBits, srcBits int, signed bool) (Launch, error) {
	p.sBits, p.signed = srcBits, signed && srcBits < dstBits
	p.simplify(dst, src, dstBits, dstBits)
	return p.plan("convert", func(p *problem, k *parameters) (Spec, error) {
		return choose(packPlanners, p, p, k)
	})
}

// simplify sets the problem to a call's layouts, with the fewest axes and with elements of up to
// limit bits.
func (p *problem) simplify(dst, src layout.Layout, bits, limit int) {
	d, s := dst, src
	layout.Simplify(&d, &s)
	wide := layout.Widen(bits, limit, &d, &s)
	p.walk(d, s, dst.Offset(), src.Offset(), wide, int64(wide/bits))
}

// walk sets the problem to simplified layouts whose elements of the given width are per of the
// operands' elements each.
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

// plan makes the launch of the kernel that choose returns with its parameters. Each attempt gets
// its own problem, because forms change it: axes that run backwards, elements in parts.
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

// clone copies the problem and its axes.
func (p *problem) clone() *problem {
	q := *p
	q.axes = slices.Clone(p.axes)
	return &q
}

// spec is a form's kernel for the problem's elements.
func (p *problem) spec(f Form) Spec {
	return Spec{Form: f, DstBits: uint8(p.dBits), SrcBits: uint8(p.sBits), Signed: p.signed, CPUTarget: p.target.CPU, ManyAxes: p.manyAxes}
}

// inner returns the i-th axis from the innermost one; beyond the last, a trivial axis.
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

// nearest returns the axis, counted from the innermost one, along which src's elements are nearest
// to each other, ignoring repeated elements.
func (p *problem) nearest() int {
	if len(p.axes) == 0 {
		return 0
	}
	return len(p.axes) - 1 - nest.NearOf(p.axes, 1, 1).Nearest
}
