package gpu

import (
	"github.com/restride/restride/device"
	"github.com/restride/restride/device/backend"
)

// Map sets the elements of dst to those of table whose numbers src's are.
func (q *Queue) Map(dst, src, table device.Operand) error {
	const op = "Map"
	if err := q.begin(op); err != nil {
		return err
	}
	defer q.mu.Unlock()
	if err := backend.CheckMap(&dst, &src, &table); err != nil {
		return err
	}
	to, from, err := q.usePair(op, dst.Buffer, src.Buffer)
	if err != nil {
		return err
	}
	if _, err := q.use(op, "table", table.Buffer); err != nil {
		return err
	}
	bits := src.Type.Bits()
	e, err := q.launches.Map(&dst.Layout, &src.Layout, dst.Type.Bits(), bits)
	if err != nil {
		return err
	}
	first := uint64(table.Layout.Offset())
	return q.launch(e, to, from, &dst, &src, [2]uint64{first, uint64(bits)}, &table)
}
