package gpu

import (
	"github.com/restride/restride/device"
	"github.com/restride/restride/device/backend"
)

// Where sets the elements of dst to those of a where cond is true, and of b elsewhere.
func (q *Queue) Where(dst, cond, a, b device.Operand) error {
	const op = "Where"
	if err := q.begin(op); err != nil {
		return err
	}
	defer q.mu.Unlock()
	if err := backend.CheckWhere(&dst, &cond, &a, &b); err != nil {
		return err
	}
	to, from, err := q.usePair(op, dst.Buffer, a.Buffer)
	if err != nil {
		return err
	}
	if _, err := q.use(op, "b", b.Buffer); err != nil {
		return err
	}
	if _, err := q.use(op, "cond", cond.Buffer); err != nil {
		return err
	}
	e, err := q.launches.Where(&dst.Layout, &cond.Layout, &a.Layout, &b.Layout, dst.Type.Bits())
	if err != nil {
		return err
	}
	bases := [2]uint64{uint64(e.AtBase(cond.Layout.Offset())), uint64(e.BBase(b.Layout.Offset()))}
	return q.launch(e, to, from, &dst, &a, bases, &cond, &b)
}
