package quant

import (
	"slices"
	"sync"
)

// A checkpoint has many weights of few kinds: results that depend on the kind alone are
// computed once.
func init() {
	for _, f := range all {
		f.arrays = remembered(f.arrays)
	}
}

// mostRemembered limits the stored results: a file may contain anything.
const mostRemembered = 1000

// remembered returns f with a cache. The slots in the results are shared: nobody writes
// them.
func remembered(f func(Params) []array) func(Params) []array {
	known := newMemory(f)
	return func(p Params) []array { return slices.Clone(known(p)) }
}

// newMemory returns f with a cache of at most mostRemembered results.
func newMemory[K comparable, V any](f func(K) V) func(K) V {
	var mutex sync.Mutex
	known := map[K]V{}
	return func(key K) V {
		mutex.Lock()
		defer mutex.Unlock()
		v, ok := known[key]
		if !ok {
			v = f(key)
			if len(known) == mostRemembered {
				clear(known)
			}
			known[key] = v
		}
		return v
	}
}
