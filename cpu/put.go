package cpu

import (
	"math"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/nest"
	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/layout"
)

const (
	// fewClasses is the most classes of units shorter than leastPutRow: each reads all
	// indices, which then take time, too.
	fewClasses, leastPutRow = 4, 512
	// leastPutBlock is the number of units from which blocks pay.
	leastPutBlock = 8
	// classBits is the size of the pieces of dst that are of one class, as a logarithm: more
	// than a line, for which processors would wait for each other.
	classBits = 8
	// classValues is the number of values of a hash of where units go.
	classValues = 64
	// shortPut is the size of units for which memmove takes longer than words do.
	shortPut = 256
)

// classSet has a bit for each of the values of a hash of an offset in dst: those of some
// classes of units.
type classSet uint64

const everyClass = ^classSet(0)

// bit is 1 where a unit that goes to an offset is of the classes.
func (c classSet) bit(at int64) int {
	return int(c >> (uint64(at>>classBits) * 0x9e3779b97f4a7c15 >> 58) & 1)
}

// sharePut chooses how a put is shared by up to n goroutines, and returns how many may. What
// goes to one place is done by one of them, in order.
func (t *take) sharePut(n int) int {
	if t.bits > 0 && t.bits < 8 || t.loose {
		return 1
	}
	classes := int64(1)
	if t.bits > 0 && t.placesApart() {
		if classes = int64(min(n, classValues)); t.size < leastPutRow {
			classes = min(classes, fewClasses)
		}
	}
	parts := t.partsApart()
	switch {
	case parts < classes:
		t.classes = classes
		return int(classes)
	case parts > 1: // they read their own indices only
		t.apartUnits = t.count / parts
	}
	return int(min(int64(n), parts))
}

// partsApart returns how many parts a put has, one for each index over the outermost axes,
// that go to different places whatever the indices are.
func (t *take) partsApart() int64 {
	reach := t.size
	for i := range t.rank {
		reach += nest.Magnitude(t.axes[i].d) * (t.axes[i].n - 1)
	}
	for i := range t.rank {
		if t.axes[i].a != 0 { // they differ from unit to unit
			for k := range t.by {
				reach += nest.Magnitude(t.by[k].Stride) * (t.by[k].Extent - 1)
			}
			break
		}
	}
	parts := int64(1)
	for i := range t.rank {
		x := &t.axes[i]
		if reach -= nest.Magnitude(x.d) * (x.n - 1); reach > nest.Magnitude(x.d) {
			break
		}
		parts *= x.n
	}
	return parts
}

// placesApart reports whether units that do not go to one place do not overlap.
func (t *take) placesApart() bool {
	for i := range t.rank {
		if t.axes[i].d%t.size != 0 {
			return false
		}
	}
	for k := range t.by {
		if t.by[k].Stride%t.size != 0 {
			return false
		}
	}
	return true
}

// putClass puts the units of a class.
func (t *take) putClass(class int64, sc *scratch) {
	var mine classSet
	for i := class; i < classValues; i += t.classes {
		mine |= 1 << i
	}
	t.blocks(0, t.count, mine, sc)
	if t.past() {
		kernels.Fence()
	}
}

// chosen returns where the units of a block go that are of its classes, and where they are.
func (b *takenBlock) chosen() (to, from []int64) {
	n, at := 0, b.d
	if b.classes == everyClass {
		for i := range b.even[:b.n] {
			b.even[i] = at
			at += b.step
		}
		return b.offsets[:b.n], b.even[:b.n]
	}
	for _, to := range b.offsets[:b.n] { // without a branch that nobody can predict
		b.offsets[n], b.even[n] = to, at
		n += b.classes.bit(to)
		at += b.step
	}
	return b.offsets[:n], b.even[:n]
}

// putUnits puts those of a block that are of its classes.
func (t *take) putUnits(b *takenBlock) {
	switch {
	case t.reduce != nil:
		to, from := b.chosen()
		for i := range to {
			t.reduceUnit(to[i], from[i])
		}
	case t.size*8 != int64(t.bits):
		t.putRows(b.chosen())
	case t.bits == 8:
		putWords[uint8](t, b)
	case t.bits == 16:
		putWords[uint16](t, b)
	case t.bits == 32:
		putWords[uint32](t, b)
	case t.bits == 64:
		putWords[uint64](t, b)
	default:
		putWords[[2]uint64](t, b)
	}
}

// putRows puts units of several elements. Whole lines go past the caches, however few.
func (t *take) putRows(to, from []int64) {
	past := t.past()
	switch {
	case past && (int64(uintptr(t.dst))|t.origin.d|t.size)%cacheLine == 0:
		for i := range to {
			next := from[min(i+1, len(from)-1)] - from[i] // to be fetched
			kernels.Stream(ptr(t.dst, to[i]), ptr(t.src, from[i]), 0, next, t.size, 1)
		}
	case t.size > shortPut:
		for i := range to {
			moveRun(t.dst, to[i], t.src, from[i], t.size, past)
		}
	default:
		for i := range to {
			moveSpans(t.dst, t.src, to[i], from[i], 1, 0, 0, t.size)
		}
	}
}

// putWords puts single elements; those of all classes need no table of where they are.
func putWords[W word](t *take, b *takenBlock) {
	if b.classes == everyClass {
		at := b.d
		for first := int64(0); first < b.n; first += tableUnits {
			if b.table > 0 {
				t.fetchTable(b, first)
			}
			for _, to := range b.offsets[first:min(first+tableUnits, b.n)] {
				store(t.dst, to, load[W](t.src, at))
				at += b.step
			}
		}
		return
	}
	to, from := b.chosen()
	from = from[:len(to)]
	for i := range to {
		store(t.dst, to[i], load[W](t.src, from[i]))
	}
}

// reduceUnit reduces the elements of a unit.
func (t *take) reduceUnit(d, s int64) {
	element := max(int64(t.bits/8), 1)
	for i := int64(0); i < t.size; i += element {
		storeBits(t.dst, d+i, t.bits, t.reduce(loadBits(t.dst, d+i, t.bits), loadBits(t.src, s+i, t.bits)))
	}
}

// loadBits reads an element of up to 64 bits, at a position as a take has it.
func loadBits(p unsafe.Pointer, at int64, bits int) uint64 {
	switch bits {
	case 8:
		return uint64(load[uint8](p, at))
	case 16:
		return uint64(load[uint16](p, at))
	case 32:
		return uint64(load[uint32](p, at))
	case 64:
		return load[uint64](p, at)
	}
	return uint64(getBits(p, at*int64(bits), int64(bits)))
}

// storeBits writes one, of which the low bits count.
func storeBits(p unsafe.Pointer, at int64, bits int, v uint64) {
	switch bits {
	case 8:
		store(p, at, uint8(v))
	case 16:
		store(p, at, uint16(v))
	case 32:
		store(p, at, uint32(v))
	case 64:
		store(p, at, v)
	default:
		putBits(p, at*int64(bits), byte(v), int64(bits))
	}
}

// reducer returns what a reduction makes of the bits of two elements.
func reducer(t layout.DType, how device.Reduction) func(a, b uint64) uint64 {
	switch numeric.KindOf(t) {
	case numeric.BoolKind:
		if how == device.ReduceAdd || how == device.ReduceMax {
			return func(a, b uint64) uint64 { return min(a|b, 1) }
		}
		return func(a, b uint64) uint64 { return min(a, b, 1) }
	case numeric.FloatKind:
		return floatReducer(t, how)
	}
	unused := 64 - t.Bits()
	less := func(a, b uint64) bool { return a < b }
	if numeric.KindOf(t) == numeric.IntKind {
		less = func(a, b uint64) bool { return int64(a<<unused) < int64(b<<unused) }
	}
	switch how {
	case device.ReduceAdd:
		return func(a, b uint64) uint64 { return a + b }
	case device.ReduceMul:
		return func(a, b uint64) uint64 { return a * b }
	}
	return extreme(how, less)
}

// extreme returns the reduction Min or Max.
func extreme(how device.Reduction, less func(a, b uint64) bool) func(a, b uint64) uint64 {
	return func(a, b uint64) uint64 {
		if less(b, a) == (how == device.ReduceMin) {
			return b
		}
		return a
	}
}

// floatReducer reduces as doubles: their sums and products of narrower floats, rounded
// again, are as if they were rounded once.
func floatReducer(t layout.DType, how device.Reduction) func(a, b uint64) uint64 {
	f, double := numberOf(t, device.Rounding{Unsaturated: true}), numberOf(layout.Float64, device.Rounding{})
	apply := func(x, y float64) float64 { return x + y }
	switch how {
	case device.ReduceMul:
		apply = func(x, y float64) float64 { return x * y }
	case device.ReduceMin:
		apply = math.Min
	case device.ReduceMax:
		apply = math.Max
	}
	return func(a, b uint64) uint64 {
		x, y := f.format.Decode(a), f.format.Decode(b)
		r := apply(x, y)
		switch {
		case x != x || y != y || r != r: // math.Min has an infinity win
			return f.nan
		case t == layout.Float64:
			return math.Float64bits(r)
		}
		return f.encode(double.decode(math.Float64bits(r)))
	}
}
