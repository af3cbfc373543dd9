package oracle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/indexing"
	"github.com/restride/restride/layout"
)

// Take calls move for each element that is taken: with its positions in dst, whose
// layout is d, and in src. at holds the indices, of type t, at a. It returns the
// indices that are out of range: their elements are not taken.
func Take(d, s, a layout.Layout, at []byte, t layout.DType, by []layout.Index, move func(p, q int64)) (wrong []int64) {
	return indexed(d, s, a, at, t, by, func(p, q, by int64) { move(p, q+by) })
}

// Put is Take for a put: the indices move positions in dst. The elements come in
// row-major order.
func Put(d, s, a layout.Layout, at []byte, t layout.DType, by []layout.Index, move func(p, q int64)) (wrong []int64) {
	return indexed(d, s, a, at, t, by, func(p, q, by int64) { move(p+by, q) })
}

// indexed walks two layouts in row-major order, with what the indices add.
func indexed(d, s, a layout.Layout, at []byte, t layout.DType, by []layout.Index, visit func(p, q, by int64)) (wrong []int64) {
	if indexing.LeadNowhere(by) {
		return nil
	}
	number := int64(0)
	walk(d, s, func(p, q int64) {
		position := a.At(index(d, number)...)
		number++
		sum, ok := int64(0), true
		for _, x := range by {
			i := readIndex(at, t, position+x.Offset)
			n, found := element(i, x)
			if !found && x.OutOfRange.Fails() {
				wrong = append(wrong, i)
			}
			ok = ok && found
			sum += n * x.Stride
		}
		if ok {
			visit(p, q, sum)
		}
	})
	return wrong
}

// element returns which element an index means; false: none.
func element(i int64, x layout.Index) (int64, bool) {
	inRange := i >= -x.Extent && i < x.Extent
	switch x.OutOfRange {
	case layout.OutOfRangeClampZero:
		return max(0, min(i, x.Extent-1)), true
	case layout.OutOfRangeClamp:
		i = max(-x.Extent, min(i, x.Extent-1))
		inRange = true
	case layout.OutOfRangeStrict:
		inRange = i >= 0 && i < x.Extent
	}
	switch {
	case !inRange:
		return 0, false
	case i < 0:
		return i + x.Extent, true
	}
	return i, true
}

func readIndex(at []byte, t layout.DType, position int64) int64 {
	if t == layout.Int32 {
		return int64(int32(binary.LittleEndian.Uint32(at[4*position:])))
	}
	return int64(binary.LittleEndian.Uint64(at[8*position:]))
}

func writeIndex(at []byte, t layout.DType, position, value int64) {
	if t == layout.Int32 {
		binary.LittleEndian.PutUint32(at[4*position:], uint32(value))
	} else {
		binary.LittleEndian.PutUint64(at[8*position:], uint64(value))
	}
}

// hasIndices reports whether a case is a take or a put.
func (c Case) hasIndices() bool { return c.Op == OpTake || c.Op == OpPut }

// walkableIndices reports whether the indices can be walked.
func (c Case) walkableIndices() bool {
	if len(c.By) == 0 || c.AtType != layout.Int32 && c.AtType != layout.Int64 || !c.Dst.SameShape(&c.At) {
		return false
	}
	for _, x := range c.By {
		if x.Extent < 0 || x.Extent == 0 && x.OutOfRange != layout.OutOfRangeSkip || c.Once && x.OutOfRange != layout.OutOfRangeSkip {
			return false
		}
	}
	if c.Dst.Count() == 0 {
		return true
	}
	first, _, _ := c.At.Extent()
	for _, x := range c.By {
		if x.Offset < -first {
			return false
		}
	}
	moved := c.moved()
	_, _, ok := indexing.Reach(moved, c.By)
	return ok || indexing.LeadNowhere(c.By)
}

// moved is the layout that indices move.
func (c *Case) moved() *layout.Layout {
	if c.Op == OpPut {
		return &c.Dst
	}
	return &c.Src
}

// byIndices is Take or Put for a case.
func (c Case) byIndices(at []byte, move func(p, q int64)) (wrong []int64) {
	if c.Op == OpPut {
		return Put(c.Dst, c.Src, c.At, at, c.AtType, c.By, move)
	}
	return Take(c.Dst, c.Src, c.At, at, c.AtType, c.By, move)
}

// Sizes returns the numbers of bytes that dst and src need, and the third operand: the indices
// of a take or a put, a map's table, a where's condition. They count from the starts of their
// buffers, for all valid indices; strings count themselves. A fill needs no src. 1<<40 and
// more: beyond any buffer.
func (c Case) Sizes() (dst, src, at int64) {
	dst = slots(c.Dst, c.DstType)
	switch c.Op {
	case OpFill:
		return dst, 0, 0
	case OpMap:
		return dst, slots(c.Src, c.SrcType), c.tableSize()
	case OpWhere:
		return dst, slots(c.Src, c.SrcType), slots(c.Cond, layout.Bool)
	}
	src = slots(c.Src, c.SrcType)
	if !c.hasIndices() {
		return dst, src, 0
	}
	reach, last := int64(0), int64(0)
	for _, x := range c.By {
		if x.Stride > 0 && x.Extent > 0 && c.Dst.Count() > 0 {
			reach += x.Stride * (x.Extent - 1)
		}
		last = max(last, x.Offset)
	}
	at = slotsFrom(c.At, last, c.AtType)
	if c.Op == OpPut {
		return slotsFrom(c.Dst, reach, c.DstType), src, at
	}
	return dst, slotsFrom(c.Src, reach, c.SrcType), at
}

// slotsFrom is slots for a layout shifted by the given number of positions.
func slotsFrom(l layout.Layout, further int64, t layout.DType) int64 {
	moved, err := l.Rebase(l.Offset() + further)
	if err != nil {
		return 1 << 40
	}
	return slots(moved, t)
}

// checkNamed checks that an error names one of the indices out of range, or is nil if there are
// none.
func checkNamed(err error, wrong []int64) error {
	switch {
	case len(wrong) == 0:
		return err
	case !errors.Is(err, device.ErrInvalid):
		return fmt.Errorf("%w: the indices %v are out of range, but the error is %v", ErrWrong, wrong, err)
	case !slices.ContainsFunc(wrong, func(i int64) bool { return strings.Contains(err.Error(), fmt.Sprintf("index %d ", i)) }):
		return fmt.Errorf("%w: the indices %v are out of range, but the error names another: %v", ErrWrong, wrong, err)
	}
	return nil
}

// indices fills memory with indices, some of them out of range.
func (c Case) indices(rng *rand.Rand, at []byte) {
	size := int64(len(at))
	unit := int64(c.AtType.Bits() / 8)
	all := make([]int64, 0, c.At.Count())
	walk(c.At, c.At, func(p, _ int64) { all = append(all, p) })
	// Indices of several components may share one position: in range for all.
	least, strict := map[int64]int64{}, map[int64]bool{}
	for _, p := range all {
		for _, x := range c.By {
			if e, ok := least[p+x.Offset]; !ok || x.Extent < e {
				least[p+x.Offset] = x.Extent
			}
			if x.OutOfRange == layout.OutOfRangeStrict {
				strict[p+x.Offset] = true
			}
		}
	}
	positions := make([]int64, 0, len(least))
	for p := range least {
		positions = append(positions, p)
	}
	slices.Sort(positions)
	for _, p := range positions {
		from := -least[p]
		if strict[p] {
			from = 0
		}
		writeIndex(at[:size/unit*unit], c.AtType, p, from+rng.Int64N(max(least[p]-from, 1)))
	}
	for range c.Wrong {
		if len(all) == 0 {
			break
		}
		x := c.By[rng.IntN(len(c.By))]
		bad := []int64{x.Extent, -x.Extent - 1, 1<<31 - 1, -1 << 31, x.Extent + 1000}
		if x.OutOfRange == layout.OutOfRangeStrict {
			bad = append(bad, -1, -x.Extent)
		}
		if c.AtType == layout.Int64 {
			bad = append(bad, 1<<63-1, -1<<63, 1<<32, -1<<32)
		}
		writeIndex(at, c.AtType, all[rng.IntN(len(all))]+x.Offset, bad[rng.IntN(len(bad))])
	}
	if c.Once {
		c.skipRepeats(at)
	}
}

// skipRepeats makes indices out of range whose elements would go to the place of another.
func (c Case) skipRepeats(at []byte) {
	taken := map[int64]bool{}
	walk(c.Dst, c.At, func(p, position int64) {
		for _, x := range c.By {
			i, ok := element(readIndex(at, c.AtType, position+x.Offset), x)
			if !ok {
				return
			}
			p += i * x.Stride
		}
		if taken[p] {
			writeIndex(at, c.AtType, position+c.By[0].Offset, 1<<31-1)
		}
		taken[p] = true
	})
}
