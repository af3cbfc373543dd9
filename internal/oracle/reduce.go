package oracle

import (
	"math"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/layout"
)

// Reduce sets element p of dst to its reduction with element q of src.
func Reduce(dst []byte, p int64, src []byte, q int64, t layout.DType, how device.Reduction) {
	if how == device.ReduceSet {
		move(dst, p, src, q, t.Bits())
		return
	}
	bits := reduced(dst, p, src, q, t, how)
	for i := range int64(t.Bits()) {
		setBit(dst, p*int64(t.Bits())+i, bits>>i&1 == 1)
	}
}

func reduced(dst []byte, p int64, src []byte, q int64, t layout.DType, how device.Reduction) uint64 {
	switch numeric.KindOf(t) {
	case numeric.FloatKind:
		return reducedFloats(dst, p, src, q, t, how)
	case numeric.BoolKind:
		a, b := numeric.Uint(t, dst, p) != 0, numeric.Uint(t, src, q) != 0
		if (how == device.ReduceAdd || how == device.ReduceMax) && (a || b) || a && b {
			return 1
		}
		return 0
	case numeric.IntKind:
		a, b := numeric.Int(t, dst, p), numeric.Int(t, src, q)
		return uint64([]int64{device.ReduceAdd: a + b, device.ReduceMul: a * b, device.ReduceMin: min(a, b), device.ReduceMax: max(a, b)}[how])
	}
	a, b := numeric.Uint(t, dst, p), numeric.Uint(t, src, q)
	return []uint64{device.ReduceAdd: a + b, device.ReduceMul: a * b, device.ReduceMin: min(a, b), device.ReduceMax: max(a, b)}[how]
}

func reducedFloats(dst []byte, p int64, src []byte, q int64, t layout.DType, how device.Reduction) uint64 {
	a, b := numeric.Float(t, dst, p), numeric.Float(t, src, q)
	r := []float64{device.ReduceAdd: a + b, device.ReduceMul: a * b, device.ReduceMin: math.Min(a, b), device.ReduceMax: math.Max(a, b)}[how]
	switch {
	case math.IsNaN(r) || math.IsNaN(a) || math.IsNaN(b): // math returns the infinity for a minimum with NaN
		return encodeNaN(t, false, device.Rounding{})
	case t == layout.Float64:
		return math.Float64bits(r)
	case t == layout.Float32:
		return uint64(math.Float32bits(float32(r)))
	}
	return encode(t, number{negative: math.Signbit(r), real: math.Abs(r)}, device.Rounding{Unsaturated: true})
}
