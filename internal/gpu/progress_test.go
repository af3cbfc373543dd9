package gpu_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/gpu/gputest"
)

// Without Wait, a probe shows that work is done.
func TestProbe(t *testing.T) {
	f := newFake(t)
	dev := open(t, f)
	q := gputest.Queue(t, dev)
	a := gputest.Alloc(t, dev, 1<<20)
	letGo := hold(t, q)
	gputest.Fill(t, q, a, 1)
	dev.Sweep()
	assert.Zero(t, f.events.Load(), "nobody wants to know")
	require.NoError(t, a.Free())
	for range 3 {
		dev.Sweep()
		assert.EqualValues(t, 1, dev.DeferredFrees())
		assert.EqualValues(t, 1, f.events.Load())
	}
	b := gputest.Alloc(t, dev, 64)
	gputest.Fill(t, q, b, 1) // behind the probe
	require.NoError(t, b.Free())
	letGo()
	q.Stream().(*stream).busy.Wait()
	dev.Sweep()
	assert.EqualValues(t, 1, dev.DeferredFrees(), "the first probe tells of the first block")
	assert.EqualValues(t, 1, f.events.Load(), "and a second one is under way")
	q.Stream().(*stream).busy.Wait()
	dev.Sweep()
	assert.Zero(t, dev.DeferredFrees())
	assert.Zero(t, f.events.Load())
}

func TestProbeOfDrivers(t *testing.T) {
	each(t, func(t *testing.T, open maker) {
		dev := open(nil)
		a := gputest.Alloc(t, dev, 1<<20)
		gputest.Fill(t, gputest.Queue(t, dev), a, 1)
		require.NoError(t, a.Free())
		for range 1_000_000 {
			dev.Sweep()
			if dev.DeferredFrees() == 0 {
				return
			}
			runtime.Gosched()
		}
		t.Error("nobody saw that the work was done")
	})
}
