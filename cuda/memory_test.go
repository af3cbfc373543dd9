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
	strides := []int64{512, 256, 128, 64, 32, 16, 8, 4, 1} // too many axes to be remembered
	dims := []int64{2, 2, 2, 2, 2, 2, 2, 2, 2}
	for range mostRetired + 100 {
		require.NoError(t, q.Fill(gputest.Matrix(b, dims, strides), []byte{1, 2, 3, 4}))
	}
	assert.Less(t, k.counter("allocations")-before, mostRetired)

	// Those of a graph stay as long as it; others need not wait for that.
	r, err := q.Capture(func() error { return q.Fill(gputest.Matrix(b, dims, strides), []byte{5, 6, 7, 8}) })
	require.NoError(t, err)
	for range 2 * mostRetired {
		require.NoError(t, q.Fill(gputest.Matrix(b, dims, strides), []byte{1, 2, 3, 4}))
	}
	assert.Less(t, k.counter("allocations")-before, mostRetired+100)
	require.NoError(t, r.Run())
	got := make([]byte, 4)
	require.NoError(t, q.Read(got, b, 0))
	assert.Equal(t, []byte{5, 6, 7, 8}, got)
	require.NoError(t, r.Close())
	require.NoError(t, dev.Close())
	assert.Equal(t, before, k.counter("allocations"))
}
