package device

import (
	"slices"
	"strconv"

	"github.com/restride/restride/layout"
)

// MaxIndices is the most indices that Queue.Take and Queue.Put add up; more are ErrUnsupported.
const MaxIndices = 32

// Reduction says how Queue.Put combines an element of dst with what is put there.
type Reduction uint8

// The reductions. Integers wrap around; floats are rounded to the nearest, ties to even. For
// Bool, whose true is 1, ReduceAdd and ReduceMax are or, and ReduceMul and ReduceMin are and. If
// an operand is NaN, the result is the positive quiet NaN; -0 is less than 0.
const (
	ReduceSet Reduction = iota // the element is replaced
	ReduceAdd
	ReduceMul
	ReduceMin
	ReduceMax
)

// reductions are the names that String returns.
var reductions = [...]string{"set", "add", "mul", "min", "max"}

// Reduces reports whether elements of a type can be reduced: bool, integers, bfloat16, and floats
// of 16, 32 and 64 bits.
func Reduces(t layout.DType) bool {
	switch t {
	case layout.Bool, layout.Int2, layout.Int4, layout.Int8, layout.Int16, layout.Int32, layout.Int64,
		layout.Uint2, layout.Uint4, layout.Uint8, layout.Uint16, layout.Uint32, layout.Uint64,
		layout.Float16, layout.BFloat16, layout.Float32, layout.Float64:
		return true
	}
	return false
}

func (r Reduction) String() string {
	if r.Valid() {
		return reductions[r]
	}
	return "Reduction(" + strconv.Itoa(int(r)) + ")"
}

// Valid reports whether r is one of the constants.
func (r Reduction) Valid() bool { return int(r) < len(reductions) }

// ParseReduction returns the reduction with a name, as String gives it.
func ParseReduction(name string) (Reduction, error) {
	if i := slices.Index(reductions[:], name); i >= 0 {
		return Reduction(i), nil
	}
	return 0, layout.Errorf(ErrInvalid, "ParseReduction", "%q is none of %v", name, reductions)
}
