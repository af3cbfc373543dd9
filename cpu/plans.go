package cpu

import (
	"math"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/internal/plankey"
	"github.com/restride/restride/internal/simd"
	"github.com/restride/restride/layout"
)

// form is what a call's job depends on apart from layouts: not the addresses, but their alignment.
type form struct {
	op       operation
	align    uint8 // of the addresses of both sides, up to 16
	dst, src layout.DType
	how      device.Rounding
}

type operation uint8

const (
	opCopy operation = iota
	opConvert
	opFill
	opFillString
)

var operationNames = [...]string{"Copy", "Convert", "Fill", "FillString"}

func (o operation) String() string { return operationNames[o] }

// check checks the rules of a call. Calls without a source pass dst as src.
func (f *form) check(dst, src *device.Operand, pattern []byte) error {
	switch f.op {
	case opCopy:
		return backend.CheckCopy(dst, src)
	case opConvert:
		return backend.CheckConvert(dst, src, f.how)
	case opFill:
		return backend.CheckFill(dst, pattern)
	}
	return backend.CheckFillString(dst)
}

// checkBuffers is check for a call whose form and layouts have been checked.
func (f *form) checkBuffers(dst, src *device.Operand, pattern []byte) error {
	switch f.op {
	case opCopy:
		return backend.CheckCopyBuffers(dst, src)
	case opConvert:
		return backend.CheckConvertBuffers(dst, src)
	case opFill:
		return backend.CheckFillBuffers(dst, pattern)
	}
	return backend.CheckFillString(dst)
}

// plan is a planned job of less than parallelBytes, kept for calls of the same form between
// layouts with the same key: the form is checked, and the job is planned.
type plan struct {
	form     form
	layouts  plankey.Key
	job      job
	dst, src side
}

// side is a plan's information about the elements of one side.
type side struct {
	strings bool
	log     uint8 // of an element's bits
	last    int64 // from the first element to the highest one

	// The offset of the call that the job was planned for, the job's offset, and the change of
	// the latter per plankey.Period elements.
	from, off, step int64
}

// holds reports whether memory contains all elements from an offset on.
func (x *side) holds(m *memory, off int64) bool {
	size := m.size
	if !x.strings {
		size = size << 3 >> x.log
	}
	return x.strings == (m.strs != nil) && off+x.last < size
}

// at returns the job's offset for a call's offset.
func (x *side) at(off int64) int64 { return x.off + (off-x.from)/plankey.Period*x.step }

// load sets the side to a layout and the job's offset for it.
func (x *side) load(t layout.DType, l *layout.Layout, off int64, elem int, unit int64) {
	*x = side{strings: t == layout.String, log: logWidth(t), last: math.MinInt64 / 2}
	x.from = l.Offset()
	if _, hi, some := l.Extent(); some {
		x.last = hi - x.from
	}
	x.off, x.step = off, plankey.Period*int64(width(t))/int64(max(elem, 1))*unit
}

// fits reports whether a call of the plan's form and key is known to break no rule about its
// buffers. False: it may break one.
func (p *plan) fits(dst, src *layout.Layout, to, from *memory, pattern []byte) bool {
	if !p.dst.holds(to, dst.Offset()) {
		return false
	}
	if p.form.op >= opFill {
		return p.dst.strings || len(pattern) == (1<<p.dst.log+7)/8
	}
	return to != from && p.src.holds(from, src.Offset())
}

// run executes a call on elements at the given offsets of memory, and returns the number of bytes
// written.
func (p *plan) run(to, from unsafe.Pointer, dOff, sOff int64, sc *scratch) int64 {
	j := &p.job
	if j.units == 0 {
		return 0
	}
	j.dst, j.src = to, from
	j.dOff, j.sOff = p.dst.at(dOff), p.src.at(sOff)
	j.part(0, j.units, sc)
	j.drop() // plans keep no memory alive
	return j.bytes
}

// load plans a call.
func (p *plan) load(f *form, dst, src *layout.Layout) {
	j := &p.job
	p.form = *f
	if j.prepare(f, dst, src) {
		j.plan()
	} else {
		j.units = 0
	}
	p.dst.load(f.dst, dst, j.dOff, j.dBits, j.unit(j.dBits))
	p.src.load(f.src, src, j.sOff, j.sBits, j.unit(j.sBits))
	if f.op >= opFill {
		p.src.step = 0
	}
}

// plans are the plans of a queue's latest calls, in small sets by hash, the latest of each set
// first.
type plans struct {
	sets    [planSets][planWays]*plan
	latest  *plan         // or nil
	kernels *simd.Kernels // with which they were made
}

const (
	planSets = 16
	planWays = 4
)

// set returns the set for a call's plan.
func (c *plans) set(f *form, dst, src *layout.Layout) *[planWays]*plan {
	h := plankey.Hash(nil, dst, src) + (uint64(f.op)<<16|uint64(f.dst)<<8|uint64(f.src))*0x9e3779b97f4a7c15
	return &c.sets[h>>60%planSets]
}

// again returns the latest plan if it fits a call, or nil.
func (c *plans) again(f *form, dst, src *layout.Layout) *plan {
	if p := c.latest; p != nil && p.form == *f && p.layouts.Is(nil, dst, src) && c.kernels == kernels {
		return p
	}
	return nil
}

// find returns the plan of a call, or nil.
func (c *plans) find(f *form, dst, src *layout.Layout) *plan {
	if c.kernels != kernels {
		*c = plans{kernels: kernels}
	}
	set := c.set(f, dst, src)
	for i, p := range set {
		if p == nil {
			return nil
		}
		if p.form == *f && p.layouts.Is(nil, dst, src) {
			if i > 0 {
				copy(set[1:], set[:i])
				set[0] = p
			}
			c.latest = p
			return p
		}
	}
	return nil
}

// add plans a checked call, in place of the least recently used plan of its set. nil: the plan is
// not worth keeping.
func (c *plans) add(f *form, dst, src *layout.Layout) *plan {
	if !small(f.dst, dst) || !small(f.src, src) {
		return nil
	}
	set := c.set(f, dst, src)
	p := set[planWays-1]
	if p == nil {
		p = new(plan)
	}
	copy(set[1:], set[:])
	set[0] = p
	p.layouts.Set(nil, dst, src)
	p.load(f, dst, src)
	c.latest = p
	return p
}

// small reports whether there are too few elements for several workers.
func small(t layout.DType, l *layout.Layout) bool {
	return l.Count() < parallelBytes*8/int64(width(t))
}
