package cases

import (
	"cmp"
	"slices"

	"github.com/restride/restride/device/oracle"
	"github.com/restride/restride/layout"
)

// Touched is the least traffic of memory, in sectors of so many bytes: an element that
// is read often counts once, and gaps smaller than a sector count. The source of a take
// counts per index, but no more often than it has elements; a and b of a where count as if
// all of them were read, and the table of a map does not count.
func Touched(o oracle.Case, sector int64) (read, written int64) {
	if o.Dst.Count() == 0 {
		return 0, 0
	}
	if o.Op == oracle.OpPut { // a take whose sides are exchanged
		o.Op, o.Dst, o.Src = oracle.OpTake, o.Src, o.Dst
		written, read = Touched(o, sector)
		indices := touched(steps(o.At), o.AtType, sector)
		return read + indices, written - indices
	}
	written = touched(steps(o.Dst), o.DstType, sector)
	switch o.Op {
	case oracle.OpFill:
		return 0, written
	case oracle.OpTake:
		return touched(steps(o.At), o.AtType, sector) + touchedTable(o, sector), written
	case oracle.OpWhere:
		read = touched(steps(o.Cond), layout.Bool, sector) + touched(steps(o.B), o.DstType, sector)
	}
	return read + touched(steps(o.Src), o.SrcType, sector), written
}

func touchedTable(o oracle.Case, sector int64) int64 {
	var each []step // the axes that share an index
	indices := int64(1)
	for i := range o.At.Rank() {
		if o.At.Stride(i) == 0 {
			each = append(each, step{o.Src.Dim(i), o.Src.Stride(i)})
		} else {
			indices *= o.At.Dim(i)
		}
	}
	all := append(steps(o.Src), step{o.By[0].Extent, o.By[0].Stride})
	return min(indices*touched(each, o.SrcType, sector), touched(all, o.SrcType, sector))
}

// step is an axis: its extent and its stride.
type step struct{ n, stride int64 }

func steps(l layout.Layout) []step {
	all := make([]step, l.Rank())
	for i := range all {
		all[i] = step{l.Dim(i), l.Stride(i)}
	}
	return all
}

// touched is the bytes of the sectors in which elements lie, if the first lies at the
// start of one.
func touched(axes []step, t layout.DType, sector int64) int64 {
	bits := int64(t.Bits())
	run, runs := bits, int64(1) // bits that are fetched in one piece, and how many pieces
	for _, axis := range byStride(axes) {
		if runs == 1 && axis.stride*bits-run < sector*8 {
			run = (axis.n-1)*axis.stride*bits + run
		} else {
			runs *= axis.n
		}
	}
	sectors := (run + sector*8 - 1) / (sector * 8)
	return runs * sectors * sector
}

// byStride returns the axes along which elements differ, the narrowest first.
func byStride(axes []step) []step {
	var all []step
	for _, a := range axes {
		if a.n > 1 && a.stride != 0 {
			all = append(all, step{a.n, max(a.stride, -a.stride)})
		}
	}
	slices.SortStableFunc(all, func(a, b step) int { return cmp.Compare(a.stride, b.stride) })
	return all
}

// Reaches reports whether a layout has an element at a position. Each stride has to be
// larger than the span of narrower axes, as in slices of tensors.
func Reaches(l layout.Layout, position int64) bool {
	low, _, ok := l.Extent()
	if !ok {
		return false
	}
	if position -= low; position < 0 {
		return false
	}
	for _, axis := range slices.Backward(byStride(steps(l))) {
		position -= min(position/axis.stride, axis.n-1) * axis.stride
	}
	return position == 0
}
