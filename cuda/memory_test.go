package cuda

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/gpu/gputest"
)

// A launch's parameters are passed by value: a new layout costs no memory, no transfer and no
// wait, and a graph holds the parameters of its launches.
func TestNewLayoutsCostNothing(t *testing.T) {
	k := simulated(t)
	before := k.Count("allocations")
	dev := openTest(t)
	q := gputest.Queue(t, dev)
	b := gputest.Alloc(t, dev, 1<<13)
	n := int64(0)
	fill := func(pattern ...byte) error { // of a unique shape: its launch is not cached
		n++
		return q.Fill(gputest.Matrix(b, []int64{2, 2}, []int64{100 + n%1000, 1 + n/1000}), pattern)
	}
	require.NoError(t, fill(1, 2, 3, 4))
	calls := func() (all []int) {
		for _, name := range []string{"allocations", "cuMemcpyHtoDAsync_v2", "cuStreamSynchronize"} {
			all = append(all, k.Count(name))
		}
		return all
	}
	settled := calls()
	for range 3000 { // more than a queue caches
		require.NoError(t, fill(1, 2, 3, 4))
	}
	assert.Equal(t, settled, calls())

	r, err := q.Capture(func() error { return fill(5, 6, 7, 8) })
	require.NoError(t, err)
	for range 3000 {
		require.NoError(t, fill(1, 2, 3, 4))
	}
	require.NoError(t, r.Run())
	got := make([]byte, 4)
	require.NoError(t, q.Read(got, b, 0))
	assert.Equal(t, []byte{5, 6, 7, 8}, got)
	require.NoError(t, r.Close())
	require.NoError(t, dev.Close())
	assert.Equal(t, before, k.Count("allocations"))
}
