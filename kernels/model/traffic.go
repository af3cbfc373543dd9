package main

import (
	"github.com/restride/restride/internal/bench/cases"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/internal/ptx"
	"github.com/restride/restride/layout"
)

// traffic is the cause of a block's memory traffic beyond the least.
type traffic struct {
	distinct float64 // distinct sectors that it reads
	lines    float64 // with rows that indices find
	halves   float64 // of 64 bytes, which are fetched with the other halves: see half
	merged   float64 // read because a part of them is written
	broken   float64 // sectors that memory gets in parts: see shared
}

func (t *traffic) add(other *traffic, part float64) {
	t.distinct += part * other.distinct
	t.lines += part * other.lines
	t.halves += part * other.halves
	t.merged += part * other.merged
	t.broken += part * other.broken
}

// Memory is read by 64 bytes, two sectors. If a block reads only one of them, the other costs
// as much as if it were read, too. If the previous or the next block reads it, the cost is less
// by this factor.
const half = .5

// A sector that several blocks write in part reaches memory in parts, if these come more than a
// microsecond or two apart, and is read in between, for error-correcting codes. For each of
// these blocks this applies to this share of the sectors that it shares.
const shared = .3

// observer knows the operands, and the previous block.
type observer struct {
	dst     layout.Layout
	bits    int64
	indexed bool // rows are found by indices
	put     bool // and written
	number  uint32
	read    map[uint64]struct{}
	near    float64 // sectors whose other halves a block's neighbours read
}

// observe takes a case. The layout of a put gets the axes along which its indices find rows.
func observe(o oracle.Case) (*observer, error) {
	b := &observer{dst: o.Dst, bits: int64(o.DstType.Bits()), indexed: len(o.By) > 0, put: o.Op == oracle.OpPut}
	if !b.put {
		return b, nil
	}
	dims, strides := o.Dst.Shape(), o.Dst.Strides()
	for _, x := range o.By {
		dims, strides = append(dims, x.Extent), append(strides, x.Stride)
	}
	var err error
	b.dst, err = layout.Strided(dims, strides, o.Dst.Offset())
	return b, err
}

// traffic adds a block to the memory traffic.
func (o *observer) traffic(b *ptx.Block, number uint32) *traffic {
	t := &traffic{distinct: float64(len(b.Read))}
	switch {
	case o.put:
		t.lines = lines(b.Written)
	case o.indexed:
		t.lines = lines(b.Read)
	default:
		t.halves = o.halves(b, number)
	}
	for s, w := range b.Written {
		o.written(b, s, w, t)
	}
	return t
}

// lines counts the lines of src or dst that contain sectors.
func lines[T any](sectors map[uint64]T) float64 {
	all := map[uint64]struct{}{}
	for s := range sectors {
		if s*ptx.Sector < ptx.SampleAt {
			all[s*ptx.Sector/ptx.Line] = struct{}{}
		}
	}
	return float64(len(all))
}

// halves counts sectors that a block reads without the other half of their 64 bytes.
func (o *observer) halves(b *ptx.Block, number uint32) float64 {
	n, follows := 0., o.read != nil && number == o.number+1
	for s := range b.Read {
		if _, ok := b.Read[s^1]; ok || s*ptx.Sector >= ptx.SampleAt {
			continue
		}
		n++
		if _, ok := o.read[s^1]; ok && follows {
			o.near += 2 // there is a next block, too
		}
	}
	o.number, o.read = number, b.Read
	return n
}

// written counts a sector of dst that a block writes in part, or completes late.
func (o *observer) written(b *ptx.Block, s uint64, w ptx.Write, t *traffic) {
	switch {
	case w.Bytes == 1<<32-1:
		if w.Late {
			t.broken++
		}
	case o.others(s, w):
		t.broken += shared
	default:
		t.merged++
		if beside(b, s) {
			t.broken++
		}
	}
}

// others reports whether other blocks write bytes of a sector, too.
func (o *observer) others(s uint64, w ptx.Write) bool {
	for i := range int64(ptx.Sector) {
		at := int64(s)*ptx.Sector + i - ptx.SampleDst
		if w.Bytes>>i&1 == 0 && at >= 0 && cases.Reaches(o.dst, at*8/o.bits) {
			return true
		}
	}
	return false
}

// beside reports whether a block writes another sector of a line as a whole: parts of
// contiguous sectors are merged immediately.
func beside(b *ptx.Block, s uint64) bool {
	const sectors = ptx.Line / ptx.Sector
	for x := s / sectors * sectors; x < (s/sectors+1)*sectors; x++ {
		if b.Written[x].Bytes == 1<<32-1 {
			return true
		}
	}
	return false
}
