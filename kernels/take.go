package kernels

import (
	"encoding/binary"

	"github.com/restride/restride/layout"
)

// Takes: copies whose positions in src depend on indices in memory.

const (
	Taking Class = "take" // of whatever layouts
	Take   Form  = "take" // an element, or a word of narrow ones, per item
)

// takeSpecs lists the kernels of takes.
func takeSpecs() []Spec {
	var all []Spec
	for _, serial := range []bool{false, true} {
		for _, bits := range []uint8{2, 4, 8, 16, 32, 64, 128} {
			for _, at := range []uint8{32, 64} {
				all = append(all, Spec{Form: Take, DstBits: bits, SrcBits: bits, AtBits: at, Serial: serial})
			}
		}
	}
	return all
}

// PlanTake plans a take between layouts of one shape: of elements of 2 to 128
// bits, by indices of 32 or 64.
func PlanTake(dst, src, at layout.Layout, by []layout.Index, bits, atBits int, t Target) (Launch, error) {
	p := problem{op: "Take", target: t}
	d, s, a := layout.SimplifyIndexed(dst, src, at)
	d, s, a, wide := layout.WidenIndexed(d, s, a, by, bits, 128)
	per := int64(wide / bits)
	p.dBits, p.sBits = wide, wide
	p.take(d, s, dst.Offset(), src.Offset(), per)
	p.launch.Class = Taking
	p.launch.Spec.AtBits = uint8(atBits)
	p.launch.a = a.Offset() - at.Offset()

	// The same work, with at instead of src: it is cut in the same way.
	q := problem{target: t, dBits: wide, dBase: p.dBase}
	for i := range d.Rank() {
		q.axes = append(q.axes, axis{d.Dim(i), d.Stride(i), a.Stride(i)})
	}
	var indices parameters
	l, err := p.plan(func(k *parameters) (Form, error) {
		if err := q.planTake(&indices); err != nil {
			return "", err
		}
		err := p.planTake(k)
		k.na, k.sa = uint32(len(by)), indices.s
		return Take, err
	})
	if err == nil && l.Groups > 0 {
		l.Params = append(l.Params, indices.encode()[headerBytes:]...)
		for _, x := range by {
			for _, v := range []int64{x.Offset, x.Extent, x.Stride / per, 0} {
				l.Params = binary.LittleEndian.AppendUint64(l.Params, uint64(v))
			}
		}
	}
	return l, err
}

func (p *problem) planTake(k *parameters) error {
	if p.dBits < 8 {
		return p.planWords(k, len(p.axes), 1)
	}
	err := p.planElements(k)
	p.launch.Spec.Wide = false // positions have 64 bits
	return err
}

// AtBase returns a take's argument aBase for indices with this offset. The
// launch fits all others, too.
func (l *Launch) AtBase(at int64) int64 { return at + l.a }

// takeKey is what the launch of a take depends on.
type takeKey struct {
	bits, atBits uint8
	dOff, sOff   uint8 // modulo 64
	rank, n      uint8
	axes         [keyRank]axis
	at           [keyRank]int64
	by           [keyRank]layout.Index
}

// Take returns the launch for a take (see PlanTake).
func (c *Cache[T]) Take(dst, src, at *layout.Layout, by []layout.Index, bits, atBits int) (*Entry[T], error) {
	rank := dst.Rank()
	if rank > keyRank || len(by) > keyRank {
		e, err := c.planTake(dst, src, at, by, bits, atBits)
		c.forget(c.odd)
		c.odd = e
		return e, err
	}
	k := takeKey{
		bits: uint8(bits), atBits: uint8(atBits), rank: uint8(rank), n: uint8(len(by)),
		dOff: uint8(dst.Offset() % 64), sOff: uint8(src.Offset() % 64),
	}
	for i := range rank {
		k.axes[i], k.at[i] = axis{dst.Dim(i), dst.Stride(i), src.Stride(i)}, at.Stride(i)
	}
	copy(k.by[:], by)
	if e := c.takes[k]; e != nil {
		return e, nil
	}
	e, err := c.planTake(dst, src, at, by, bits, atBits)
	if err != nil {
		return nil, err
	}
	c.makeRoom()
	if c.takes == nil {
		c.takes = map[takeKey]*Entry[T]{}
	}
	c.takes[k] = e
	return e, nil
}

func (c *Cache[T]) planTake(dst, src, at *layout.Layout, by []layout.Index, bits, atBits int) (*Entry[T], error) {
	l, err := PlanTake(*dst, *src, *at, by, bits, atBits, c.target)
	if err != nil {
		return nil, err
	}
	return c.entry(l)
}
