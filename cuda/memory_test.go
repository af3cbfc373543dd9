package cuda

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/gpu/gputest"
)

// Parameters of launches that are forgotten are freed, and in the end all is.
func TestParametersAreFreed(t *testing.T) {
	k := simulated(t)
	before := k.counter("allocations")
	dev := openTest(t)
	q := gputest.Queue(t, dev)
	b := gputest.Alloc(t, dev, 1<<13)
	n := int64(0)
	fill := func(pattern ...byte) error { // of a shape that no other has: its launch is not planned yet
		n++
		return q.Fill(gputest.Matrix(b, []int64{2, 2}, []int64{100 + n%1000, 1 + n/1000}), pattern)
	}
	const most = mostRetired + 2<<10 // beside those that a queue keeps planned
	for range 3 * mostRetired {
		require.NoError(t, fill(1, 2, 3, 4))
	}
	assert.Less(t, k.counter("allocations")-before, most)

	// Those of a graph stay as long as it; others need not wait for that.
	r, err := q.Capture(func() error { return fill(5, 6, 7, 8) })
	require.NoError(t, err)
	for range 3 * mostRetired {
		require.NoError(t, fill(1, 2, 3, 4))
	}
	assert.Less(t, k.counter("allocations")-before, most)
	require.NoError(t, r.Run())
	got := make([]byte, 4)
	require.NoError(t, q.Read(got, b, 0))
	assert.Equal(t, []byte{5, 6, 7, 8}, got)
	require.NoError(t, r.Close())
	require.NoError(t, dev.Close())
	assert.Equal(t, before, k.counter("allocations"))
}
