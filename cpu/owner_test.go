package cpu

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
)

// The owner of wrapped memory is told once that it is no longer used, by Free or by the last
// long call on it.
func TestOwnerIsTold(t *testing.T) {
	var told atomic.Int64
	b := WrapFor(make([]byte, 8), func() { told.Add(1) })
	m := &b.(*byteBuffer).memory
	require.True(t, m.acquire())
	require.NoError(t, b.Free())
	assert.Zero(t, told.Load(), "a call works on it")
	m.release()
	assert.Eventually(t, func() bool { return told.Load() == 1 }, time.Minute, time.Millisecond)
	require.ErrorIs(t, b.Free(), device.ErrClosed)

	b = WrapFor(nil, func() { told.Add(1) })
	require.NoError(t, b.Free())
	assert.EqualValues(t, 2, told.Load())
}
