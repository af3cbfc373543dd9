package bench

import (
	"errors"
	"sync"

	"github.com/restride/restride/cpu"
)

// Memcpy is the yardstick of copies on a processor: half of the bytes by each of two
// goroutines, between dense buffers on huge pages, of which two or more pairs rotate.
type Memcpy struct {
	dev   *cpu.Device
	pairs [][2][]byte
}

// NewMemcpy allocates pairs of so many bytes each.
func NewMemcpy(bytes int64, pairs int) (*Memcpy, error) {
	dev, err := cpu.Open()
	if err != nil {
		return nil, err
	}
	m := &Memcpy{dev, make([][2][]byte, pairs)}
	for i := range m.pairs {
		for j := range m.pairs[i] {
			b, err := dev.Alloc(bytes)
			if err != nil {
				return nil, errors.Join(err, dev.Close())
			}
			m.pairs[i][j], _ = cpu.Bytes(b) // it is one of this device's
			clear(m.pairs[i][j])            // its pages are there from now on
		}
	}
	return m, nil
}

// Run copies the i-th pair, counted around.
func (m *Memcpy) Run(i int) {
	pair := &m.pairs[i%len(m.pairs)]
	dst, src := pair[0], pair[1]
	half := len(src) / 2
	var wait sync.WaitGroup
	wait.Go(func() { copy(dst[:half], src) })
	copy(dst[half:], src[half:])
	wait.Wait()
}

// Close frees the memory.
func (m *Memcpy) Close() error { return m.dev.Close() }
