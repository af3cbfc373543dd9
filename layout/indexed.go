package layout

import "strconv"

// Index is one term of a position that depends on memory: an index, read from memory, times a
// stride. A take or a put (see device.Queue) adds it to positions of a layout.
type Index struct {
	// Offset is where the index is read: the number of elements after the position in the layout
	// that all indices of a take share.
	Offset int64
	// Extent is the number of valid indices. -Extent to -1 count from the end; other indices
	// outside [0, Extent) are out of range: see OutOfRange.
	Extent int64
	// Stride is the distance between consecutive elements.
	Stride int64
	// OutOfRange is the policy for an index that is out of range.
	OutOfRange OutOfRange
}

// OutOfRange is the policy for an index that is out of range.
type OutOfRange uint8

// The policies. Indices from -Extent to -1 are in range, except with OutOfRangeClampZero and
// OutOfRangeStrict. With extent 0, all indices are out of range and there is no nearest one: that
// is an error, except with OutOfRangeSkip.
const (
	OutOfRangeError     OutOfRange = iota // no element is moved; an error
	OutOfRangeSkip                        // no element is moved
	OutOfRangeClamp                       // replaced by the nearest index in range: 0 or Extent-1
	OutOfRangeClampZero                   // the same, but 0 replaces negative indices
	OutOfRangeStrict                      // as OutOfRangeError, but negative indices are out of range
)

// policies are the names that String returns.
var policies = [...]string{"error", "skip", "clamp", "clampzero", "strict"}

func (o OutOfRange) String() string {
	if o.Valid() {
		return policies[o]
	}
	return "OutOfRange(" + strconv.Itoa(int(o)) + ")"
}

// Valid reports whether o is one of the constants.
func (o OutOfRange) Valid() bool { return int(o) < len(policies) }

// Fails reports whether an index out of range is an error.
func (o OutOfRange) Fails() bool { return o == OutOfRangeError || o == OutOfRangeStrict }

// Resolve returns the element number, from 0, that an index selects; false if none.
func (x *Index) Resolve(index int64) (int64, bool) {
	i := index
	if i < 0 && x.OutOfRange < OutOfRangeClampZero {
		i += x.Extent
	}
	switch {
	case uint64(i) < uint64(x.Extent):
		return i, true
	case x.OutOfRange.Fails(), x.OutOfRange == OutOfRangeSkip:
		return 0, false
	case i < 0:
		return 0, true
	}
	return x.Extent - 1, true
}
