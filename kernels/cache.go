package kernels

import "github.com/restride/restride/layout"

// Cache keeps the launches of a queue by what they were planned for, so that a
// call like an earlier one plans nothing, uploads nothing and allocates nothing.
// It may be used by one goroutine at a time.
type Cache[T any] struct {
	target  Target
	most    int
	upload  func(desc []byte) (T, error)
	drop    func(T)
	entries map[key]*Entry[T]
	odd     *Entry[T] // the last one of a rank that is not kept
}

// Entry is a launch with its descriptor on the device.
type Entry[T any] struct {
	Launch
	OnDevice T // none where there is nothing to do
}

// NewCache returns an empty cache of at most the given number of launches.
// upload takes a descriptor to the device; drop is told when it will not be
// used for later work any more.
func NewCache[T any](t Target, most int, upload func(desc []byte) (T, error), drop func(T)) *Cache[T] {
	return &Cache[T]{target: t, most: most, upload: upload, drop: drop, entries: map[key]*Entry[T]{}}
}

// key is what a launch depends on.
type key struct {
	dBits, sBits uint8 // sBits 0: a fill
	convert      bool
	signed       bool
	dOff, sOff   uint8 // modulo 64
	rank         uint8
	axes         [keyRank]axis
}

// keyRank is the highest rank that is kept in the cache.
const keyRank = 8

// Copy returns the launch for a copy (see PlanCopy).
func (c *Cache[T]) Copy(dst, src *layout.Layout, bits int) (*Entry[T], error) {
	k := key{dBits: uint8(bits), sBits: uint8(bits)}
	return c.get(&k, dst, src)
}

// Fill returns the launch for a fill (see PlanFill).
func (c *Cache[T]) Fill(dst *layout.Layout, bits int) (*Entry[T], error) {
	k := key{dBits: uint8(bits)}
	return c.get(&k, dst, dst)
}

// Convert returns the launch for a conversion (see PlanConvert).
func (c *Cache[T]) Convert(dst, src *layout.Layout, dstBits, srcBits int, signed bool) (*Entry[T], error) {
	k := key{dBits: uint8(dstBits), sBits: uint8(srcBits), convert: true, signed: signed}
	return c.get(&k, dst, src)
}

func (c *Cache[T]) get(k *key, dst, src *layout.Layout) (*Entry[T], error) {
	rank := dst.Rank()
	if rank > keyRank {
		e, err := c.plan(k, dst, src)
		c.forget(c.odd)
		c.odd = e
		return e, err
	}
	k.dOff, k.sOff, k.rank = uint8(dst.Offset()%64), uint8(src.Offset()%64), uint8(rank)
	for i := range rank {
		k.axes[i] = axis{dst.Dim(i), dst.Stride(i), src.Stride(i)}
	}
	if e := c.entries[*k]; e != nil {
		return e, nil
	}
	e, err := c.plan(k, dst, src)
	if err != nil {
		return nil, err
	}
	if len(c.entries) >= c.most {
		c.Clear() // what is in use comes back at once
	}
	c.entries[*k] = e
	return e, nil
}

func (c *Cache[T]) plan(k *key, dst, src *layout.Layout) (*Entry[T], error) {
	e := new(Entry[T])
	var err error
	switch {
	case k.convert:
		e.Launch, err = PlanConvert(*dst, *src, int(k.dBits), int(k.sBits), k.signed, c.target)
	case k.sBits == 0:
		e.Launch, err = PlanFill(*dst, int(k.dBits), c.target)
	default:
		e.Launch, err = PlanCopy(*dst, *src, int(k.dBits), c.target)
	}
	if err == nil && e.Groups > 0 {
		e.OnDevice, err = c.upload(e.Desc)
	}
	if err != nil {
		return nil, err
	}
	return e, nil
}

// Clear empties the cache.
func (c *Cache[T]) Clear() {
	for k, e := range c.entries {
		c.forget(e)
		delete(c.entries, k)
	}
	c.forget(c.odd)
	c.odd = nil
}

func (c *Cache[T]) forget(e *Entry[T]) {
	if e != nil && e.Groups > 0 {
		c.drop(e.OnDevice)
	}
}
