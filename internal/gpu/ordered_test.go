package gpu_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu"
)

func allocFrom(t *testing.T, q *gpu.Queue, bytes int64) *gpu.Buffer {
	t.Helper()
	b, err := q.Alloc(bytes)
	require.NoError(t, err)
	return b.(*gpu.Buffer)
}

// A queue gives again what only its own work still uses; another queue's Alloc,
// and the device's, do not.
func TestQueueReusesInOrder(t *testing.T) {
	dev := open(t, newFake(t))
	q, other := queueOf(t, dev), queueOf(t, dev)
	a, b := allocFrom(t, q, 1<<20), allocFrom(t, q, 1<<20)
	letGo := hold(t, q)
	fill(t, q, a, 1)
	fill(t, q, b, 1)
	require.NoError(t, a.Free())
	foreign := allocFrom(t, other, 1<<20)
	assert.NotSame(t, a.Mem(), foreign.Mem())
	c := allocFrom(t, q, 1<<20-8) // of the same class
	assert.Same(t, a.Mem(), c.Mem())
	assert.Zero(t, dev.DeferredFrees())
	// What is given again is still in use until all of its work is done.
	require.NoError(t, c.Free())
	assert.EqualValues(t, 1, dev.DeferredFrees())
	d := alloc(t, dev, 1<<20)
	assert.NotSame(t, a.Mem(), d.Mem())
	// Another queue's work on a block keeps it from being given to the first.
	letOther := hold(t, other)
	fill(t, other, b, 2)
	require.NoError(t, b.Free())
	e := allocFrom(t, q, 1<<20)
	assert.Same(t, a.Mem(), e.Mem())
	f := allocFrom(t, q, 1<<20)
	assert.NotSame(t, b.Mem(), f.Mem())
	letGo()
	letOther()
	for _, x := range []*gpu.Buffer{foreign, d, e, f} {
		require.NoError(t, x.Free())
	}
	_, err := q.Alloc(-1)
	require.ErrorIs(t, err, device.ErrInvalid)
}

// A chain that runs ahead of the device needs no more memory than one that
// waits, and computes the same.
func TestChainsThatRunAheadStaySmall(t *testing.T) {
	each(t, func(t *testing.T, open maker) {
		dev := open(nil)
		q := queueOf(t, dev)
		const size = 1 << 16
		want := random(size, 7)
		x := allocFrom(t, q, size)
		require.NoError(t, q.Write(x, 0, want))
		for range 200 {
			y := allocFrom(t, q, size)
			require.NoError(t, q.Copy(row(y, size), row(x, size)))
			require.NoError(t, x.Free())
			x = y
		}
		assert.LessOrEqual(t, dev.Stats().Reserved, int64(3*size))
		got := make([]byte, size)
		require.NoError(t, q.Read(got, x, 0))
		require.Equal(t, want, got)
		require.NoError(t, x.Free())
	})
}
