package bench

import (
	"errors"
	"sync"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// Memcpy is what copies are compared with on a processor: bytes in two halves, a
// goroutine each, between dense buffers on huge pages. Pairs of them take turns.
type Memcpy struct {
	dev   *cpu.Device
	pairs [][2][]byte
}

// NewMemcpy returns one of so many bytes, of which two pairs take turns.
func NewMemcpy(bytes int64) (*Memcpy, error) { return newMemcpy(bytes, 2) }

func newMemcpy(bytes int64, pairs int) (*Memcpy, error) {
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

// Run copies; i says whose turn it is.
func (m *Memcpy) Run(i int) {
	pair := &m.pairs[i%len(m.pairs)]
	dst, src := pair[0], pair[1]
	half := len(src) / 2
	var wait sync.WaitGroup
	wait.Go(func() { copy(dst[:half], src) })
	copy(dst[half:], src[half:])
	wait.Wait()
}

// Close gives the memory back.
func (m *Memcpy) Close() error { return m.dev.Close() }

// Dense is a buffer seen as bytes.
func Dense(b device.Buffer) device.Operand {
	l, err := layout.Contiguous(b.Size())
	if err != nil {
		panic(err) // a size that exists
	}
	return device.Operand{Buffer: b, Layout: l, Type: layout.Uint8}
}
