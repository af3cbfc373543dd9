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
	// fewClasses is the most classes for units shorter than leastPutRow: each class reads all
	// indices, which costs time.
	fewClasses, leastPutRow = 4, 512
	// leastPutBlock is the number of units from which blocks pay off.
	leastPutBlock = 8
	// classBits is the logarithm of the size of the pieces of dst that belong to one class:
	// larger than a line, because processors would wait for each other's lines.
	classBits = 8
	// classValues is the number of hash values of the offsets of units.
	classValues = 64
	// shortPut is the size of units up to which words are faster than memmove.
	shortPut = 256
)

// classSet has a bit for each value of a hash of offsets in dst: the bits of some classes of units
// are set.
type classSet uint64

const everyClass = ^classSet(0)

// bit is 1 if a unit at an offset belongs to the classes.
func (c classSet) bit(at int64) int {
	return int(c >> (uint64(at>>classBits) * 0x9e3779b97f4a7c15 >> 58) & 1)
}

// sharePut chooses how up to n goroutines share a put, and returns how many may. One of them does
// all units of each place, in order.
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
	case parts > 1: // they read only their own indices
		t.apartUnits = t.count / parts
	}
	return int(min(int64(n), parts))
}

// partsApart returns the number of parts of a put, one for each index of the outermost axes, that
// go to different places for any indices.
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

// placesApart reports whether units that go to different places never overlap.
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

// chosen returns the destinations of a block's units that belong to its classes, and their
// sources.
func (b *takenBlock) chosen() (to, from []int64) {
	n, at := 0, b.d
	if b.classes == everyClass {
		for i := range b.even[:b.n] {
			b.even[i] = at
			at += b.step
		}
		return b.offsets[:b.n], b.even[:b.n]
	}
	for _, to := range b.offsets[:b.n] { // without a branch that would be unpredictable
		b.offsets[n], b.even[n] = to, at
		n += b.classes.bit(to)
		at += b.step
	}
	return b.offsets[:n], b.even[:n]
}

// putUnits puts the units of a block that belong to its classes.
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
			next := from[min(i+1, len(from)-1)] - from[i] // to be prefetched
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

// putWords puts single elements; if all classes are included, it needs no table of their sources.
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

// loadBits reads an element of up to 64 bits, at a position in the units of take.
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

// storeBits writes the low bits of v as an element.
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

// reducer returns a reduction of two elements, given as bits.
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

// floatReducer reduces as float64: sums and products of narrower floats, rounded again, equal
// those rounded once.
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
		case x != x || y != y || r != r: // math.Min prefers an infinity to a NaN
			return f.nan
		case t == layout.Float64:
			return math.Float64bits(r)
		}
		return f.encode(double.decode(math.Float64bits(r)))
	}
}
