package cpu_test

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/internal/race"
	"github.com/restride/restride/layout"
)

// A few forms at many places, more of them than a queue keeps plans: calls meet
// plans that were made for other offsets, types and sizes of buffers.
func TestPlansRandom(t *testing.T) { cpu.EachLevel(t, testPlansRandom) }

func testPlansRandom(t *testing.T) {
	dev := open(t)
	defer dev.Close()
	q, err := dev.NewQueue()
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(11, 5))
	forms := make([]oracle.Case, 120)
	for i := range forms {
		forms[i] = oracle.Random(rng, oracle.Limits{MaxBytes: 8 << 10, MaxRank: 9})
	}
	steps := 6000
	if testing.Short() {
		steps = 1000
	}
	for seed := range uint64(steps) {
		c := forms[rng.IntN(30)]
		if rng.IntN(4) == 0 {
			c = forms[rng.IntN(len(forms))]
		}
		d, s := 64*rng.Int64N(4), 64*rng.Int64N(4)
		if rng.IntN(3) == 0 {
			d, s = rng.Int64N(40), rng.Int64N(40)
		}
		if c.Shared {
			s = d
		}
		if c.SharedB || c.Shared && c.Op != oracle.OpCopy {
			s, d = 0, 0 // others might meet
		}
		c.Dst, err = c.Dst.Rebase(c.Dst.Offset() + d)
		require.NoError(t, err)
		c.Src, err = c.Src.Rebase(c.Src.Offset() + s)
		require.NoError(t, err)
		require.NoError(t, oracle.CheckOn(dev, q, c, seed))
	}
}

// Everything at once: goroutines with queues of their own and with one that they
// share, on one device, with random calls, small and large, each compared with
// the oracle; buffers that are freed while others copy from them; more and
// fewer processors all the time; and in the end the device is closed under them.
func TestStress(t *testing.T) {
	rounds, limit := 40, int64(1<<20)
	if testing.Short() || race.Enabled {
		rounds, limit = 8, 400<<10
	}
	old := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(old)
	dev := open(t)
	shared, err := dev.NewQueue()
	require.NoError(t, err)

	stop := changeProcessors()
	victim := &prey{t: t, dev: dev}
	victim.replace()
	const goroutines = 32
	var group, checked sync.WaitGroup
	checked.Add(goroutines)
	for g := range uint64(goroutines) {
		group.Go(func() {
			check := sync.OnceFunc(checked.Done)
			defer check()
			q, err := dev.NewQueue()
			if err != nil {
				t.Error(err)
				return
			}
			own := cpu.Wrap(make([]byte, 300<<10))
			rng := rand.New(rand.NewPCG(g, 9))
			for round := range uint64(rounds) {
				on := q
				if rng.IntN(3) == 0 {
					on = shared
				}
				limits := oracle.Limits{MaxBytes: 4 << 10, MaxRank: 6}
				if rng.IntN(6) == 0 {
					limits.MaxBytes = limit
				}
				if rng.IntN(6) == 0 {
					limits.Ops = []oracle.Op{oracle.OpTake}
				}
				seed := g<<32 | round
				if err = oracle.CheckOn(dev, on, oracle.Random(rng, limits), seed); err != nil {
					t.Error(err)
				}
				if rng.IntN(5) == 0 {
					victim.replace()
				}
				b := *victim.buffer.Load()
				err = on.Copy(operand(t, own, layout.Uint8, 300<<10), operand(t, b, layout.Uint8, 300<<10))
				if err != nil && !errors.Is(err, device.ErrClosed) {
					t.Error(err)
				}
			}
			check()
			for { // until the device is closed
				err := q.Fill(operand(t, own, layout.Uint8, 300<<10), []byte{byte(g)})
				if err != nil {
					require.ErrorIs(t, err, device.ErrClosed)
					return
				}
			}
		})
	}
	checked.Wait()
	require.NoError(t, dev.Close())
	group.Wait()
	stop()
	require.Zero(t, dev.Stats().Live)
	require.Zero(t, dev.Stats().Reserved)
}

// changeProcessors changes the number of processors that Go uses until stop is called.
func changeProcessors() (stop func()) {
	end := make(chan struct{})
	var changes sync.WaitGroup
	changes.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-end:
				return
			case <-time.After(5 * time.Millisecond):
				runtime.GOMAXPROCS(1 + n*3%8)
			}
		}
	})
	return func() {
		close(end)
		changes.Wait()
	}
}

// prey is a buffer of bytes that any goroutine frees at any time.
type prey struct {
	t      *testing.T
	dev    device.Device
	buffer atomic.Pointer[device.Buffer]
}

// replace allocates another buffer, and frees the last one.
func (p *prey) replace() {
	b, err := p.dev.Alloc(300 << 10)
	if err != nil {
		if !errors.Is(err, device.ErrClosed) {
			p.t.Error(err)
		}
		return
	}
	if old := p.buffer.Swap(&b); old != nil {
		if err := (*old).Free(); err != nil && !errors.Is(err, device.ErrClosed) {
			p.t.Error(err)
		}
	}
}
