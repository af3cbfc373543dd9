package layout

import "strconv"

// Index is a step whose count is read from memory: what a take or a put (see
// device.Queue) adds to positions that a layout gives.
type Index struct {
	// Offset is where the index is read: so many elements behind those of the
	// layout that all indices of a take share.
	Offset int64
	// Extent is how many indices there are. Those from -Extent to -1 count from
	// the end; others that are not below Extent are out of range: see OutOfRange.
	Extent int64
	// Stride is how far apart the elements are that follow one another.
	Stride int64
	// OutOfRange is the policy for an index that is out of range.
	OutOfRange OutOfRange
}

// OutOfRange is the policy for an index that is out of range.
type OutOfRange uint8

// The policies. But for OutOfRangeClampZero and OutOfRangeStrict, the indices from -Extent to
// -1 are in range. Of extent 0 none is, and there is no nearest one: but for OutOfRangeSkip,
// that is an error.
const (
	OutOfRangeError     OutOfRange = iota // no element is moved, and it is an error
	OutOfRangeSkip                        // no element is moved
	OutOfRangeClamp                       // the nearest index in range takes its place: 0 or Extent-1
	OutOfRangeClampZero                   // the same, but negative indices do not count from the end: 0 takes their place
	OutOfRangeStrict                      // as OutOfRangeError, but negative indices are out of range, too
)

// policies are the names.
var policies = [...]string{"error", "skip", "clamp", "clampzero", "strict"}

func (o OutOfRange) String() string {
	if o.Valid() {
		return policies[o]
	}
	return "OutOfRange(" + strconv.Itoa(int(o)) + ")"
}

// Valid reports whether it is one of the constants.
func (o OutOfRange) Valid() bool { return int(o) < len(policies) }

// Fails reports whether an index out of range is an error.
func (o OutOfRange) Fails() bool { return o == OutOfRangeError || o == OutOfRangeStrict }

// Resolve returns the number of the element that an index means, from 0 on; false: none.
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
