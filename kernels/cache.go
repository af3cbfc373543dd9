package kernels

import (
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// Cache keeps the launches of a queue by what they were planned for, so that a
// call like an earlier one plans nothing, uploads nothing and allocates nothing.
// It may be used by one goroutine at a time.
type Cache[T any] struct {
	target  Target
	most    int
	upload  func(params []byte) (T, error)
	drop    func(T)
	entries map[key]*Entry[T]
	takes   map[takeKey]*Entry[T]
	recent  [recent]*Entry[T] // some of them, to be found sooner
	odd     *Entry[T]         // the last one of a rank that is not kept
}

// recent is how many entries are looked at before the map is, whose hash of a
// whole key takes longer than all else.
const recent = 64

// Entry is a launch with its parameters on the device.
type Entry[T any] struct {
	Launch
	OnDevice T // none where there is nothing to do
	key      key
}

// NewCache returns an empty cache of at most the given number of launches.
// upload takes parameters to the device; drop is told when they will not be
// used for later work any more.
func NewCache[T any](t Target, most int, upload func(params []byte) (T, error), drop func(T)) *Cache[T] {
	return &Cache[T]{target: t, most: most, upload: upload, drop: drop, entries: map[key]*Entry[T]{}}
}

// key is what a launch depends on.
type key struct {
	job
	axes [keyRank]axis
}

// job is the part of a key beside the axes.
type job struct {
	dBits, sBits uint8      // sBits 0: a fill
	convert      device.Way // but for AsCopy, if it is a conversion
	signed       bool
	to, from     layout.DType    // of a conversion by value,
	how          device.Rounding // and how it rounds
	dOff, sOff   uint8           // modulo 64
	rank         uint8
}

// keyRank is the highest rank that is kept in the cache.
const keyRank = 8

// Copy returns the launch for a copy (see PlanCopy).
func (c *Cache[T]) Copy(dst, src *layout.Layout, bits int) (*Entry[T], error) {
	return c.get(job{dBits: uint8(bits), sBits: uint8(bits)}, dst, src)
}

// Fill returns the launch for a fill (see PlanFill).
func (c *Cache[T]) Fill(dst *layout.Layout, bits int) (*Entry[T], error) {
	return c.get(job{dBits: uint8(bits)}, dst, dst)
}

// Convert returns the launch for a conversion (see PlanPack and PlanCast).
func (c *Cache[T]) Convert(dst, src *layout.Layout, to, from layout.DType, how device.Rounding) (*Entry[T], error) {
	j := job{dBits: uint8(to.Bits()), sBits: uint8(from.Bits()), convert: device.WayOf(to, from)}
	j.signed = j.convert == device.AsPack && device.IsSigned(from)
	if j.convert == device.ByValue {
		j.to, j.from, j.how = to, from, how.For(to)
	}
	return c.get(j, dst, src)
}

func (c *Cache[T]) get(j job, dst, src *layout.Layout) (*Entry[T], error) {
	rank, dOff := dst.Frame()
	_, sOff := src.Frame()
	if rank > keyRank {
		e, err := c.plan(&j, dst, src)
		c.forget(c.odd)
		c.odd = e
		return e, err
	}
	j.dOff, j.sOff, j.rank = uint8(dOff%64), uint8(sOff%64), uint8(rank)
	slot := &c.recent[slotOf(&j, dst, src)%recent]
	if e := *slot; e != nil && e.key.is(&j, dst, src) {
		return e, nil
	}
	e, err := c.find(&j, dst, src)
	if err == nil {
		*slot = e
	}
	return e, err
}

// slotOf is a hash of a key: its slot among the recent entries.
func slotOf(j *job, dst, src *layout.Layout) uint64 {
	const odd = 0x9e3779b97f4a7c15
	h := uint64(j.dBits) | uint64(j.sBits)<<8 | uint64(j.dOff)<<16 | uint64(j.sOff)<<24 | uint64(j.to)<<32 | uint64(j.from)<<40
	for i := range int(j.rank) {
		a := axisOf(dst, src, i)
		h = (h ^ uint64(a.n) ^ uint64(a.d)<<20 ^ uint64(a.s)<<40) * odd
	}
	return h >> 40
}

// axisOf is an axis of a pair of layouts.
func axisOf(dst, src *layout.Layout, i int) axis {
	n, d := dst.Axis(i)
	_, s := src.Axis(i)
	return axis{n, d, s}
}

// is reports whether the key is that of a call.
func (k *key) is(j *job, dst, src *layout.Layout) bool {
	if k.job != *j {
		return false
	}
	for i := range int(j.rank) {
		if k.axes[i] != axisOf(dst, src, i) {
			return false
		}
	}
	return true
}

// find looks in the map, and plans what is not there.
func (c *Cache[T]) find(j *job, dst, src *layout.Layout) (*Entry[T], error) {
	k := key{job: *j}
	for i := range int(j.rank) {
		k.axes[i] = axisOf(dst, src, i)
	}
	if e := c.entries[k]; e != nil {
		return e, nil
	}
	e, err := c.plan(j, dst, src)
	if err != nil {
		return nil, err
	}
	e.key = k
	c.makeRoom()
	c.entries[k] = e
	return e, nil
}

// makeRoom makes room for one more launch.
func (c *Cache[T]) makeRoom() {
	if len(c.entries)+len(c.takes) >= c.most {
		c.Clear() // what is in use comes back at once
	}
}

func (c *Cache[T]) plan(j *job, dst, src *layout.Layout) (*Entry[T], error) {
	var l Launch
	var err error
	switch {
	case j.convert == device.AsPack:
		l, err = PlanPack(*dst, *src, int(j.dBits), int(j.sBits), j.signed, c.target)
	case j.convert == device.ByValue:
		l, err = PlanCast(*dst, *src, j.to, j.from, j.how, c.target)
	case j.sBits == 0:
		l, err = PlanFill(*dst, int(j.dBits), c.target)
	default:
		l, err = PlanCopy(*dst, *src, int(j.dBits), c.target)
	}
	if err != nil {
		return nil, err
	}
	return c.entry(l)
}

// entry takes a launch's parameters to the device.
func (c *Cache[T]) entry(l Launch) (*Entry[T], error) {
	e := &Entry[T]{Launch: l}
	if e.Groups > 0 {
		var err error
		if e.OnDevice, err = c.upload(e.Params); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// Clear empties the cache.
func (c *Cache[T]) Clear() {
	for k, e := range c.entries {
		c.forget(e)
		delete(c.entries, k)
	}
	for k, e := range c.takes {
		c.forget(e)
		delete(c.takes, k)
	}
	c.forget(c.odd)
	c.odd = nil
	clear(c.recent[:])
}

func (c *Cache[T]) forget(e *Entry[T]) {
	if e != nil && e.Groups > 0 {
		c.drop(e.OnDevice)
	}
}
