package backend

import "github.com/restride/restride/device"

// The largest widths in bits of elements in Queue.Map.
const (
	leastMapped = 2
	mostMapped  = 8  // of src
	mostLooked  = 32 // of dst and the table
)

// CheckMap checks the rules of Queue.Map.
func CheckMap(dst, src, table *device.Operand) error {
	const op = "Map"
	if err := checkPair(op, dst, src); err != nil {
		return err
	}
	if err := CheckOperand(op, "table", table); err != nil {
		return err
	}
	from, to := src.Type.Bits(), dst.Type.Bits()
	switch {
	case from < leastMapped || from > mostMapped:
		return invalid(op, "%v to %v: a table is for elements of %d to %d bits", *src, *dst, leastMapped, mostMapped)
	case to < leastMapped || to > mostLooked:
		return invalid(op, "%v to %v: a table has elements of %d to %d bits", *src, *dst, leastMapped, mostLooked)
	case table.Type.Bits() != to:
		return invalid(op, "%v to %v by %v: elements of dst and of the table differ in width", *src, *dst, *table)
	case !table.Layout.HasShape(1<<from) || table.Layout.Stride(0) != 1:
		return invalid(op, "%v to %v by %v: a table for elements of %d bits has %d, one after the other", *src, *dst, *table, from, 1<<from)
	}
	if err := checkBytesApart(op, dst, table); err != nil {
		return err
	}
	if from == to && src.Layout.Equal(&dst.Layout) {
		return nil
	}
	return checkBytesApart(op, dst, src)
}
