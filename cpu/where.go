package cpu

import (
	"sync"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/layout"
)

// Where sets each element of dst to a's where cond is true, and to b's elsewhere.
func (q *queue) Where(dst, cond, a, b device.Operand) error {
	const op = "Where"
	if err := q.begin(op); err != nil {
		return err
	}
	defer q.end()
	if err := backend.CheckWhere(&dst, &cond, &a, &b); err != nil {
		return err
	}
	var regions [4]region
	for i, x := range []struct {
		role string
		*device.Operand
	}{{"dst", &dst}, {"a", &a}, {"b", &b}, {"cond", &cond}} {
		var err error
		if regions[i], err = q.use(op, x.role, x.Buffer); err != nil {
			return err
		}
	}
	if dst.Layout.Count() == 0 {
		return nil
	}
	w := wheres.Get().(*where)
	w.dst, w.a, w.b, w.cond = regions[0].base, regions[1].base, regions[2].base, regions[3].base
	w.load(&dst, &cond, &a, &b)
	return q.do(op, w, regions[:]...)
}

// where is a Where ready to run: loops over axes, innermost last. Steps are in bytes, but in
// elements for dst, a and b below a byte.
type where struct {
	dst, a, b, cond unsafe.Pointer
	bits            int   // of an element; 0: strings
	unit            int64 // the step between neighbours
	loose           bool  // elements may be unaligned for word access
	origin          sides
	rank            int
	axes            [maxAxes]whereAxis
	count           int64 // of elements
	bytes           int64

	// Goroutines share ranges of elements, counted in the order of the loops.
	share share
}

type whereAxis struct {
	n int64
	sides
}

// sides are offsets of an element in dst, a, b and cond, or steps.
type sides struct{ d, a, b, c int64 }

func (p *sides) move(x *sides, times int64) {
	p.d += times * x.d
	p.a += times * x.a
	p.b += times * x.b
	p.c += times * x.c
}

var wheres = sync.Pool{New: func() any { return new(where) }}

func (w *where) release() {
	w.dst, w.a, w.b, w.cond = nil, nil, nil, nil
	wheres.Put(w)
}

// load takes checked operands that have elements.
func (w *where) load(dst, cond, a, b *device.Operand) {
	d, x, y, c := dst.Layout, a.Layout, b.Layout, cond.Layout
	layout.Simplify(&d, &x, &y, &c)
	w.bits, w.unit, w.loose = dst.Type.Bits(), 1, false
	if dst.Type == layout.String {
		w.unit = stringSize
	} else if w.bits >= 8 {
		w.unit = int64(w.bits / 8)
		w.loose = !looseAlignment && w.bits > 8*min(alignment(w.dst), alignment(w.a), alignment(w.b))
	}
	w.count, w.rank = d.Count(), d.Rank()
	w.bytes = (w.count*int64(width(dst.Type)) + 7) / 8
	w.origin = sides{d.Offset() * w.unit, x.Offset() * w.unit, y.Offset() * w.unit, c.Offset()}
	for i := range w.rank {
		w.axes[i] = whereAxis{d.Dim(i), sides{d.Stride(i) * w.unit, x.Stride(i) * w.unit, y.Stride(i) * w.unit, c.Stride(i)}}
	}
	if w.rank == 0 {
		w.rank, w.axes[0] = 1, whereAxis{n: 1}
	}
}

func (w *where) perform(sc *scratch) (int64, error) {
	w.execute(sc)
	return w.bytes, nil
}

// execute runs the choice and returns when it is done.
func (w *where) execute(sc *scratch) {
	n := parallelism(w.count, w.bytes)
	if w.bits > 0 && w.bits < 8 && !separable(w.origin.d, w.bits, w.rank, func(k int) (n, step int64) { return w.axes[k].n, w.axes[k].d }) {
		n = 1
	}
	if n == 1 {
		w.part(0, w.count, sc)
		return
	}
	w.share.work, w.share.units = w, w.count
	w.share.grain = (grainOf(w.count, w.bytes, n) + 63) &^ 63
	allWorkers.run(&w.share, n-1, sc)
}

// past reports whether rows are written past the caches, where kernels can.
func (w *where) past() bool { return streams(w.bytes) }

// part does the elements with the numbers [lo, hi), in parts of the innermost axis.
func (w *where) part(lo, hi int64, sc *scratch) {
	last := w.rank - 1
	in := &w.axes[last]
	var at [maxAxes]int64
	p := w.origin
	for k, rest := last, lo; k >= 0; k-- {
		x := &w.axes[k]
		at[k] = rest % x.n
		rest /= x.n
		p.move(&x.sides, at[k])
	}
	for lo < hi {
		n := min(in.n-at[last], hi-lo)
		w.row(p, n, sc)
		lo += n
		p.move(&in.sides, -at[last])
		at[last] = 0
		for k := last - 1; k >= 0; k-- { // the next index over the outer axes
			x := &w.axes[k]
			p.move(&x.sides, 1)
			if at[k]++; at[k] < x.n {
				break
			}
			p.move(&x.sides, -x.n)
			at[k] = 0
		}
	}
	if w.past() {
		kernels.Fence()
	}
}
