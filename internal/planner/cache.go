package planner

import (
	"github.com/restride/restride/internal/plankey"
	"github.com/restride/restride/layout"
)

// Cache keeps the launches of a queue under the operations they were planned for. A repeated call
// plans nothing, uploads nothing and allocates nothing. Only one goroutine may use a Cache at a
// time.
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
	OnDevice T // the result of upload; none where there is nothing to do
	key      key
	layouts  plankey.Key
	next     *Entry[T] // with the same hash
}

// NewCache returns an empty cache of at most the given number of launches. upload copies
// parameters to the device; drop is called when later work will not use them. Both are nil where
// parameters are passed by value.
func NewCache[T any](t Target, most int, upload func(params []byte) (T, error), drop func(T)) *Cache[T] {
	return &Cache[T]{target: t, most: most, upload: upload, drop: drop, entries: map[uint64]*Entry[T]{}}
}

// Find returns the cached launch of an operation, or nil.
func (c *Cache[T]) Find(o *Operation) *Entry[T] {
	k := o.key()
	sides, n := o.sides()
	return c.find(k.hash(o.By, sides[:n]), &k, o.By, sides[:n])
}

// Get returns the launch of an operation, and plans it if it is not cached.
func (c *Cache[T]) Get(o *Operation) (*Entry[T], error) {
	k := o.key()
	all, n := o.sides()
	sides := all[:n]
	hash := k.hash(o.By, sides)
	if e := c.find(hash, &k, o.By, sides); e != nil {
		return e, nil
	}
	l, err := Plan(o, c.target)
	if err != nil {
		return nil, err
	}
	e := &Entry[T]{Launch: l, key: k}
	e.layouts.Set(o.By, sides...)
	if e.Groups > 0 && c.upload != nil {
		if e.OnDevice, err = c.upload(e.Params); err != nil {
			return nil, err
		}
	}
	if c.kept == c.most {
		c.Clear() // memory in use is returned at once
	}
	e.next = c.entries[hash]
	c.entries[hash] = e
	c.kept++
	return e, nil
}

func (c *Cache[T]) find(hash uint64, k *key, by []layout.Index, sides []*layout.Layout) *Entry[T] {
	e := c.entries[hash]
	for e != nil && (e.key != *k || !e.layouts.Is(by, sides...)) {
		e = e.next
	}
	return e
}

func (k *key) hash(by []layout.Index, sides []*layout.Layout) uint64 {
	return plankey.Hash(by, sides...) ^ uint64(k.dstBits)<<40 ^ uint64(k.srcBits)<<48 ^ uint64(k.to)<<32 ^ uint64(k.from)<<56
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
