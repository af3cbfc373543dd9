package onnx_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// fake is the cpu device as one that is no cpu: its memory cannot be read in
// place and holds no strings, so that every transfer counts.
type fake struct {
	dev      device.Device
	failCopy bool // makes every Copy fail
	failAt   int  // makes the call fail that is so many away: 1 is the next; 0: none
}

// due is the error of a call, if it is the one to fail.
func (f *fake) due(op string) error {
	if f.failAt > 0 {
		if f.failAt--; f.failAt == 0 {
			return layout.Errorf(device.ErrOutOfMemory, op, "as the test wants it")
		}
	}
	return nil
}

type fakeBuffer struct{ device.Buffer }

type fakeQueue struct {
	dev   *fake
	queue device.Queue
}

// openFake returns a stream on a new fake.
func openFake(tb testing.TB) (*tensor.Stream, *fake) {
	tb.Helper()
	dev, err := cpu.Open()
	require.NoError(tb, err)
	f := &fake{dev: dev}
	return openOn(tb, f), f
}

// openHostFake returns a stream on a new hostFake.
func openHostFake(tb testing.TB) *tensor.Stream {
	tb.Helper()
	dev, err := cpu.Open()
	require.NoError(tb, err)
	return openOn(tb, hostFake{&fake{dev: dev}})
}

func (f *fake) Info() device.Info   { return device.Info{Backend: "fake", Name: "fake"} }
func (f *fake) Stats() device.Stats { return f.dev.Stats() }
func (f *fake) Close() error        { return f.dev.Close() }

func (f *fake) Alloc(bytes int64) (device.Buffer, error) {
	if err := f.due("Alloc"); err != nil {
		return nil, err
	}
	b, err := f.dev.Alloc(bytes)
	if err != nil {
		return nil, err
	}
	return &fakeBuffer{b}, nil
}

func (f *fake) NewQueue() (device.Queue, error) {
	q, err := f.dev.NewQueue()
	return &fakeQueue{f, q}, err
}

// hostFake is a fake with memory that is the host's, still without strings.
type hostFake struct{ *fake }

func (f hostFake) HostBytes(b device.Buffer) ([]byte, bool) {
	return f.dev.(device.HostMemory).HostBytes(inner(b))
}

func (f hostFake) WrapHost(b []byte) device.Buffer {
	return &fakeBuffer{f.dev.(device.HostMemory).WrapHost(b)}
}

// inner returns the cpu buffer of a fake's; any other makes the cpu refuse it.
func inner(b device.Buffer) device.Buffer {
	if f, ok := b.(*fakeBuffer); ok {
		return f.Buffer
	}
	return nil
}

func innerOf(o device.Operand) device.Operand {
	o.Buffer = inner(o.Buffer)
	return o
}

func (q *fakeQueue) Write(dst device.Buffer, off int64, src []byte) error {
	if err := q.dev.due("Write"); err != nil {
		return err
	}
	return q.queue.Write(inner(dst), off, src)
}

func (q *fakeQueue) Read(dst []byte, src device.Buffer, off int64) error {
	if err := q.dev.due("Read"); err != nil {
		return err
	}
	return q.queue.Read(dst, inner(src), off)
}

func (q *fakeQueue) Copy(dst, src device.Operand) error {
	if err := q.dev.due("Copy"); err != nil {
		return err
	}
	if q.dev.failCopy {
		return layout.Errorf(device.ErrOutOfMemory, "Copy", "as the test wants it")
	}
	return q.queue.Copy(innerOf(dst), innerOf(src))
}

func (q *fakeQueue) Fill(dst device.Operand, pattern []byte) error {
	if err := q.dev.due("Fill"); err != nil {
		return err
	}
	return q.queue.Fill(innerOf(dst), pattern)
}

func (q *fakeQueue) Convert(dst, src device.Operand, how device.Rounding) error {
	if err := q.dev.due("Convert"); err != nil {
		return err
	}
	return q.queue.Convert(innerOf(dst), innerOf(src), how)
}

func (q *fakeQueue) Take(dst, src, at device.Operand, by ...layout.Index) error {
	if err := q.dev.due("Take"); err != nil {
		return err
	}
	return q.queue.Take(innerOf(dst), innerOf(src), innerOf(at), by...)
}

func (q *fakeQueue) Dequantize(dst, src device.Operand, by device.Scaling) error {
	if err := q.dev.due("Dequantize"); err != nil {
		return err
	}
	by.Scale, by.Zero, by.Add = innerOf(by.Scale), innerOf(by.Zero), innerOf(by.Add)
	return q.queue.Dequantize(innerOf(dst), innerOf(src), by)
}

func (q *fakeQueue) Quantize(dst, src device.Operand, by device.Quantization) error {
	if err := q.dev.due("Quantize"); err != nil {
		return err
	}
	by.Scale, by.Zero = innerOf(by.Scale), innerOf(by.Zero)
	return q.queue.Quantize(innerOf(dst), innerOf(src), by)
}

func (q *fakeQueue) Map(dst, src, table device.Operand) error {
	if err := q.dev.due("Map"); err != nil {
		return err
	}
	return q.queue.Map(innerOf(dst), innerOf(src), innerOf(table))
}

func (q *fakeQueue) Where(dst, cond, a, b device.Operand) error {
	if err := q.dev.due("Where"); err != nil {
		return err
	}
	return q.queue.Where(innerOf(dst), innerOf(cond), innerOf(a), innerOf(b))
}

func (q *fakeQueue) Put(dst, src, at device.Operand, how device.Reduction, by ...layout.Index) error {
	if err := q.dev.due("Put"); err != nil {
		return err
	}
	return q.queue.Put(innerOf(dst), innerOf(src), innerOf(at), how, by...)
}

func (q *fakeQueue) Record() (device.Event, error) {
	if err := q.dev.due("Record"); err != nil {
		return nil, err
	}
	return q.queue.Record()
}

func (q *fakeQueue) WaitFor(e device.Event) error                          { return q.queue.WaitFor(e) }
func (q *fakeQueue) Wait() error                                           { return q.queue.Wait() }
func (q *fakeQueue) Close() error                                          { return q.queue.Close() }
func (q *fakeQueue) KernelName(_, _ device.Operand) (class, kernel string) { return "copy", "fake" }
