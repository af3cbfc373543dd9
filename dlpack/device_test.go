package dlpack

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/restride/restride/cuda"
	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/layout"
	_ "github.com/restride/restride/opencl"
	"github.com/restride/restride/tensor"
)

// openDevice opens the device that RESTRIDE_TEST_DEVICE names, else OpenCL's first.
func openDevice(t *testing.T) *tensor.Stream {
	name := os.Getenv("RESTRIDE_TEST_DEVICE")
	if name == "" || name == "cpu" {
		name = "opencl:0"
	}
	s, err := tensor.Open(name)
	devicetest.Require(t, "opencl", err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// Tensors of a GPU survive an export and import, at any byte at which elements may begin.
func TestDeviceExportAndImport(t *testing.T) {
	s := openDevice(t)
	for _, of := range []layout.DType{layout.Uint4, layout.Uint8, layout.Float16, layout.Float32, layout.Complex128} {
		x, err := tensor.FromBytes(s, of, count(9*4*of.Bits()/8), 9, 4)
		require.NoError(t, err)
		tail, err := x.Slice(0, 1, 9, 1)
		require.NoError(t, err)
		back, err := tail.Slice(0, 7, -9, -2)
		require.NoError(t, err)
		turned, err := tail.Transpose()
		require.NoError(t, err)
		empty, err := tail.Slice(1, 2, 2, 1)
		require.NoError(t, err)
		for _, v := range []*tensor.Tensor{x, tail, back, turned, empty} {
			want, err := v.Bytes()
			require.NoError(t, err)
			c := exported(t, v, ExportOptions{})
			y, err := Import(s, c, ImportOptions{})
			require.NoError(t, err, "%v", v.Layout())
			got, err := y.Bytes()
			require.NoError(t, err)
			assert.Equal(t, want, got)
			assert.Equal(t, v.Shape(), y.Shape())
			release(t, y)
		}
		release(t, x, tail, back, turned, empty)
	}
	require.NoError(t, s.Wait())
	// The last call of the deleter may follow later, in a goroutine of its own.
	require.Eventually(t, func() bool { return s.Device().Stats().Live == 0 }, time.Minute, time.Millisecond)
}

// A producer gets its memory back after the work that uses it, and not before.
func TestDeviceDeletesAfterTheWork(t *testing.T) {
	s := openDevice(t)
	x, err := tensor.New(s, layout.Uint8, 1<<20)
	require.NoError(t, err)
	theirs := exported(t, x, ExportOptions{NoWait: true})
	p := &producer{versioned: *(*managedVersioned)(theirs.Pointer)}
	p.pinner.Pin(p)
	defer p.pinner.Unpin()
	p.versioned.deleter = deleter()
	c := p.capsule()
	y, err := Import(s, c, ImportOptions{})
	require.NoError(t, err)
	_, err = Import(s, c, ImportOptions{})
	require.ErrorIs(t, err, device.ErrInvalid, "twice")
	for range 8 {
		z, err := y.Clone()
		require.NoError(t, err)
		release(t, z)
	}
	release(t, y)
	deletedOnce(t, c)
	release(t, x)
	require.NoError(t, theirs.Delete())
}

// The consumer's queue waits for the tensor, and the tensor's memory for the queue.
func TestDeviceExportToQueue(t *testing.T) {
	s := openDevice(t)
	q, err := s.Device().NewQueue()
	require.NoError(t, err)
	x, err := tensor.FromSlice(s, []uint32{1, 2, 3, 4})
	require.NoError(t, err)
	c := exported(t, x, ExportOptions{Queue: q})
	theirs := tensor.Adopt(s.Device(), q)
	y, err := Import(theirs, c, ImportOptions{})
	require.NoError(t, err)
	assert.Equal(t, []uint32{1, 2, 3, 4}, values[uint32](t, y))
	release(t, x)
	z, err := y.Clone()
	require.NoError(t, err)
	release(t, y)
	assert.Equal(t, []uint32{1, 2, 3, 4}, values[uint32](t, z))
	release(t, z)
	c = exported(t, z0(t, s), ExportOptions{Queue: q})
	require.NoError(t, q.Close())
	require.NoError(t, c.Delete(), "a queue that is closed")
	_, err = Export(z0(t, s), ExportOptions{Queue: q})
	require.ErrorIs(t, err, device.ErrClosed)
}

// z0 returns a tensor whose release the end of the test does not check.
func z0(t *testing.T, s *tensor.Stream) *tensor.Tensor {
	x, err := tensor.New(s, layout.Uint8, 16)
	require.NoError(t, err)
	t.Cleanup(func() { _ = x.Release() })
	return x
}

func TestDeviceImportRefuses(t *testing.T) {
	s := openDevice(t)
	x := z0(t, s)
	for name, c := range map[string]struct {
		change func(d *cTensor)
		kind   error
	}{
		"host":     {func(d *cTensor) { d.device = onCPU }, device.ErrInvalid},
		"other":    {func(d *cTensor) { d.device = 10 }, device.ErrInvalid},
		"nil":      {func(d *cTensor) { d.data = 0 }, device.ErrInvalid},
		"offset":   {func(d *cTensor) { d.byteOffset = 1 << 63 }, device.ErrInvalid},
		"beyond":   {func(d *cTensor) { numbers(d.shape, 1)[0] = 1 << 40 }, device.ErrInvalid},
		"element":  {func(d *cTensor) { d.bits, d.byteOffset = 16, 1 }, device.ErrUnsupported},
		"the back": {func(d *cTensor) { numbers(d.strides, 1)[0] = -1 << 40 }, device.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			ours := exported(t, x, ExportOptions{})
			c.change(&(*managedVersioned)(ours.Pointer).tensor)
			before := s.Device().Stats().Live
			_, err := Import(s, ours, ImportOptions{})
			require.ErrorIs(t, err, c.kind)
			assert.Equal(t, before, s.Device().Stats().Live)
		})
	}
	onHost := exported(t, z0(t, tensor.Host()), ExportOptions{})
	_, err := Import(s, onHost, ImportOptions{})
	require.ErrorIs(t, err, device.ErrInvalid)
	assert.ErrorContains(t, err, s.Device().Info().ID())
}
