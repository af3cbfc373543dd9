package cases

import (
	"cmp"
	"math"
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/layout"
)

// Touched is the least traffic of memory, in sectors of the given size: an element that is read
// often counts once, and gaps smaller than a sector count. The source of a take counts per
// index, but no more often than it has elements; a and b of a where count in full, and the
// table of a map does not count.
//
// A sector that is written in part is also read: memory with error correction, like GPUs', and
// processors' caches merge the new bytes into it. This applies to the sectors of dst where a
// run of elements begins or ends within a sector; the two ends of a dense whole do not count. A
// put that reduces reads all of its destination.
func Touched(o oracle.Case, sector int64) (read, written int64) {
	if o.Dst.Count() == 0 {
		return 0, 0
	}
	if o.Op == oracle.OpPut {
		return touchedPut(o, sector)
	}
	written = touched(steps(o.Dst), o.DstType, sector)
	read = runsOf(steps(o.Dst), o.DstType, sector).merged(sector, written)
	switch o.Op {
	case oracle.OpFill:
		return read, written
	case oracle.OpTake:
		return read + touched(steps(o.At), o.AtType, sector) + touchedTable(o, o.Src, sector), written
	case oracle.OpWhere:
		read += touched(steps(o.Cond), layout.Bool, sector) + touched(steps(o.B), o.DstType, sector)
	}
	read += touched(steps(o.Src), o.SrcType, sector)
	for _, t := range []oracle.Term{o.Terms.Scale, o.Terms.Zero, o.Terms.Add} {
		if t.Type != layout.Invalid {
			read += touched(steps(t.Layout), t.Type, sector)
		}
	}
	return read, written
}

func touchedPut(o oracle.Case, sector int64) (read, written int64) {
	written = touchedTable(o, o.Dst, sector)
	merged := written
	if o.Reduction == device.ReduceSet {
		each, indices := shared(o, o.Dst)
		rows := runsOf(each, o.DstType, sector)
		rows.n, rows.gap = rows.n*indices, math.MaxInt64 // adjacent rows are written at other times
		rows.aligned = gcd(rows.aligned, o.By[0].Stride*int64(o.DstType.Bits()))
		merged = rows.merged(sector, written)
	}
	return merged + touched(steps(o.At), o.AtType, sector) + touched(steps(o.Src), o.SrcType, sector), written
}

// touchedTable is the touched bytes of the indexed side of a take or a put.
func touchedTable(o oracle.Case, table layout.Layout, sector int64) int64 {
	each, indices := shared(o, table)
	all := append(steps(table), step{o.By[0].Extent, o.By[0].Stride})
	return min(indices*touched(each, o.DstType, sector), touched(all, o.DstType, sector))
}

// shared returns the axes of a table that share an index, and how many indices there are.
func shared(o oracle.Case, table layout.Layout) (each []step, indices int64) {
	indices = 1
	for i := range o.At.Rank() {
		if o.At.Stride(i) == 0 {
			each = append(each, step{table.Dim(i), table.Stride(i)})
		} else {
			indices *= o.At.Dim(i)
		}
	}
	return each, indices
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

// touched is the size of the sectors in which elements lie, if the first lies at the start of
// one.
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

// runs are n runs of contiguous elements, of the given number of bits, with gaps in between.
// Their starts are aligned to a number of bits, at most a sector's.
type runs struct{ n, bits, gap, aligned int64 }

func runsOf(axes []step, t layout.DType, sector int64) runs {
	bits := int64(t.Bits())
	r := runs{n: 1, bits: bits, aligned: sector * 8}
	for _, axis := range byStride(axes) {
		stride := axis.stride * bits
		switch {
		case r.n == 1 && stride <= r.bits:
			r.bits += (axis.n - 1) * stride
			continue
		case r.n == 1:
			r.gap = stride - r.bits
		}
		r.n, r.aligned = r.n*axis.n, gcd(r.aligned, stride)
	}
	return r
}

// merged is the size of the touched sectors that runs fill in part. Runs start at each multiple
// of their alignment within a sector equally often.
func (r runs) merged(sector, touched int64) int64 {
	if r.n == 1 {
		return 0
	}
	bits := sector * 8
	ends := bits // a sector at each end that is not at a border
	if r.bits%r.aligned == 0 {
		ends -= r.aligned
	}
	ends += bits - r.aligned
	if r.gap < bits { // adjacent ends may share one
		ends = min(ends, bits+(r.gap-1)/r.aligned*r.aligned)
	}
	return min(r.n*ends/8, touched)
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return max(a, -a)
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

// Nests reports whether each stride of a layout is larger than the span of narrower axes, as
// in slices of tensors.
func Nests(l layout.Layout) bool {
	span := int64(0)
	for _, axis := range byStride(steps(l)) {
		if axis.stride <= span {
			return false
		}
		span += (axis.n - 1) * axis.stride
	}
	return true
}

// Reaches reports whether a layout that [Nests] has an element at a position.
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
