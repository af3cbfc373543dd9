package backend

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
)

// driver counts a pool's calls, and has room for a number of bytes.
type driver struct {
	mu           sync.Mutex
	room         int64
	allocs       int
	frees        int
	failing      error // the error of the next calls
	failingFrees error
}

type block struct {
	size int64
	used atomic.Int32
}

func (d *driver) alloc(n int64) (*block, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failing != nil {
		return nil, d.failing
	}
	if n > d.room {
		return nil, fmt.Errorf("driver: %w", device.ErrOutOfMemory)
	}
	d.room -= n
	d.allocs++
	return &block{size: n}, nil
}

func (d *driver) free(b *block) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.room += b.size
	d.frees++
	return d.failingFrees
}

func (d *driver) pool(idle int64) *Pool[*block] { return NewPool(idle, d.alloc, d.free) }

func TestSizeClass(t *testing.T) {
	check := func(n int64) int64 {
		class := SizeClass(n)
		require.GreaterOrEqual(t, class, n)
		require.Equal(t, class, SizeClass(class), "the class of %d is %d, whose class is another", n, class)
		if n > minClass {
			require.LessOrEqual(t, class-n, max(class/8, minStep-1), "%d in a block of %d", n, class)
		}
		if n <= 1<<62 { // beyond, there is no class
			require.Zero(t, class%minStep, "%d in a block of %d", n, class)
		}
		return class
	}
	last := int64(0)
	for n := range int64(1 << 16) {
		class := check(n)
		require.GreaterOrEqual(t, class, last, "at %d", n)
		last = class
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 100000 {
		a := rng.Int64() >> rng.IntN(63)
		b := a + rng.Int64N(max((math.MaxInt64-a)>>rng.IntN(63), 1))
		require.LessOrEqual(t, check(a), check(b), "%d and %d", a, b)
	}
	classes := map[int64]bool{}
	for n := int64(1<<20 + 1); n <= 1<<21; n++ {
		classes[SizeClass(n)] = true
	}
	assert.Len(t, classes, 8)
	for _, n := range []int64{math.MaxInt64, math.MaxInt64 - 1, 15 << 59, 15<<59 - 1, 15<<59 + 1, 1 << 62, 1<<62 + 1} {
		check(n)
	}
	assert.Equal(t, int64(minClass), SizeClass(0))
}

func TestPoolReuses(t *testing.T) {
	d := &driver{room: 1 << 20}
	p := d.pool(1 << 20)
	a, err := p.Get(1000)
	require.NoError(t, err)
	assert.Equal(t, SizeClass(1000), a.size)
	assert.Equal(t, a.size, p.Reserved())
	require.NoError(t, p.Put(a, 1000))
	assert.Equal(t, a.size, p.Reserved(), "idle blocks are still the driver's")
	other, err := p.Get(2000)
	require.NoError(t, err)
	assert.NotSame(t, a, other)
	again, err := p.Get(a.size - 1) // of the same class
	require.NoError(t, err)
	assert.Same(t, a, again)
	assert.Equal(t, 2, d.allocs)
	require.NoError(t, p.Put(again, a.size-1))
	require.NoError(t, p.Put(other, 2000))
	require.NoError(t, p.Trim())
	assert.Equal(t, 2, d.frees)
	assert.Zero(t, p.Reserved())
	require.NoError(t, p.Trim())
	assert.Equal(t, 2, d.frees)
}

// A block in use does not belong to the pool, which must not keep it alive.
func TestPoolForgetsWhatItHandsOut(t *testing.T) {
	d := &driver{room: 1 << 20}
	p := d.pool(1 << 20)
	a, err := p.Get(64)
	require.NoError(t, err)
	require.NoError(t, p.Put(a, 64))
	_, err = p.Get(64)
	require.NoError(t, err)
	for _, b := range p.idle[64][:cap(p.idle[64])] {
		assert.Nil(t, b)
	}
}

func TestPoolCap(t *testing.T) {
	d := &driver{room: 1 << 20}
	p := d.pool(256)
	var blocks []*block
	for range 5 {
		b, err := p.Get(100) // class 112
		require.NoError(t, err)
		blocks = append(blocks, b)
	}
	for _, b := range blocks {
		require.NoError(t, p.Put(b, 100))
	}
	assert.Equal(t, 3, d.frees, "two blocks fit under the cap")
	assert.Equal(t, 2*SizeClass(100), p.Reserved())

	none := d.pool(0)
	b, err := none.Get(1)
	require.NoError(t, err)
	require.NoError(t, none.Put(b, 1))
	assert.Zero(t, none.Reserved())
}

func TestPoolTrimsAndRetries(t *testing.T) {
	d := &driver{room: 4096}
	p := d.pool(4096)
	a, err := p.Get(3072)
	require.NoError(t, err)
	require.NoError(t, p.Put(a, 3072))
	b, err := p.Get(2048) // fits only once the idle block is gone
	require.NoError(t, err)
	assert.Equal(t, 1, d.frees)
	assert.Equal(t, int64(2048), p.Reserved())

	_, err = p.Get(2049)
	require.ErrorIs(t, err, device.ErrOutOfMemory)
	assert.Equal(t, int64(2048), p.Reserved())
	require.NoError(t, p.Put(b, 2048))

	// Another error is returned unchanged, and nothing is trimmed for it.
	d.failing = &device.DriverError{Call: "alloc"}
	_, err = p.Get(64)
	require.ErrorIs(t, err, device.ErrDriver)
	assert.Equal(t, 1, d.frees)

	// An error of the driver while the pool makes room is not lost.
	d.failing, d.failingFrees = fmt.Errorf("%w", device.ErrOutOfMemory), errors.New("broken")
	_, err = p.Get(64)
	require.ErrorIs(t, err, device.ErrOutOfMemory)
	require.ErrorIs(t, err, d.failingFrees)
	assert.Zero(t, p.Reserved())
}

func TestPoolConcurrently(t *testing.T) {
	d := &driver{room: 64 << 10}
	p := d.pool(16 << 10)
	var group sync.WaitGroup
	for w := range uint64(8) {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(w, 1))
			for range 2000 {
				n := 1 + rng.Int64N(8<<10)
				b, err := p.Get(n)
				if err != nil {
					assert.ErrorIs(t, err, device.ErrOutOfMemory)
					continue
				}
				assert.EqualValues(t, 1, b.used.Add(1), "a block is in two hands")
				assert.GreaterOrEqual(t, b.size, n)
				b.used.Add(-1)
				assert.NoError(t, p.Put(b, n))
				if rng.IntN(50) == 0 {
					assert.NoError(t, p.Trim())
				}
			}
		})
	}
	group.Wait()
	assert.LessOrEqual(t, p.Reserved(), int64(16<<10), "all that is left is idle")
	require.NoError(t, p.Trim())
	assert.Zero(t, p.Reserved())
	assert.Equal(t, d.allocs, d.frees)
	assert.EqualValues(t, 64<<10, d.room)
}
