package gpu_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/gpu/gputest"
)

func TestQueues(t *testing.T) {
	gputest.Queues(t, func(tb testing.TB) *gpu.Device { return open(tb, newFake(tb)) })
}

// The host memory of transfers is pinned until they are done, and no longer.
func TestPins(t *testing.T) {
	dev := open(t, newFake(t))
	q := gputest.Queue(t, dev)
	b := gputest.Alloc(t, dev, 64)
	letGo := hold(t, q)
	_, err := q.ReadAsync(make([]byte, 64), b, 0)
	require.NoError(t, err)
	_, err = q.WriteAsync(b, 0, make([]byte, 64))
	require.NoError(t, err)
	assert.Equal(t, 2, q.Pins())
	letGo()
	require.NoError(t, q.Wait())
	assert.Zero(t, q.Pins())
	_, err = q.WriteAsync(b, 0, make([]byte, 64))
	require.NoError(t, err)
	require.NoError(t, dev.Close(), "with a transfer under way")
	assert.Zero(t, q.Pins())
}

func TestKernelName(t *testing.T) {
	each(t, func(t *testing.T, open maker) {
		dev := open(nil)
		q := gputest.Queue(t, dev)
		a, b := gputest.Alloc(t, dev, 1<<16), gputest.Alloc(t, dev, 1<<16)
		dense := gputest.Matrix(a, []int64{64, 64}, []int64{64, 1})
		name := func(dst, src device.Operand) string {
			class, kernel := q.KernelName(dst, src)
			return class + " " + kernel
		}
		transposed := gputest.Matrix(b, []int64{64, 64}, []int64{1, 64})
		assert.Regexp(t, `^dense (element|block)\.128$`, name(dense, gputest.Matrix(b, []int64{64, 64}, []int64{64, 1})))
		planned := name(dense, transposed)
		assert.Regexp(t, `^transpose (tile|block)\.32$`, planned)
		require.NoError(t, q.Copy(dense, transposed))
		assert.Equal(t, planned, name(dense, transposed))
		assert.Equal(t, "dense nothing", name(gputest.Matrix(a, []int64{0}, []int64{1}), gputest.Matrix(b, []int64{0}, []int64{1})))
		assert.Equal(t, " ", name(dense, dense))
	})
}
