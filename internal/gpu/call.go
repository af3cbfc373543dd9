package gpu

import (
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/planner"
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
		q.flow.indexed(&q.timeline, c, notes)
	} else {
		q.flow.of(&q.timeline, c)
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
			args[i].Mem = notes.slots[q.slotIn(notes)]
		default:
			args[i] = Argument{Number: e.Number(i, &c.Operation)}
		}
	}
	return args
}

// slotIn returns the next slot of a page.
func (q *Queue) slotIn(p *page) int {
	if q.capture != nil {
		return q.capture.slot()
	}
	return p.used
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
