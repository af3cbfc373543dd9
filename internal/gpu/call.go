package gpu

import (
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/layout"
)

// operands are a call's operands by role; nil: absent.
type operands [planner.MaxOperands]*device.Operand

// call is an operation on operands that have been checked.
type call struct {
	planner.Operation
	operands operands
}

// newCall is a call without options.
func newCall(op planner.Op, on operands) call {
	c := call{Operation: planner.Operation{Op: op}, operands: on}
	for r, o := range on {
		if o != nil {
			c.Operands[r] = planner.Operand{Type: o.Type, Layout: &o.Layout}
		}
	}
	return c
}

// optional is an operand, or nil if it has no buffer.
func optional(o *device.Operand) *device.Operand {
	if o.Buffer == nil {
		return nil
	}
	return o
}

// role names an operand, for errors.
func (c *call) role(r planner.Role) string {
	switch r {
	case planner.Dst:
		return written
	case planner.Src:
		return "src"
	}
	i := r - planner.Src - 1
	switch c.Op {
	case planner.OpMap:
		return "table"
	case planner.OpWhere:
		return [...]string{"cond", "b"}[i]
	case planner.OpDequantize, planner.OpQuantize:
		return [...]string{"scale", "zero", "add"}[i]
	}
	return "at"
}

// writes reports whether the call writes an operand.
func (c *call) writes(r planner.Role) bool {
	return r == planner.Dst || c.FindScale && r == planner.Scale
}

// run queues a call. Its launch is e, or nil if it is not known.
func (q *Queue) run(c *call, e *planner.Entry[Mem]) error {
	q.seq++
	var buffers [planner.MaxOperands]*Buffer
	for r, o := range c.operands {
		if o == nil {
			continue
		}
		var err error
		if buffers[r], err = q.useAs(c.Op.String(), c.role(planner.Role(r)), o.Buffer, c.writes(planner.Role(r))); err != nil {
			return err
		}
	}
	if e == nil {
		var err error
		if e, err = q.launches.Get(&c.Operation); err != nil {
			return err
		}
	}
	if e.Groups == 0 {
		return nil
	}
	var notes *page
	if len(c.By) > 0 {
		var err error
		if notes, err = q.notes(); err != nil {
			return err
		}
	}
	if err := q.send(e, q.arguments(c, &buffers, e, notes)); err != nil {
		return err
	}
	if notes != nil {
		q.flowIndexed(c, notes)
	} else {
		q.flow(c)
	}
	return nil
}

// arguments returns a launch's arguments for a call, valid until it is called again. The kernel
// records an index out of range in the page.
func (q *Queue) arguments(c *call, buffers *[planner.MaxOperands]*Buffer, e *planner.Entry[Mem], notes *page) []Argument {
	args := q.args[:len(e.Arguments)]
	for i := range e.Arguments {
		switch a := &e.Arguments[i]; a.Is {
		case planner.Memory:
			b := buffers[a.Role]
			if b == nil {
				b = buffers[planner.Src]
			}
			args[i].Mem = b.block.mem
		case planner.Parameters:
			args[i].Mem = e.OnDevice
		case planner.Status:
			args[i].Mem = notes.slots[notes.used]
		default:
			args[i] = Argument{Number: e.Number(i, &c.Operation)}
		}
	}
	return args
}

// send queues a launch.
func (q *Queue) send(e *planner.Entry[Mem], args []Argument) error {
	err := q.stream.Launch(&e.Launch, args)
	if isMemory(err) {
		q.makeRoom()
		err = q.noRoom(q.stream.Launch(&e.Launch, args))
	}
	switch {
	case err != nil:
	case q.capture != nil:
		q.capture.launches++
		q.capture.bytes += e.Bytes
	default:
		q.dev.counters.Launch(e.Bytes)
	}
	return err
}

// flow records that a queued call has written its outputs, which depend on what its sources
// depend on.
func (q *Queue) flow(c *call) {
	dst := c.operands[planner.Dst]
	busy := q.capture != nil || dst.Buffer.(*Buffer).marked.Load()
	for _, o := range c.operands[planner.Src:] {
		busy = busy || o != nil && o.Buffer.(*Buffer).suspicious()
	}
	if !busy {
		return
	}
	q.parts = q.parts[:0]
	if src := c.operands[planner.Src]; c.FindScale {
		q.parts = append(q.parts, partOf(src, nil))
		q.flowParts(partOf(c.operands[planner.Scale], nil), nil, q.parts)
	} else if src != nil {
		q.parts = append(q.parts, partOf(src, nil))
	}
	for _, o := range c.operands[planner.Src+1:] {
		if o != nil {
			q.parts = append(q.parts, partOf(o, nil))
		}
	}
	q.flowParts(partOf(dst, nil), nil, q.parts)
}

// flowIndexed is flow for a take or put, whose status is in a page.
func (q *Queue) flowIndexed(c *call, p *page) {
	var own *outcome
	if q.capture != nil {
		q.capture.takes = true
	} else {
		own = p.next(q)
		own.dst, own.seq = c.operands[planner.Dst].Buffer.(*Buffer), q.seq
	}
	ofDst, ofSrc := c.By, []layout.Index(nil)
	if c.Op == planner.OpTake {
		ofDst, ofSrc = ofSrc, ofDst
	}
	to := partOf(c.operands[planner.Dst], ofDst)
	if slices.ContainsFunc(c.By, func(x layout.Index) bool { return x.OutOfRange == layout.OutOfRangeSkip }) {
		to.dense = false // elements may stay as they are
	}
	at := c.operands[planner.At]
	q.parts = append(q.parts[:0], partOf(c.operands[planner.Src], ofSrc))
	for i := range c.By {
		p, off := partOf(at, nil), c.By[i].Offset*int64(at.Type.Bits()/8)
		q.parts = append(q.parts, part{b: p.b, lo: p.lo + off, hi: p.hi + off})
	}
	q.flowParts(to, own, q.parts)
}
