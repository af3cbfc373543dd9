package nest

import "slices"

// Class is what a copy is, by how its elements lie in the destination (dst) and the source (src): the
// word of verdicts, traces and benchmarks, for every device.
type Class uint8

// The classes.
const (
	Dense     Class = iota // one run without gaps on both sides
	Rows                   // rows without gaps on both sides
	Transpose              // without gaps along different axes, both long
	Shuffle                // the same, of short axes
	Reversed               // src's rows run backwards
	Strided                // src's rows have gaps
	Broadcast              // src repeats elements
	General                // anything else
)

var classNames = [...]string{"dense", "rows", "transpose", "shuffle", "reversed", "strided", "broadcast", "general"}

func (c Class) String() string { return classNames[c] }

// longSide is the extent from which an axis of a transposition counts as long.
const longSide = 24

// ClassOf returns the class of a copy. Neighbours are dst and src apart.
func ClassOf(axes []Axis, dst, src int64) Class {
	last := len(axes) - 1
	if last < 0 || axes[0].N == 0 {
		return Dense
	}
	in, near := axes[last], NearOf(axes, dst, src).Nearest
	switch {
	case slices.ContainsFunc(axes, func(a Axis) bool { return a.S == 0 }):
		return Broadcast
	case in.D != dst || near < last && Magnitude(axes[near].S) != src:
		return General
	case near < last && min(in.N, axes[near].N) >= longSide:
		return Transpose
	case near < last:
		return Shuffle
	case in.S == -src:
		return Reversed
	case in.S != src:
		return Strided
	case last == 0:
		return Dense
	}
	return Rows
}
