package adversary

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/fraction"
	"github.com/restride/restride/internal/ndarray"
	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/layout"
)

func init() {
	register(Generator{
		Name:  "casts",
		About: "casts of values at and beside what types have, against exact fractions",
		Try:   tryCast,
	})
}

// tryCast casts a list of values from one number type to another.
func tryCast(t *Trial) error {
	types := numbers()
	from, to := types[t.Rand.IntN(len(types))], types[t.Rand.IntN(len(types))]
	how := device.Rounding{Unsaturated: t.Rand.IntN(2) == 0, Scale: device.RoundDirection(t.Rand.IntN(3)), Legacy: t.Rand.IntN(2) == 0}
	patterns := make([]uint64, 1+t.Rand.IntN(300))
	a := ndarray.Array{Dims: []int64{int64(len(patterns))}}
	for i := range patterns {
		patterns[i] = castEdge(t.Rand, to, from)
		a.Elems = append(a.Elems, string(le(patterns[i], (from.Bits()+7)/8)))
	}
	x, err := a.UploadAs(t.Stream, from, ndarray.Views[t.Rand.IntN(len(ndarray.Views))])
	if err != nil {
		return err
	}
	defer x.Release()
	y, err := x.Cast(to, how)
	if err != nil {
		return fmt.Errorf("cast of %v to %v, %+v: %w", x.DType(), to, how, err)
	}
	defer y.Release()
	got, err := y.Bytes()
	if err != nil {
		return err
	}
	for i, p := range patterns {
		want, have := fraction.Cast(to, from, p, how), numeric.Bits(got, to.Bits(), int64(i))
		if want != have {
			return fmt.Errorf("cast of %v %#x to %v, %+v: element %d of %d is %#x, must be %#x",
				from, p, to, how, i, len(patterns), have, want)
		}
	}
	return nil
}

// numbers returns the types that casts are between.
func numbers() []layout.DType {
	var types []layout.DType
	for _, t := range layout.DTypes() {
		switch numeric.KindOf(t) {
		case numeric.StringKind, numeric.ComplexKind:
		default:
			types = append(types, t)
		}
	}
	return types
}

// castEdge returns bits of type from whose value distinguishes right casts to a type from wrong
// ones: from the device's oracle, or random, or next to the midpoint of two neighbours of the
// type.
func castEdge(rng *rand.Rand, to, from layout.DType) uint64 {
	mask := uint64(math.MaxUint64) >> (64 - from.Bits())
	switch rng.IntN(4) {
	case 0:
		return rng.Uint64() & mask
	case 1:
		return oracle.Edge(rng, to, from)
	}
	low := fraction.Of(to, rng.Uint64()>>rng.IntN(64)&(uint64(math.MaxUint64)>>(64-to.Bits())))
	if low.Exact == nil {
		return rng.Uint64() & mask
	}
	high := low
	if f, isFloat := numeric.FloatFormatOf(to); isFloat {
		high.Exact = fraction.Above(f, low.Exact)
	}
	middle := fraction.Value{Exact: fraction.Half(low.Exact, high.Exact), Negative: low.Negative, Integer: low.Integer}
	return (fraction.Bits(from, middle, device.Rounding{}) + uint64(rng.IntN(3)) - 1) & mask
}
