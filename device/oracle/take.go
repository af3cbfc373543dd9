package oracle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// Take calls move for each element that is taken: with its positions in dst, whose
// layout is d, and in src. at holds the indices, of type t, at a. It returns the
// indices that are out of range: their elements are not taken.
func Take(d, s, a layout.Layout, at []byte, t layout.DType, by []device.Index, move func(p, q int64)) (wrong []int64) {
	number := int64(0)
	walk(d, s, func(p, q int64) {
		position := a.At(index(d, number)...)
		number++
		ok := true
		for _, x := range by {
			i := readIndex(at, t, position+x.Offset)
			if i < -x.Extent || i >= x.Extent {
				wrong = append(wrong, i)
				ok = false
				continue
			}
			if i < 0 {
				i += x.Extent
			}
			q += i * x.Stride
		}
		if ok {
			move(p, q)
		}
	})
	return wrong
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

// indexed reports whether a take's indices can be walked.
func (c Case) indexed() bool {
	if len(c.By) == 0 || c.AtType != layout.Int32 && c.AtType != layout.Int64 || !c.Dst.SameShape(&c.At) {
		return false
	}
	for _, x := range c.By {
		if x.Extent <= 0 {
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
	_, _, ok := layout.Reach(&c.Src, c.By)
	return ok
}

// take is Take for a case.
func (c Case) take(at []byte, move func(p, q int64)) (wrong []int64) {
	return Take(c.Dst, c.Src, c.At, at, c.AtType, c.By, move)
}

// Sizes returns how many bytes dst and src need, and what else is read: a take's
// indices, a map's table, a where's condition. They count from the starts of their
// buffers, wherever indices lead; strings count themselves. A fill needs no src.
// 1<<40 and more: beyond any buffer.
func (c Case) Sizes() (dst, src, at int64) {
	dst = slots(c.Dst, c.DstType)
	switch c.Op {
	case OpFill:
		return dst, 0, 0
	case OpMap:
		return dst, slots(c.Src, c.SrcType), c.tableSize()
	case OpWhere:
		return dst, slots(c.Src, c.SrcType), slots(c.Cond, layout.Bool)
	case OpTake:
	default:
		return dst, slots(c.Src, c.SrcType), 0
	}
	reach, last := int64(0), int64(0)
	for _, x := range c.By {
		if x.Stride > 0 && c.Dst.Count() > 0 {
			reach += x.Stride * (x.Extent - 1)
		}
		last = max(last, x.Offset)
	}
	return dst, slotsFrom(c.Src, reach, c.SrcType), slotsFrom(c.At, last, c.AtType)
}

// slotsFrom is slots for a layout that lies further by so many positions.
func slotsFrom(l layout.Layout, further int64, t layout.DType) int64 {
	moved, err := l.Rebase(l.Offset() + further)
	if err != nil {
		return 1 << 40
	}
	return slots(moved, t)
}

// checkNamed checks that an error names one of the indices out of range, or is none where
// there are none.
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
	// Indices of several components may have one position: in range for all.
	least := map[int64]int64{}
	for _, p := range all {
		for _, x := range c.By {
			if e, ok := least[p+x.Offset]; !ok || x.Extent < e {
				least[p+x.Offset] = x.Extent
			}
		}
	}
	positions := make([]int64, 0, len(least))
	for p := range least {
		positions = append(positions, p)
	}
	slices.Sort(positions)
	for _, p := range positions {
		writeIndex(at[:size/unit*unit], c.AtType, p, rng.Int64N(2*least[p])-least[p])
	}
	for range c.Wrong {
		if len(all) == 0 {
			break
		}
		x := c.By[rng.IntN(len(c.By))]
		bad := []int64{x.Extent, -x.Extent - 1, 1<<31 - 1, -1 << 31, x.Extent + 1000}
		if c.AtType == layout.Int64 {
			bad = append(bad, 1<<63-1, -1<<63, 1<<32, -1<<32)
		}
		writeIndex(at, c.AtType, all[rng.IntN(len(all))]+x.Offset, bad[rng.IntN(len(bad))])
	}
}
