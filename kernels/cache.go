package kernels

import (
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/plankey"
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
	entries map[uint64]*Entry[T] // lists, by hash
	kept    int                  // in all lists
}

// Entry is a launch, with its parameters on the device if they are uploaded.
type Entry[T any] struct {
	Launch
	OnDevice T // what upload made of the parameters; none where there is nothing to do
	call     call
	layouts  plankey.Key
	next     *Entry[T] // of the same hash
}

// NewCache returns an empty cache of at most the given number of launches. upload takes
// parameters to the device; drop is told when they will not be used for later work any
// more. Both are nil where parameters are passed by value.
func NewCache[T any](t Target, most int, upload func(params []byte) (T, error), drop func(T)) *Cache[T] {
	return &Cache[T]{target: t, most: most, upload: upload, drop: drop, entries: map[uint64]*Entry[T]{}}
}

// call is what a launch depends on beside layouts.
type call struct {
	dBits, sBits uint8 // sBits 0: a fill
	atBits       uint8 // of a take or a put
	put          bool
	reduction    device.Reduction
	signed       bool
	mapped       bool            // by a table
	to, from     layout.DType    // of a conversion by value,
	how          device.Rounding // and how it rounds
	scaling      Scaling
}

// Copied is Copy if the launch is kept, else nil.
func (c *Cache[T]) Copied(dst, src *layout.Layout, bits int) *Entry[T] {
	k := call{dBits: uint8(bits), sBits: uint8(bits)}
	return c.find(&k, k.hash(nil, dst, src), nil, dst, src)
}

// Copy returns the launch for a copy (see PlanCopy).
func (c *Cache[T]) Copy(dst, src *layout.Layout, bits int) (*Entry[T], error) {
	return c.get(call{dBits: uint8(bits), sBits: uint8(bits)}, nil, dst, src)
}

// Fill returns the launch for a fill (see PlanFill).
func (c *Cache[T]) Fill(dst *layout.Layout, bits int) (*Entry[T], error) {
	return c.get(call{dBits: uint8(bits)}, nil, dst, dst)
}

// Pack returns the launch for a conversion by the elements' low bits (see PlanPack).
func (c *Cache[T]) Pack(dst, src *layout.Layout, dstBits, srcBits int, signed bool) (*Entry[T], error) {
	return c.get(call{dBits: uint8(dstBits), sBits: uint8(srcBits), signed: signed}, nil, dst, src)
}

// Cast returns the launch for a conversion by value (see PlanCast).
func (c *Cache[T]) Cast(dst, src *layout.Layout, to, from layout.DType, how device.Rounding) (*Entry[T], error) {
	k := call{dBits: uint8(to.Bits()), sBits: uint8(from.Bits()), to: to, from: from, how: how.For(to)}
	return c.get(k, nil, dst, src)
}

// Take returns the launch for a take (see PlanTake).
func (c *Cache[T]) Take(dst, src, at *layout.Layout, by []layout.Index, bits, atBits int) (*Entry[T], error) {
	return c.get(call{dBits: uint8(bits), sBits: uint8(bits), atBits: uint8(atBits)}, by, dst, src, at)
}

// Map returns the launch for a map (see PlanMap).
func (c *Cache[T]) Map(dst, src *layout.Layout, dstBits, srcBits int) (*Entry[T], error) {
	return c.get(call{dBits: uint8(dstBits), sBits: uint8(srcBits), mapped: true}, nil, dst, src)
}

// Where returns the launch for a where (see PlanWhere).
func (c *Cache[T]) Where(dst, cond, a, b *layout.Layout, bits int) (*Entry[T], error) {
	return c.get(call{dBits: uint8(bits), sBits: uint8(bits)}, nil, dst, a, b, cond)
}

// Put returns the launch for a put (see PlanPut).
func (c *Cache[T]) Put(dst, src, at *layout.Layout, by []layout.Index, bits, atBits int) (*Entry[T], error) {
	return c.get(call{dBits: uint8(bits), sBits: uint8(bits), atBits: uint8(atBits), put: true}, by, dst, src, at)
}

// Reduce returns the launch for a put that reduces (see PlanReduce).
func (c *Cache[T]) Reduce(dst, src, at *layout.Layout, by []layout.Index, of layout.DType, how device.Reduction, atBits int) (*Entry[T], error) {
	bits := uint8(of.Bits())
	return c.get(call{dBits: bits, sBits: bits, atBits: uint8(atBits), put: true, to: of, reduction: how}, by, dst, src, at)
}

// Scale returns the launch for a scaling (see PlanScaling).
func (c *Cache[T]) Scale(dst, src *layout.Layout, terms *TermLayouts, by Scaling) (*Entry[T], error) {
	var none layout.Layout // of what there is no term
	sides := *terms
	for i, l := range sides {
		if l == nil {
			sides[i] = &none
		}
	}
	k := call{dBits: uint8(by.To.Bits()), sBits: uint8(by.From.Bits()), to: by.To, from: by.From, scaling: by}
	return c.get(k, nil, dst, src, sides[0], sides[1], sides[2])
}

// get returns the launch of a call, planned if it is new. by is a take's or a put's; sides are dst, src
// and what else the call has.
func (c *Cache[T]) get(k call, by []layout.Index, sides ...*layout.Layout) (*Entry[T], error) {
	hash := k.hash(by, sides...)
	if e := c.find(&k, hash, by, sides...); e != nil {
		return e, nil
	}
	l, err := c.plan(&k, by, sides)
	if err != nil {
		return nil, err
	}
	e := &Entry[T]{Launch: l, call: k}
	e.layouts.Set(by, sides...)
	if e.Groups > 0 && c.upload != nil {
		if e.OnDevice, err = c.upload(e.Params); err != nil {
			return nil, err
		}
	}
	if c.kept == c.most {
		c.Clear() // what is in use comes back at once
	}
	e.next = c.entries[hash]
	c.entries[hash] = e
	c.kept++
	return e, nil
}

func (k *call) hash(by []layout.Index, sides ...*layout.Layout) uint64 {
	return plankey.Hash(by, sides...) ^ uint64(k.dBits)<<40 ^ uint64(k.sBits)<<48 ^ uint64(k.to)<<32 ^ uint64(k.from)<<56
}

func (c *Cache[T]) find(k *call, hash uint64, by []layout.Index, sides ...*layout.Layout) *Entry[T] {
	e := c.entries[hash]
	for e != nil && (e.call != *k || !e.layouts.Is(by, sides...)) {
		e = e.next
	}
	return e
}

func (c *Cache[T]) plan(k *call, by []layout.Index, sides []*layout.Layout) (Launch, error) {
	dst, src := sides[0], sides[1]
	switch {
	case len(sides) == 5:
		return PlanScaling(*dst, *src, k.scaling.layouts(sides[2:]), k.scaling, c.target)
	case k.reduction != device.Set:
		return PlanReduce(*dst, *src, *sides[2], by, k.to, k.reduction, int(k.atBits), c.target)
	case k.put:
		return PlanPut(*dst, *src, *sides[2], by, int(k.dBits), int(k.atBits), c.target)
	case len(sides) == 4:
		return PlanWhere(*dst, *sides[3], *src, *sides[2], int(k.dBits), c.target)
	case len(sides) == 3:
		return PlanTake(*dst, *src, *sides[2], by, int(k.dBits), int(k.atBits), c.target)
	case k.mapped:
		return PlanMap(*dst, *src, int(k.dBits), int(k.sBits), c.target)
	case k.to != layout.Invalid:
		return PlanCast(*dst, *src, k.to, k.from, k.how, c.target)
	case k.sBits == 0:
		return PlanFill(*dst, int(k.dBits), c.target)
	case k.dBits != k.sBits:
		return PlanPack(*dst, *src, int(k.dBits), int(k.sBits), k.signed, c.target)
	}
	return PlanCopy(*dst, *src, int(k.dBits), c.target)
}

// Clear empties the cache.
func (c *Cache[T]) Clear() {
	for hash, e := range c.entries {
		for ; e != nil; e = e.next {
			if e.Groups > 0 && c.drop != nil {
				c.drop(e.OnDevice)
			}
		}
		delete(c.entries, hash)
	}
	c.kept = 0
}
