package cpu

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/internal/indexing"
	"github.com/restride/restride/layout"
)

// Take copies the elements of src selected by indices to dst.
func (q *queue) Take(dst, src, at device.Operand, by ...layout.Index) error {
	if err := q.begin("Take"); err != nil {
		return err
	}
	defer q.end()
	if err := backend.CheckTake(&dst, &src, &at, by); err != nil {
		return err
	}
	return q.moveIndexed("Take", &dst, &src, &at, device.ReduceSet, by)
}

// Put copies the elements of src to the elements of dst selected by indices, in order.
func (q *queue) Put(dst, src, at device.Operand, how device.Reduction, by ...layout.Index) error {
	if err := q.begin("Put"); err != nil {
		return err
	}
	defer q.end()
	if err := backend.CheckPut(&dst, &src, &at, how, by); err != nil {
		return err
	}
	return q.moveIndexed("Put", &dst, &src, &at, how, by)
}

// moveIndexed executes a checked take or put.
func (q *queue) moveIndexed(op string, dst, src, at *device.Operand, how device.Reduction, by []layout.Index) error {
	to, from, err := q.usePair(op, dst, src)
	if err != nil {
		return err
	}
	indices, err := q.use(op, "at", at.Buffer)
	if err != nil {
		return err
	}
	if dst.Layout.Count() == 0 || indexing.LeadNowhere(by) {
		return nil
	}
	t := takes.Get().(*take)
	t.dst, t.src, t.at, t.atBits = to.base, from.base, indices.base, at.Type.Bits()
	t.put, t.reduce = op == "Put", nil
	if how != device.ReduceSet {
		t.reduce = reducer(dst.Type, how)
	}
	t.load(dst, src, at, by)
	return q.do(op, t, to, from, indices)
}

func (t *take) perform(sc *scratch) (int64, error) {
	t.wrong.Store(false)
	t.execute(sc)
	if !t.wrong.Load() {
		return t.bytes, nil
	}
	op := "Take"
	if t.put {
		op = "Put"
	}
	return t.bytes, layout.Errorf(device.ErrInvalid, op, "%s", backend.OutOfRange(t.index, t.extent))
}

// take is a Take or a Put ready to run: loops over axes, innermost last. Steps are in bytes on dst
// and src, or in elements below a byte; at's are in elements. An index selects a unit: an element,
// or a dense row of elements, which has no loop.
type take struct {
	put          bool                     // indices are dst's, and units are put in order
	reduce       func(a, b uint64) uint64 // nil: elements of dst are replaced
	classes      int64                    // of units that are put, by destination; 0: no classes
	apartUnits   int64                    // per independent part of a put; 0: no parts
	dst, src, at unsafe.Pointer
	atBits       int
	bits         int   // of an element; 0: strings
	size         int64 // of a unit, in bytes; not below a byte
	loose        bool
	origin       location
	rank         int
	axes         [maxAxes]takeAxis
	by           []layout.Index
	count        int64 // of units
	bytes        int64

	// Goroutines share ranges of units, counted in the order of the loops.
	share share

	// An index out of range, of the unit with the lowest number.
	wrong         atomic.Bool
	mu            sync.Mutex
	number        int64
	index, extent int64
}

type takeAxis struct{ n, d, s, a int64 }

// location is the offset of an element on each side.
type location struct{ d, s, a int64 }

func (p *location) move(x *takeAxis, times int64) {
	p.d += times * x.d
	p.s += times * x.s
	p.a += times * x.a
}

var takes = sync.Pool{New: func() any { return new(take) }}

func (t *take) release() {
	t.dst, t.src, t.at = nil, nil, nil
	takes.Put(t)
}

// load takes checked operands that have elements.
func (t *take) load(dst, src, at *device.Operand, by []layout.Index) {
	d, s, a := dst.Layout, src.Layout, at.Layout
	if t.put {
		layout.Merge(&d, &s, &a)
	} else {
		layout.Simplify(&d, &s, &a)
	}
	bits, unit := dst.Type.Bits(), int64(1)
	t.by = append(t.by[:0], by...)
	switch {
	case dst.Type == layout.String:
		unit, t.bytes = stringSize, stringSize*d.Count()
	case t.put:
		t.bytes = (d.Count()*int64(bits) + 7) / 8
		if last := d.Rank() - 1; t.reduce == nil && last >= 0 && d.Dim(last)*int64(bits) > 8 {
			bits = t.widen(bits, max(bits, 8), &d, &s, &a) // the last axis stays, and so does the order
		}
		unit = int64(max(bits/8, 1))
		t.loose = bits > 8*min(alignment(t.dst), alignment(t.src)) && !looseAlignment
	default:
		limit := 8 * min(alignment(t.dst), alignment(t.src))
		t.bytes = (d.Count()*int64(bits) + 7) / 8
		bits = t.widen(bits, limit, &d, &s, &a)
		unit = int64(max(bits/8, 1))
		t.loose = bits > limit && !looseAlignment
	}
	for i := range t.by {
		t.by[i].Stride *= unit
	}
	t.bits, t.count, t.rank = bits, d.Count(), d.Rank()
	t.origin = location{d.Offset() * unit, s.Offset() * unit, a.Offset()}
	for i := range t.rank {
		t.axes[i] = takeAxis{d.Dim(i), d.Stride(i) * unit, s.Stride(i) * unit, a.Stride(i)}
	}
	t.size = unit
	if t.bits >= 8 && t.rank > 0 && t.dense(t.rank-1) && (t.put || t.axes[t.rank-1].n*unit <= takeBlock) {
		t.rank--
		t.size *= t.axes[t.rank].n
		t.count /= t.axes[t.rank].n
	}
	if t.rank == 0 {
		t.rank, t.axes[0] = 1, takeAxis{n: 1}
	}
}

// widen combines elements into elements as wide as layouts and indices allow, up to a limit, and
// returns their width.
func (t *take) widen(bits, limit int, sides ...*layout.Layout) int {
	wide := layout.Widen(bits, indexing.WidthLimit(t.by, bits, limit), sides...)
	for i := range t.by {
		t.by[i].Stride /= int64(wide / bits)
	}
	return wide
}

// dense reports whether an axis forms dense rows that share an index.
func (t *take) dense(axis int) bool {
	x := &t.axes[axis]
	return x.a == 0 && x.d == t.size && x.s == t.size
}

// execute runs the take and returns when it is done.
func (t *take) execute(sc *scratch) {
	cost := max(t.bytes, t.count*leastTaken)
	n := parallelism(t.count, cost)
	t.classes, t.apartUnits = 0, 0
	switch {
	case n == 1:
	case t.put:
		n = t.sharePut(n)
	case t.bits > 0 && t.bits < 8 && !separable(t.origin.d, t.bits, t.rank, func(k int) (n, step int64) { return t.axes[k].n, t.axes[k].d }):
		n = 1
	}
	if n == 1 {
		t.run(0, t.count, sc)
		return
	}
	t.share.work, t.share.units = t, t.count
	t.share.grain = grainOf(t.count, cost, n)
	if t.sharedTable() > 0 {
		t.share.grain = max(t.share.grain, min(tableRows*t.axes[t.rank-1].n, t.count/int64(4*n)))
	}
	switch {
	case t.classes > 0:
		t.share.units, t.share.grain = t.classes, 1
	case t.apartUnits > 0:
		t.share.units, t.share.grain = t.count/t.apartUnits, max(1, t.share.grain/t.apartUnits)
	case t.bits < 8:
		t.share.grain = (t.share.grain + 63) &^ 63
	}
	allWorkers.run(&t.share, n-1, sc)
}

// part does the units with the numbers [lo, hi).
func (t *take) part(lo, hi int64, sc *scratch) {
	switch {
	case t.classes > 0:
		for class := lo; class < hi; class++ {
			t.putClass(class, sc)
		}
	case t.apartUnits > 0:
		t.run(lo*t.apartUnits, hi*t.apartUnits, sc)
	default:
		t.run(lo, hi, sc)
	}
}

// run does the units with the numbers [lo, hi).
func (t *take) run(lo, hi int64, sc *scratch) {
	switch {
	case t.bits == 0:
		t.rows(lo, hi, t.wordRow(0))
	case t.bits < 8 && t.reduce == nil:
		t.rows(lo, hi, t.packedRow)
	case t.bits < 8 || t.loose || t.put && t.count < leastPutBlock:
		t.rows(lo, hi, t.unitRow)
	case t.put:
		t.blocks(lo, hi, everyClass, sc)
	case t.dense(t.rank - 1):
		t.rows(lo, hi, t.longRow)
	case t.apart():
		t.rows(lo, hi, t.wordRow(t.bits))
	default:
		t.blocks(lo, hi, everyClass, sc)
	}
	if t.past() {
		kernels.Fence()
	}
}

// past reports whether units are written past the caches, where kernels can.
func (t *take) past() bool { return streams(t.bytes) }

// apart reports whether the innermost axis consists of words for which no block pays off: all with
// one index, or few that are not contiguous in dst.
func (t *take) apart() bool {
	x := &t.axes[t.rank-1]
	switch {
	case t.size*8 != int64(t.bits):
		return false
	case x.a == 0:
		return true
	}
	return x.n < fewTaken && t.rank > 1 && t.axes[t.rank-2].d != x.n*x.d
}

// rows calls row for each part of the innermost axis in a range of units, with the location of the
// first unit, the number of units, and the first one's number.
func (t *take) rows(lo, hi int64, row func(p location, n, number int64)) {
	last := t.rank - 1
	in := &t.axes[last]
	var at [maxAxes]int64
	p := t.origin
	for k, rest := last, lo; k >= 0; k-- {
		x := &t.axes[k]
		at[k] = rest % x.n
		rest /= x.n
		p.move(x, at[k])
	}
	for lo < hi {
		n := min(in.n-at[last], hi-lo)
		row(p, n, lo)
		lo += n
		p.move(in, -at[last])
		at[last] = 0
		for k := last - 1; k >= 0; k-- { // the next index over the outer axes
			x := &t.axes[k]
			if at[k]++; at[k] < x.n {
				p.move(x, 1)
				break
			}
			p.move(x, 1-x.n)
			at[k] = 0
		}
	}
}

// find moves a location by its indices. False: one is out of range.
func (t *take) find(p location, number int64) (location, bool) {
	sum, ok := int64(0), true
	for k := range t.by {
		x := &t.by[k]
		var index int64
		if t.atBits == 64 {
			index = int64(load64(t.at, 8*(p.a+x.Offset)))
		} else {
			index = int64(int32(load32(t.at, 4*(p.a+x.Offset))))
		}
		i, found := x.Resolve(index)
		if !found && x.OutOfRange.Fails() {
			t.note(number, index, backend.ToldExtent(x))
		}
		ok = ok && found
		sum += i * x.Stride
	}
	if t.put {
		p.d += sum
	} else {
		p.s += sum
	}
	return p, ok
}

func (t *take) note(number, index, extent int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.wrong.Load() || number < t.number {
		t.number, t.index, t.extent = number, index, extent
		t.wrong.Store(true)
	}
}

// wordRow returns the loop over words of so many bits along the innermost axis; 0: strings.
func (t *take) wordRow(bits int) func(p location, n, number int64) {
	switch bits {
	case 0:
		return func(p location, n, number int64) { takeWords[string](t, p, n, number) }
	case 8:
		return func(p location, n, number int64) { takeWords[uint8](t, p, n, number) }
	case 16:
		return func(p location, n, number int64) { takeWords[uint16](t, p, n, number) }
	case 32:
		return func(p location, n, number int64) { takeWords[uint32](t, p, n, number) }
	case 64:
		return func(p location, n, number int64) { takeWords[uint64](t, p, n, number) }
	}
	return func(p location, n, number int64) { takeWords[[2]uint64](t, p, n, number) }
}

func takeWords[W word](t *take, p location, n, number int64) {
	x := t.axes[t.rank-1]
	if x.a == 0 {
		if p, ok := t.find(p, number); ok {
			for i := range n {
				store(t.dst, p.d+i*x.d, load[W](t.src, p.s+i*x.s))
			}
		}
		return
	}
	for i := range n {
		if p, ok := t.find(p, number+i); ok {
			store(t.dst, p.d, load[W](t.src, p.s))
		}
		p.move(&x, 1)
	}
}

// unitRow moves n units along the innermost axis, one by one.
func (t *take) unitRow(p location, n, number int64) { t.unitsOf(everyClass, p, n, number) }

// unitsOf moves the units of some classes.
func (t *take) unitsOf(classes classSet, p location, n, number int64) {
	x, past := t.axes[t.rank-1], t.put && t.past()
	for i := range n {
		if p, ok := t.find(p, number+i); ok && (classes == everyClass || classes.bit(p.d) == 1) {
			if t.reduce == nil {
				moveRun(t.dst, p.d, t.src, p.s, t.size, past)
			} else {
				t.reduceUnit(p.d, p.s)
			}
		}
		p.move(&x, 1)
	}
}

// longRow is unitRow for units that form one dense row.
func (t *take) longRow(p location, n, number int64) {
	if p, ok := t.find(p, number); ok {
		moveRun(t.dst, p.d, t.src, p.s, n*t.size, t.past())
	}
}

// packedRow is unitRow below a byte.
func (t *take) packedRow(p location, n, number int64) {
	x, w := t.axes[t.rank-1], int64(t.bits)
	if x.a == 0 {
		p, ok := t.find(p, number)
		switch {
		case !ok:
		case x.d == 1 && x.s == 1:
			copyBits(t.dst, p.d*w, t.src, p.s*w, n*w)
		default:
			for i := range n {
				putBits(t.dst, (p.d+i*x.d)*w, getBits(t.src, (p.s+i*x.s)*w, w), w)
			}
		}
		return
	}
	for i := range n {
		if p, ok := t.find(p, number+i); ok {
			putBits(t.dst, p.d*w, getBits(t.src, p.s*w, w), w)
		}
		p.move(&x, 1)
	}
}
