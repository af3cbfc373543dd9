package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/tensor"
)

// fakeDevice is a cpu device that looks like a GPU: the host does not see its
// memory, and it holds no strings.
type fakeDevice struct {
	inner device.Device
	fail  error // what Copy, Fill, Convert and Write return, if set
}

type fakeBuffer struct{ device.Buffer }

// fakeQueue hides the methods for strings of the queue inside.
type fakeQueue struct {
	device.Queue
	dev *fakeDevice
}

func (d *fakeDevice) Info() device.Info {
	return device.Info{Backend: "fake", Index: 3, Name: "a cpu in disguise", Kind: device.GPU}
}

func (d *fakeDevice) Alloc(bytes int64) (device.Buffer, error) {
	b, err := d.inner.Alloc(bytes)
	if err != nil {
		return nil, err
	}
	return &fakeBuffer{b}, nil
}

func (d *fakeDevice) NewQueue() (device.Queue, error) {
	q, err := d.inner.NewQueue()
	return &fakeQueue{q, d}, err
}

func (d *fakeDevice) Stats() device.Stats { return d.inner.Stats() }
func (d *fakeDevice) Close() error        { return d.inner.Close() }

func bare(o device.Operand) device.Operand {
	if b, ok := o.Buffer.(*fakeBuffer); ok { // terms may lack one
		o.Buffer = b.Buffer
	}
	return o
}

func (q *fakeQueue) Write(dst device.Buffer, off int64, src []byte) error {
	if q.dev.fail != nil {
		return q.dev.fail
	}
	return q.Queue.Write(dst.(*fakeBuffer).Buffer, off, src)
}

func (q *fakeQueue) Read(dst []byte, src device.Buffer, off int64) error {
	if q.dev.fail != nil {
		return q.dev.fail
	}
	return q.Queue.Read(dst, src.(*fakeBuffer).Buffer, off)
}

func (q *fakeQueue) Copy(dst, src device.Operand) error {
	if q.dev.fail != nil {
		return q.dev.fail
	}
	return q.Queue.Copy(bare(dst), bare(src))
}

func (q *fakeQueue) Fill(dst device.Operand, pattern []byte) error {
	if q.dev.fail != nil {
		return q.dev.fail
	}
	return q.Queue.Fill(bare(dst), pattern)
}

func (q *fakeQueue) Convert(dst, src device.Operand, how device.Rounding) error {
	if q.dev.fail != nil {
		return q.dev.fail
	}
	return q.Queue.Convert(bare(dst), bare(src), how)
}

func (q *fakeQueue) Take(dst, src, at device.Operand, by ...device.Index) error {
	if q.dev.fail != nil {
		return q.dev.fail
	}
	return q.Queue.Take(bare(dst), bare(src), bare(at), by...)
}

func (q *fakeQueue) Dequantize(dst, src device.Operand, by device.Scaling) error {
	if q.dev.fail != nil {
		return q.dev.fail
	}
	by.Scale, by.Zero, by.Add = bare(by.Scale), bare(by.Zero), bare(by.Add)
	return q.Queue.Dequantize(bare(dst), bare(src), by)
}

func (q *fakeQueue) Quantize(dst, src device.Operand, by device.Quantization) error {
	if q.dev.fail != nil {
		return q.dev.fail
	}
	by.Scale, by.Zero = bare(by.Scale), bare(by.Zero)
	return q.Queue.Quantize(bare(dst), bare(src), by)
}

func (q *fakeQueue) Map(dst, src, table device.Operand) error {
	if q.dev.fail != nil {
		return q.dev.fail
	}
	return q.Queue.Map(bare(dst), bare(src), bare(table))
}

func (q *fakeQueue) Where(dst, cond, a, b device.Operand) error {
	if q.dev.fail != nil {
		return q.dev.fail
	}
	return q.Queue.Where(bare(dst), bare(cond), bare(a), bare(b))
}

func (q *fakeQueue) Put(dst, src, at device.Operand, how device.Reduction, by ...device.Index) error {
	if q.dev.fail != nil {
		return q.dev.fail
	}
	return q.Queue.Put(bare(dst), bare(src), bare(at), how, by...)
}

func (q *fakeQueue) KernelName(dst, src device.Operand) string {
	return "fake." + q.Queue.(device.KernelNamer).KernelName(bare(dst), bare(src))
}

// openCPU returns a stream of a new cpu device. The test fails if any memory of
// the device is live when it ends.
func openCPU(t testing.TB) *tensor.Stream {
	t.Helper()
	dev, err := cpu.Open()
	require.NoError(t, err)
	return openOn(t, dev)
}

// openFake is openCPU on a fakeDevice.
func openFake(t testing.TB) *tensor.Stream {
	t.Helper()
	dev, err := cpu.Open()
	require.NoError(t, err)
	return openOn(t, &fakeDevice{inner: dev})
}

func openOn(t testing.TB, dev device.Device) *tensor.Stream {
	t.Helper()
	s, err := tensor.NewStream(dev)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		require.Zero(t, dev.Stats().Live, "bytes not freed")
		require.Zero(t, dev.Stats().Buffers, "buffers not freed")
		require.NoError(t, dev.Close())
	})
	return s
}

// streams are the kinds of stream that tests run on.
var streams = map[string]func(testing.TB) *tensor.Stream{"cpu": openCPU, "fake": openFake}
