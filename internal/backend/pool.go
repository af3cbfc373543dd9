package backend

import (
	"errors"
	"math/bits"
	"sync"

	"github.com/restride/restride/device"
)

// Pool keeps freed blocks of device memory for reuse. There is one per device,
// above its driver: fresh memory costs more than the copy that fills it. It
// may be used from any goroutine.
//
// Sizes are rounded up to classes, eight to each power of two, so that at most
// an eighth of a block is wasted, or 15 bytes: blocks consist of whole vectors of 16 bytes,
// which kernels access.
type Pool[B any] struct {
	alloc func(bytes int64) (B, error)
	free  func(B) error
	cap   int64 // the most bytes kept idle

	mu       sync.Mutex
	idle     map[int64][]B // by class
	idleSize int64
	reserved int64
}

// NewPool returns an empty pool over a driver's calls. alloc is called with class sizes only;
// if its error is device.ErrOutOfMemory, the pool frees its idle blocks and retries. At most
// idleCap bytes are kept idle.
func NewPool[B any](idleCap int64, alloc func(bytes int64) (B, error), free func(B) error) *Pool[B] {
	return &Pool[B]{alloc: alloc, free: free, cap: idleCap, idle: map[int64][]B{}}
}

const (
	minClass = 64 // the smallest block: a cache line
	minStep  = 16 // the least difference between two classes
)

// SizeClass returns the size of the pool's block for a size.
func SizeClass(bytes int64) int64 {
	if bytes <= minClass {
		return minClass
	}
	step := max(minStep, int64(1)<<(bits.Len64(uint64(bytes-1))-4))
	if bytes > 1<<63-1-step {
		return bytes // no block is that large: the driver will refuse it
	}
	return (bytes + step - 1) &^ (step - 1)
}

// Get returns a block of at least the given size.
func (p *Pool[B]) Get(bytes int64) (B, error) {
	class := SizeClass(bytes)
	p.mu.Lock()
	if blocks := p.idle[class]; len(blocks) > 0 {
		last := len(blocks) - 1
		b := blocks[last]
		var none B
		blocks[last] = none // the pool must not keep it alive
		p.idle[class] = blocks[:last]
		p.idleSize -= class
		p.mu.Unlock()
		return b, nil
	}
	p.mu.Unlock()

	b, err := p.alloc(class)
	if errors.Is(err, device.ErrOutOfMemory) {
		if trimErr := p.Trim(); trimErr != nil {
			return b, errors.Join(err, trimErr)
		}
		b, err = p.alloc(class)
	}
	if err == nil {
		p.mu.Lock()
		p.reserved += class
		p.mu.Unlock()
	}
	return b, err
}

// Put returns a block that Get returned for the same size. It must no longer be in use.
func (p *Pool[B]) Put(b B, bytes int64) error {
	class := SizeClass(bytes)
	p.mu.Lock()
	if p.idleSize+class <= p.cap {
		p.idle[class] = append(p.idle[class], b)
		p.idleSize += class
		p.mu.Unlock()
		return nil
	}
	p.reserved -= class
	p.mu.Unlock()
	return p.free(b)
}

// Trim frees all idle blocks.
func (p *Pool[B]) Trim() error {
	p.mu.Lock()
	idle := p.idle
	p.idle = map[int64][]B{}
	p.reserved -= p.idleSize
	p.idleSize = 0
	p.mu.Unlock()
	var errs []error
	for _, blocks := range idle {
		for _, b := range blocks {
			errs = append(errs, p.free(b))
		}
	}
	return errors.Join(errs...)
}

// Reserved returns the number of bytes that the pool holds from the driver, in use or idle.
func (p *Pool[B]) Reserved() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reserved
}
