package layout

// Class is what a copy is, by where its elements lie in the destination (dst) and the
// source (src): the words of kernels' names, plans and benchmarks. ClassOf is how plans
// for GPUs use them; the cpu device draws the lines where its own kernels begin: rows with gaps in dst are
// strided there, too.
type Class uint8

// The classes.
const (
	ClassDense     Class = iota // one run without gaps on both sides
	ClassRows                   // rows without gaps on both sides
	ClassTranspose              // without gaps along different axes, both long
	ClassShuffle                // the same, of short axes
	ClassReversed               // src's rows run backwards
	ClassStrided                // src's rows have gaps
	ClassBroadcast              // src repeats elements
	ClassGeneral                // anything else
)

var classNames = [...]string{"dense", "rows", "transpose", "shuffle", "reversed", "strided", "broadcast", "general"}

func (c Class) String() string { return classNames[c] }

// LongSide is the extent from which an axis of a transposition counts as long.
const LongSide = 24

// ClassOf returns the class of a copy that [Simplify] has rewritten.
func ClassOf(dst, src *Layout) Class {
	d, s := dst.axes(), src.axes()
	last := len(d) - 1
	if last < 0 || d[0].dim == 0 {
		return ClassDense
	}
	// Along which axis src's elements are nearest to each other.
	near := last
	for i := last; i >= 0; i-- {
		if s[i].stride == 0 {
			return ClassBroadcast
		}
		if magnitude(s[i].stride) < magnitude(s[near].stride) {
			near = i
		}
	}
	switch {
	case d[last].stride != 1 || near < last && magnitude(s[near].stride) != 1:
		return ClassGeneral
	case near < last && min(d[last].dim, d[near].dim) >= LongSide:
		return ClassTranspose
	case near < last:
		return ClassShuffle
	case s[last].stride == -1:
		return ClassReversed
	case s[last].stride != 1:
		return ClassStrided
	case last == 0:
		return ClassDense
	}
	return ClassRows
}
