package cpu

import (
	"math"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/layout"
)

// leastPutRow is the size of rows, in bytes, beside which an index is nothing.
const leastPutRow = 512

// rowBytes is the size of the rows that a put moves in one piece, or reduces by one index.
func (t *take) rowBytes() int64 {
	if last := t.rank - 1; t.dense(last) {
		return t.size * t.axes[last].n
	}
	return t.size
}

// putsRows reports whether a put is of long rows, no two of which overlap but where they go
// to the same place.
func (t *take) putsRows() bool {
	size := t.rowBytes()
	if !t.put || t.bits < 8 || t.loose || size < leastPutRow {
		return false
	}
	for i := range t.rank {
		if t.axes[i].d%size != 0 && !(i == t.rank-1 && t.dense(i)) {
			return false
		}
	}
	for k := range t.by {
		if t.by[k].Stride%size != 0 {
			return false
		}
	}
	return true
}

// putClasses puts the rows of the classes [lo, hi), of as many as there are workers: those
// that go to one place are of one class, and come in order.
func (t *take) putClasses(lo, hi int64) {
	last, size, past := t.rank-1, t.rowBytes(), t.past()
	x, long := t.axes[last], t.dense(last)
	for class := lo; class < hi; class++ {
		t.rows(0, t.count, func(p location, n, number int64) {
			if long {
				n = 1
			}
			for i := range n {
				to, ok := t.find(p, number+i)
				place := (to.d - t.origin.d) / size
				switch mine := (place%t.classes+t.classes)%t.classes == class; {
				case !ok || !mine:
				case t.reduce != nil:
					t.reduceRow(p, x.n, number)
				default:
					moveRun(t.dst, to.d, t.src, to.s, size, past)
				}
				p.move(&x, 1)
			}
		})
	}
	if past {
		kernels.Fence()
	}
}

// reduceRow reduces n elements along the innermost axis, one after the other.
func (t *take) reduceRow(p location, n, number int64) {
	x := t.axes[t.rank-1]
	same := x.a == 0 // one index for all
	at, ok := t.find(p, number)
	for i := range n {
		if !same && i > 0 {
			at, ok = t.find(p, number+i)
		}
		if ok {
			storeBits(t.dst, at.d, t.bits, t.reduce(loadBits(t.dst, at.d, t.bits), loadBits(t.src, at.s, t.bits)))
		}
		p.move(&x, 1)
		at.move(&x, 1)
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
		if how == device.Add || how == device.Max {
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
	case device.Add:
		return func(a, b uint64) uint64 { return a + b }
	case device.Mul:
		return func(a, b uint64) uint64 { return a * b }
	}
	return extreme(how, less)
}

// extreme returns the reduction Min or Max.
func extreme(how device.Reduction, less func(a, b uint64) bool) func(a, b uint64) uint64 {
	return func(a, b uint64) uint64 {
		if less(b, a) == (how == device.Min) {
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
	case device.Mul:
		apply = func(x, y float64) float64 { return x * y }
	case device.Min:
		apply = math.Min
	case device.Max:
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
