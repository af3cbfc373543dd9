package tensor

import (
	"errors"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// Lookup maps each element to an entry of a table: the bits of an element of 2, 4 or 8 bits,
// as an unsigned number, select one of 4, 16 or 256 entries. The table has one axis, is on t's
// device, and has a type of 2 to 32 bits, which becomes the result's. A table can express an
// exclusive or with a constant, other zero points, the values of NF4, or any conversion from
// float8. The result is a copy on t's stream.
func (t *Tensor) Lookup(table *Tensor) (*Tensor, error) {
	const op = "Lookup"
	if err := t.hold(op); err != nil {
		return nil, err
	}
	defer t.memory.drop()
	if table == nil {
		return nil, t.fail(op, layout.Errorf(device.ErrInvalid, op, "there is no table"))
	}
	if err := table.hold(op); err != nil {
		return nil, err
	}
	defer table.memory.drop()
	if err := t.checkTable(op, table); err != nil {
		return nil, t.fail(op, err)
	}
	entries, err := table.contiguous(op)
	if err != nil {
		return nil, t.fail(op, err)
	}
	defer entries.Release()
	if err := entries.usedOn(t.stream); err != nil { // this waits for a copy, too
		return nil, t.fail(op, err)
	}
	out, err := allocate(t.stream, op, table.dtype, t.Shape())
	if err != nil {
		return nil, err
	}
	if err := t.stream.queue.Map(out.Operand(), t.Operand(), entries.Operand()); err != nil {
		return nil, t.fail(op, errors.Join(err, out.Release()))
	}
	out.note(op, move{verdict: Verdict{Kind: Copy, Bytes: bytesOf(out.dtype, out.Count()), Class: "map"}}, t)
	return out.publish(), nil
}

// checkTable checks the rules for tables that the device does not check.
func (t *Tensor) checkTable(op string, table *Tensor) error {
	bits := t.dtype.Bits()
	switch {
	case bits < 2 || bits > 8:
		return layout.Errorf(device.ErrInvalid, op, "elements have %d bits; a table is for 2 to 8", bits)
	case table.stream.dev != t.stream.dev:
		return apart(op, "the table", table.stream, "the elements", t.stream)
	case !table.layout.HasShape(1 << bits):
		return layout.Errorf(device.ErrInvalid, op, "the table is %v%v; for elements of %d bits it has the shape [%d]", table.dtype, table.Shape(), bits, 1<<bits)
	}
	return nil
}
