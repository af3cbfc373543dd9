package gpu_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/gpu/gputest"
	"github.com/restride/restride/layout"
)

// readOf reads the first bytes of a buffer.
func readOf(q *gpu.Queue, b device.Buffer) error { return q.Read(make([]byte, 8), b, 0) }

// TestBugLateErrorsGoAstray: the error of a piece of work goes to those that depend on it, not
// to whoever waits first, and a second read of invalid bytes fails again.
func TestBugLateErrorsGoAstray(t *testing.T) {
	dev := open(t, newFake(t))
	q := gputest.Queue(t, dev)
	src, at := gputest.Alloc(t, dev, 64), gputest.Alloc(t, dev, 64)
	right, wrong, copied := gputest.Alloc(t, dev, 64), gputest.Alloc(t, dev, 64), gputest.Alloc(t, dev, 64)
	take := func(dst device.Buffer) {
		d, s, i, by := gputest.Take(dst, src, at)
		require.NoError(t, q.Take(d, s, i, by))
	}
	take(right)
	q.Stream().(*stream).noted = [2]int64{9, 8}
	take(wrong)
	require.NoError(t, q.Copy(gputest.Bytes(copied, 8), gputest.Bytes(wrong, 8)))
	for range 2 {
		require.NoError(t, readOf(q, right))
		require.NoError(t, q.CheckBuffer(right, 0, 64))
		for _, b := range []device.Buffer{wrong, copied} {
			require.ErrorContains(t, readOf(q, b), "Take: index 9 is outside")
			require.ErrorContains(t, q.CheckBuffer(b, 0, 8), "Take: index 9 is outside")
			require.NoError(t, q.CheckBuffer(b, 8, 56), "which nothing has written")
			e, err := q.ReadAsync(make([]byte, 8), b, 0)
			require.NoError(t, err)
			require.ErrorContains(t, e.Wait(), "Take: index 9 is outside")
		}
	}
	require.NoError(t, q.Wait(), "it was told")

	// Overwritten bytes are valid again, in whole or in part.
	require.NoError(t, q.Write(wrong, 2, make([]byte, 4)))
	require.NoError(t, q.CheckBuffer(wrong, 2, 4))
	require.Error(t, q.CheckBuffer(wrong, 0, 2))
	require.Error(t, q.CheckBuffer(wrong, 6, 2))
	take(wrong)
	require.NoError(t, readOf(q, wrong))
	require.NoError(t, q.Fill(gputest.Bytes(copied, 8), []byte{1}))
	require.NoError(t, readOf(q, copied))
}

// A read on another queue, after an event, does not wait for later work of the first.
func TestOutcomesAcrossQueues(t *testing.T) {
	dev := open(t, newFake(t))
	q, other := gputest.Queue(t, dev), gputest.Queue(t, dev)
	a, b, c, at := gputest.Alloc(t, dev, 64), gputest.Alloc(t, dev, 64), gputest.Alloc(t, dev, 64), gputest.Alloc(t, dev, 64)
	d, s, i, by := gputest.Take(b, a, at)
	letGo := hold(t, q)
	q.Stream().(*stream).noted = [2]int64{9, 8}
	require.NoError(t, q.Take(d, s, i, by))
	e, err := q.Record()
	require.NoError(t, err)
	require.NoError(t, other.WaitFor(e))
	require.NoError(t, other.Copy(gputest.Bytes(c, 8), gputest.Bytes(b, 8)))
	letGo()
	q.Stream().(*stream).busy.Wait()
	letGo = hold(t, q)
	gputest.Fill(t, q, a, 1) // later work, which does not finish
	require.ErrorContains(t, readOf(other, c), "index 9 is outside")
	letGo()

	// Without an event, the read waits for the first queue.
	require.NoError(t, q.Take(d, s, i, by))
	require.NoError(t, readOf(other, b))

	// The outcome is unknown for a queue that was closed while the driver failed.
	f := newFake(t)
	dev = open(t, f)
	q, other = gputest.Queue(t, dev), gputest.Queue(t, dev)
	a, b, at = gputest.Alloc(t, dev, 64), gputest.Alloc(t, dev, 64), gputest.Alloc(t, dev, 64)
	d, s, i, by = gputest.Take(b, a, at)
	require.NoError(t, q.Take(d, s, i, by))
	f.fail("Download", errWork)
	require.ErrorIs(t, q.Close(), errWork)
	require.ErrorContains(t, readOf(other, b), "closed before it was known")
}

// A fault of the device is an error of all bytes that the work before it has written, and of
// bytes derived from them, at each read; not of other buffers, nor of bytes written later.
func TestFaultsFollowBuffers(t *testing.T) {
	for name, tell := range map[string]func(*testing.T, *fake, *gpu.Queue) error{
		"Wait": func(t *testing.T, f *fake, q *gpu.Queue) error { return q.Wait() },
		"Event": func(t *testing.T, f *fake, q *gpu.Queue) error {
			f.fail("EventWait", errWork)
			f.fail("EventWait", errWork)
			e, err := q.Record()
			require.NoError(t, err)
			return e.Wait()
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			dev := open(t, f)
			q := gputest.Queue(t, dev)
			before, wrong, copied, after := gputest.Alloc(t, dev, 64), gputest.Alloc(t, dev, 64), gputest.Alloc(t, dev, 64), gputest.Alloc(t, dev, 64)
			gputest.Fill(t, q, before, 1)
			require.NoError(t, q.Wait())
			if name == "Wait" {
				f.fail("work", errWork)
			}
			gputest.Fill(t, q, wrong, 1)
			require.ErrorIs(t, tell(t, f, q), errWork)
			require.NoError(t, q.Copy(gputest.Bytes(copied, 8), gputest.Bytes(wrong, 8)))
			gputest.Fill(t, q, after, 1)
			for range 2 {
				require.ErrorIs(t, readOf(q, wrong), errWork)
				require.ErrorIs(t, readOf(q, copied), errWork)
				require.NoError(t, readOf(q, before))
			}
			require.NoError(t, q.Write(wrong, 0, make([]byte, 4)))
			require.ErrorIs(t, readOf(q, wrong), errWork, "a part is as it was")
			gputest.Fill(t, q, wrong, 2)
			require.NoError(t, readOf(q, wrong))
			require.NoError(t, q.Wait())
			gputest.Fill(t, q, after, 1)
			require.NoError(t, readOf(q, after))
		})
	}
}

// A status whose transfer to the host failed is asked for again.
func TestOutcomesAfterFaults(t *testing.T) {
	f := newFake(t)
	dev := open(t, f)
	q := gputest.Queue(t, dev)
	a, b, at := gputest.Alloc(t, dev, 64), gputest.Alloc(t, dev, 64), gputest.Alloc(t, dev, 64)
	d, s, i, by := gputest.Take(b, a, at)
	for range 100 {
		q.Stream().(*stream).noted = [2]int64{9, 8}
		require.NoError(t, q.Take(d, s, i, by))
		f.fail("Finish", errWork)
		require.ErrorIs(t, q.Wait(), errWork)
		require.ErrorContains(t, q.Wait(), "index 9 is outside")
		require.NoError(t, q.Take(d, s, i, by), "which makes b right again")
		require.NoError(t, readOf(q, b))
	}
}

// Takes beyond the number of slots wait, and each has its own outcome.
func TestManyOutcomes(t *testing.T) {
	dev := open(t, newFake(t))
	q := gputest.Queue(t, dev)
	const n = 3000
	a, at := gputest.Alloc(t, dev, 64), gputest.Alloc(t, dev, 64)
	all := make([]*gpu.Buffer, n)
	for k := range all {
		all[k] = gputest.Alloc(t, dev, 64)
		d, s, i, by := gputest.Take(all[k], a, at)
		if k%3 == 0 {
			q.Stream().(*stream).noted = [2]int64{int64(8 + k), 8}
		}
		require.NoError(t, q.Take(d, s, i, by))
	}
	for k, b := range all {
		if err := q.CheckBuffer(b, 0, 8); k%3 == 0 {
			require.ErrorContains(t, err, "index")
		} else {
			require.NoError(t, err)
		}
	}
	require.NoError(t, errors.Join(readOf(q, all[1]), q.Wait()))

	// A chain that nobody waits for does not accumulate outcomes without bound.
	for k := range n {
		d, s, i, by := gputest.Take(all[(k+1)%2], all[k%2], at)
		require.NoError(t, q.Take(d, s, i, by))
		if k%10 == 0 {
			q.Stream().(*stream).busy.Wait() // so that the device is not behind
		}
		require.Less(t, all[(k+1)%2].Marks(), 100)
	}
	require.NoError(t, q.Wait())
}

// Bytes that another device has copied are as invalid as their source.
func TestPeerOutcomes(t *testing.T) {
	p := newPair(t)
	src, at := gputest.Alloc(t, p.devs[0], 64), gputest.Alloc(t, p.devs[0], 64)
	d, s, i, by := gputest.Take(p.bufs[0], src, at)
	p.queues[0].Stream().(*stream).noted = [2]int64{9, 8}
	require.NoError(t, p.queues[0].Take(d, s, i, by))
	require.NoError(t, p.copyOver())
	require.ErrorContains(t, readOf(p.queues[1], p.bufs[1]), "index 9 is outside")
	require.NoError(t, p.queues[0].Take(d, s, i, by))
	require.NoError(t, p.copyOver())
	require.NoError(t, readOf(p.queues[1], p.bufs[1]))
}

// A transfer that fails in flight is an error of its buffer, even if only a later write polls.
func TestStagedWritesThatFail(t *testing.T) {
	f := newFake(t)
	dev := open(t, f)
	q := gputest.Queue(t, dev)
	lost, other := gputest.Alloc(t, dev, gpu.SlotSize), gputest.Alloc(t, dev, gpu.SlotSize)
	f.fail("EventWait", errWork)
	data := make([]byte, gpu.SlotSize)
	require.NoError(t, q.Write(lost, 0, data))
	for range 4 {
		require.NoError(t, q.Write(other, 0, data))
	}
	require.ErrorIs(t, readOf(q, lost), errWork)
	require.NoError(t, q.Write(other, 0, data))
	require.NoError(t, readOf(q, other))
}

// A status that an event with a fault announced may not have reached the host: it is ignored,
// and asked for again.
func TestOutcomesThatDidNotCome(t *testing.T) {
	f := newFake(t)
	dev := open(t, f)
	q := gputest.Queue(t, dev)
	a, b, at := gputest.Alloc(t, dev, 64), gputest.Alloc(t, dev, 64), gputest.Alloc(t, dev, 64)
	d, s, i, by := gputest.Take(b, a, at)
	require.NoError(t, q.Take(d, s, i, by)) // its page has been cleared
	require.NoError(t, q.Wait())
	f.then("work", func() error { return nil }) // the take
	f.fail("work", errWork)                     // the transfer to the host
	q.Stream().(*stream).noted = [2]int64{9, 8}
	require.NoError(t, q.Take(d, s, i, by))
	f.fail("EventWait", errWork)
	f.fail("EventWait", errWork)
	e, err := q.Record()
	require.NoError(t, err)
	require.ErrorIs(t, e.Wait(), errWork)
	require.ErrorIs(t, q.CheckBuffer(b, 0, 8), errWork) // which Finish returns, too
	require.ErrorContains(t, q.CheckBuffer(b, 0, 8), "index 9 is outside")
}

// Every operation passes errors on from all its inputs to all its outputs.
func TestOutcomesOfOperations(t *testing.T) {
	dev := open(t, newFake(t))
	q := gputest.Queue(t, dev)
	const n = 32
	of := func(dtype layout.DType, strides ...int64) device.Operand {
		l, err := layout.Strided([]int64{n}, append(strides, 1)[:1], 0)
		require.NoError(t, err)
		return device.Operand{Buffer: gputest.Alloc(t, dev, 8*n), Layout: l, Type: dtype}
	}
	table := func() device.Operand {
		o := of(layout.Float32)
		o.Layout, _ = layout.Contiguous(16)
		return o
	}
	f, i8, u4, at, truth := layout.Float32, layout.Int8, layout.Uint4, layout.Int32, layout.Bool
	by := layout.Index{Extent: n, Stride: 1}
	skips := by
	skips.OutOfRange = layout.OutOfRangeSkip
	for name, op := range map[string]struct {
		operands []device.Operand
		writes   int // the number of leading operands that it writes
		reads    int // the index of the first operand that it reads
		call     func(o []device.Operand) error
	}{
		"Copy":    {[]device.Operand{of(f), of(f)}, 1, 1, func(o []device.Operand) error { return q.Copy(o[0], o[1]) }},
		"Convert": {[]device.Operand{of(f), of(i8)}, 1, 1, func(o []device.Operand) error { return q.Convert(o[0], o[1], device.Rounding{}) }},
		"Map":     {[]device.Operand{of(f), of(u4), table()}, 1, 1, func(o []device.Operand) error { return q.Map(o[0], o[1], o[2]) }},
		"Where":   {[]device.Operand{of(f), of(truth), of(f), of(f)}, 1, 1, func(o []device.Operand) error { return q.Where(o[0], o[1], o[2], o[3]) }},
		"Dequantize": {[]device.Operand{of(f), of(i8), of(f, 0), of(i8, 0), of(f, 0)}, 1, 1, func(o []device.Operand) error {
			return q.Dequantize(o[0], o[1], device.Scaling{Scale: o[2], Zero: o[3], Add: o[4]})
		}},
		"Quantize": {[]device.Operand{of(i8), of(f), of(f, 0), of(i8, 0)}, 1, 1, func(o []device.Operand) error {
			return q.Quantize(o[0], o[1], device.Quantization{Scale: o[2], Zero: o[3]})
		}},
		"FindScale": {[]device.Operand{of(i8), of(f, 0), of(f)}, 2, 2, func(o []device.Operand) error {
			return q.Quantize(o[0], o[2], device.Quantization{Scale: o[1], FindScale: true})
		}},
		"Take": {[]device.Operand{of(f), of(f, 0), of(at)}, 1, 1, func(o []device.Operand) error { return q.Take(o[0], o[1], o[2], by) }},
		// Skipped elements keep their values: dst is read, too.
		"TakeSome": {[]device.Operand{of(f), of(f, 0), of(at)}, 1, 0, func(o []device.Operand) error { return q.Take(o[0], o[1], o[2], skips) }},
		"Put":      {[]device.Operand{of(f, 0), of(f), of(at)}, 1, 0, func(o []device.Operand) error { return q.Put(o[0], o[1], o[2], device.ReduceSet, by) }},
		"Add":      {[]device.Operand{of(f, 0), of(f), of(at)}, 1, 0, func(o []device.Operand) error { return q.Put(o[0], o[1], o[2], device.ReduceAdd, by) }},
	} {
		t.Run(name, func(t *testing.T) {
			for read := op.reads; read < len(op.operands); read++ {
				for _, o := range op.operands {
					require.NoError(t, q.Write(o.Buffer, 0, make([]byte, 8*n)))
				}
				require.NoError(t, op.call(op.operands))
				for _, o := range op.operands[:op.writes] {
					require.NoError(t, readOf(q, o.Buffer))
				}
				d, s, i, index := gputest.Take(op.operands[read].Buffer, gputest.Alloc(t, dev, 64), gputest.Alloc(t, dev, 64))
				q.Stream().(*stream).noted = [2]int64{9, 8}
				require.NoError(t, q.Take(d, s, i, index))
				require.NoError(t, op.call(op.operands))
				for k, o := range op.operands {
					if err := readOf(q, o.Buffer); k < op.writes || k == read {
						require.ErrorContains(t, err, "index 9 is outside", "operand %d, of %d", k, read)
					} else {
						require.NoError(t, err, "operand %d, of %d", k, read)
					}
				}
			}
		})
	}
}
