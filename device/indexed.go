package device

import (
	"slices"
	"strconv"

	"github.com/restride/restride/layout"
)

// Index is one of the indices of Queue.Take and Queue.Put.
type Index = layout.Index

// Outside says what an index out of range does.
type Outside = layout.Outside

// What an index out of range does: see Queue.Take.
const (
	OutsideError     = layout.OutsideError
	OutsideSkip      = layout.OutsideSkip
	OutsideClamp     = layout.OutsideClamp
	OutsideClampZero = layout.OutsideClampZero
)

// MostIndices is how many indices Queue.Take and Queue.Put add up at the most; more are
// ErrUnsupported.
const MostIndices = 32

// Reduction says what Queue.Put makes of an element of dst and what goes there.
type Reduction uint8

// Set replaces the element.
const Set Reduction = iota

// reductions are the names.
var reductions = [...]string{"set"}

func (r Reduction) String() string {
	if r.Valid() {
		return reductions[r]
	}
	return "Reduction(" + strconv.Itoa(int(r)) + ")"
}

// Valid reports whether it is one of the constants.
func (r Reduction) Valid() bool { return int(r) < len(reductions) }

// ParseReduction returns the one of a name, as String gives it.
func ParseReduction(name string) (Reduction, error) {
	if i := slices.Index(reductions[:], name); i >= 0 {
		return Reduction(i), nil
	}
	return 0, layout.Errorf(ErrInvalid, "ParseReduction", "%q is none of %v", name, reductions)
}
