package devicetest

import (
	"bytes"
	"math"
	"testing"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

func info(rig rig) {
	info := rig.dev.Info()
	if info.Backend == "" || info.Name == "" || info.Index < 0 || info.Memory < 0 || info.MaxAlloc < 0 {
		rig.Errorf("implausible: %+v", info)
	}
	switch info.Kind {
	case device.CPU, device.GPU, device.Accelerator:
	default:
		rig.Errorf("kind %q", info.Kind)
	}
	if again := rig.dev.Info(); again != info {
		rig.Errorf("%+v, then %+v", info, again)
	}
	if namer, ok := device.As[device.KernelNamer](rig.q); ok {
		a := rig.buffer(noise(24, 1))
		b := rig.buffer(noise(24, 1))
		class, kernel := namer.KernelName(operand(b, layout.Uint8, dense(0, 24)), operand(a, layout.Uint8, dense(0, 24)))
		if class == "" || kernel == "" {
			rig.Errorf("the class is %q, the kernel %q", class, kernel)
		}
		rig.ok(a.Free())
		rig.ok(b.Free())
	}
}

// transfers writes and reads at every byte of a buffer.
func transfers(rig rig) {
	model := noise(77, 1)
	b := rig.buffer(model)
	for off := int64(0); off <= 77; off++ {
		for n := int64(0); n <= 77-off; n += 1 + off%7*5 {
			data := noise(n, uint64(off))
			copy(model[off:], data)
			rig.ok(rig.q.Write(b, off, data))
			clear(data) // Write has copied it
			part := noise(min(n+2, 77-off), 8)
			rig.ok(rig.q.Read(part, b, off))
			if !bytes.Equal(part, model[off:off+int64(len(part))]) {
				rig.Fatalf("%d bytes written at %d: %d bytes read there differ", n, off, len(part))
			}
		}
		if got := rig.bytes(b); !bytes.Equal(got, model) {
			rig.Fatalf("after writes at %d the buffer differs", off)
		}
	}
	rig.ok(rig.q.Write(b, 0, nil))
	rig.ok(rig.q.Read(nil, b, 77))
	rig.ok(b.Free())
}

func alloc(rig rig) {
	var all []device.Buffer
	for _, n := range []int64{0, 1, 2, 3, 63, 64, 65, 127, 4095, 4096, 4097, 1 << 20} {
		all = append(all, rig.buffer(noise(n, uint64(n))))
	}
	for _, b := range all {
		if !bytes.Equal(rig.bytes(b), noise(b.Size(), uint64(b.Size()))) {
			rig.Errorf("the buffer of %d bytes shares memory with another", b.Size())
		}
	}
	for _, b := range all {
		size := b.Size()
		rig.ok(b.Free())
		if b.Size() != size {
			rig.Errorf("the size of a freed buffer went from %d to %d", size, b.Size())
		}
	}
	absurd := []int64{1 << 60, 1<<62 + 1, math.MaxInt64 - 63, math.MaxInt64}
	if most := rig.dev.Info().MaxAlloc; most > 0 && most < math.MaxInt64 {
		absurd = append(absurd, most+1)
	}
	before := rig.dev.Stats()
	for _, n := range absurd {
		b, err := rig.dev.Alloc(n)
		if err == nil {
			rig.Errorf("Alloc(%d) gave a buffer", n)
			rig.ok(b.Free())
			continue
		}
		if b != nil {
			rig.Errorf("Alloc(%d) gave a buffer and an error", n)
		}
		rig.is(wider(err), device.ErrOutOfMemory, "Alloc(%d)", n)
	}
	after := rig.dev.Stats()
	before.Reserved, after.Reserved = 0, 0 // the pool may have been emptied
	if before != after {
		rig.Errorf("refused allocations took the stats from %+v to %+v", before, after)
	}
	rig.ok(rig.buffer(noise(100, 1)).Free())
}

// empty makes every call on layouts without elements.
func empty(rig rig) {
	data := noise(16, 1)
	a, b := rig.buffer(data), rig.buffer(data)
	none := rig.buffer(nil)
	before := rig.dev.Stats().Launches
	for _, l := range []layout.Layout{
		dense(0, 0), dense(0, 3, 0, 2), dense(0, 0, 1<<62, 1<<62), dense(1<<40, 0),
		strided([]int64{2, 0}, []int64{math.MaxInt64, math.MinInt64}, math.MaxInt64),
	} {
		for _, dst := range []device.Buffer{a, none} {
			for _, src := range []device.Buffer{a, b, none} {
				rig.ok(rig.q.Copy(operand(dst, layout.Int32, l), operand(src, layout.Int32, l)))
				rig.ok(rig.q.Copy(operand(dst, layout.Int2, l), operand(src, layout.Int2, l)))
				rig.ok(rig.q.Convert(operand(dst, layout.Int8, l), operand(src, layout.Int4, l), device.Rounding{}))
				rig.ok(rig.q.Convert(operand(dst, layout.Uint2, l), operand(src, layout.Uint8, l), device.Rounding{}))
			}
			rig.ok(rig.q.Fill(operand(dst, layout.Uint8, l), []byte{1}))
		}
	}
	rig.ok(rig.q.Wait())
	if n := rig.dev.Stats().Launches - before; n != 0 {
		rig.Errorf("%d launches that had nothing to do", n)
	}
	if !bytes.Equal(rig.bytes(a), data) || !bytes.Equal(rig.bytes(b), data) {
		rig.Error("an empty operation changed a buffer")
	}
	for _, b := range []device.Buffer{a, b, none} {
		rig.ok(b.Free())
	}
}

// stats compares the device's counts with the test's own.
func stats(rig rig) {
	var want device.Stats
	same := func(after string) {
		rig.Helper()
		got := rig.dev.Stats()
		if got.Reserved < got.Live {
			rig.Errorf("after %s: %d reserved for %d live", after, got.Reserved, got.Live)
		}
		got.Reserved, got.Waits = 0, 0 // up to the device
		if got != want {
			rig.Fatalf("after %s:\ngot  %+v\nwant %+v", after, got, want)
		}
	}
	same("opening")
	alloc := func(n int64) device.Buffer {
		rig.Helper()
		b, err := rig.dev.Alloc(n)
		rig.ok(err)
		want.Live += n
		want.Peak = max(want.Peak, want.Live)
		want.Buffers++
		same("Alloc")
		return b
	}
	free := func(b device.Buffer) {
		rig.Helper()
		rig.ok(rig.q.Wait())
		rig.ok(b.Free())
		want.Live -= b.Size()
		want.Buffers--
		same("Free")
	}
	a, b, c := alloc(100), alloc(28), alloc(0)
	free(b)
	b = alloc(27)
	rig.ok(rig.q.Write(a, 3, make([]byte, 17)))
	want.Uploads, want.HostToDevice = 1, 17
	same("Write")
	rig.ok(rig.q.Read(make([]byte, 5), a, 1))
	want.Downloads, want.DeviceToHost = 1, 5
	same("Read")
	launch := func(after string, bytes int64, err error) {
		rig.Helper()
		rig.ok(err)
		rig.ok(rig.q.Wait())
		want.Launches++
		want.DeviceToDevice += bytes
		same(after)
	}
	launch("Copy of 6 words", 24, rig.q.Copy(operand(b, layout.Float32, dense(0, 6)), operand(a, layout.Float32, strided([]int64{6}, []int64{4}, 0))))
	launch("Copy of 6 nibbles", 3, rig.q.Copy(operand(b, layout.Int4, dense(1, 6)), operand(a, layout.Int4, dense(0, 6))))
	launch("Copy of 5 nibbles", 3, rig.q.Copy(operand(b, layout.Int4, dense(1, 5)), operand(a, layout.Int4, dense(0, 5))))
	launch("Fill of 5 bytes", 5, rig.q.Fill(operand(b, layout.Int8, dense(1, 5)), []byte{1}))
	launch("unpacking 9 crumbs", 9, rig.q.Convert(operand(b, layout.Int8, dense(0, 9)), operand(a, layout.Int2, dense(0, 9)), device.Rounding{}))
	launch("packing 9 crumbs", 3, rig.q.Convert(operand(b, layout.Int2, dense(0, 9)), operand(a, layout.Int8, dense(0, 9)), device.Rounding{}))
	free(c)
	free(a)
	free(b)
	if want.Live != 0 || want.Buffers != 0 || want.Peak != 128 {
		rig.Errorf("the test miscounted: %+v", want)
	}
}

// trim returns idle memory, of all sizes and with work in flight, and leaves the rest intact.
func trim(rig rig) {
	trimmer, ok := device.As[device.Trimmer](rig.dev)
	if !ok {
		rig.Skip("the device keeps no memory, or cannot return it")
	}
	data := noise(1000, 1)
	kept := rig.buffer(data)
	for n := int64(1); n <= 4<<20; n *= 4 {
		b, err := rig.dev.Alloc(n)
		rig.ok(err)
		rig.ok(rig.q.Fill(operand(b, layout.Uint8, dense(0, n)), []byte{1}))
		rig.ok(b.Free())
	}
	rig.ok(trimmer.Trim()) // work may be in flight
	rig.ok(rig.q.Wait())
	rig.ok(trimmer.Trim())
	if s := rig.dev.Stats(); s.Live != kept.Size() || s.Reserved < s.Live || s.Reserved > 2*s.Live {
		rig.Errorf("of memory for a buffer of %d bytes and idle memory, Trim has left %+v", kept.Size(), s)
	}
	if !bytes.Equal(rig.bytes(kept), data) {
		rig.Error("Trim has changed a buffer")
	}
	rig.ok(kept.Free())
	rig.ok(rig.q.Wait())
	rig.ok(trimmer.Trim())
	if s := rig.dev.Stats(); s.Live != 0 || s.Reserved != 0 {
		rig.Errorf("without buffers, Trim has left %+v", s)
	}
	rig.ok(rig.buffer(data).Free())
	rig.ok(rig.dev.Close())
	rig.is(trimmer.Trim(), device.ErrClosed, "Trim of a closed device")
}

// free frees buffers while queued work uses them, and uses freed ones.
func (r runner) free(t *testing.T) {
	rig := r.rig(t)
	size, rounds := int64(1<<18), int64(40)
	if r.Small {
		size, rounds = 1<<8, 8
	}
	second := rig.fork(t)
	all := rig.buffer(make([]byte, size*rounds))
	for i := range rounds {
		// The block of src may be reused immediately, by either queue.
		src := rig.buffer(noise(size, uint64(i)))
		side := int64(1) << 8
		rig.ok(rig.q.Copy(
			operand(all, layout.Uint8, dense(i*size, size/side, side)),
			operand(src, layout.Uint8, strided([]int64{size / side, side}, []int64{1, size / side}, 0))))
		rig.ok(src.Free())
		scratch := second.buffer(noise(size, 77))
		second.ok(second.q.Fill(operand(scratch, layout.Uint8, dense(0, size)), []byte{0xaa}))
		second.ok(scratch.Free())
	}
	got := rig.bytes(all)
	side := int64(1) << 8
	for i := range rounds {
		from := noise(size, uint64(i))
		for k := range size {
			row, col := k/side, k%side
			if got[i*size+k] != from[row+col*(size/side)] {
				t.Fatalf("round %d: the copy from a buffer that was then freed is wrong at %d", i, k)
			}
		}
	}

	freed, b := rig.buffer(noise(64, 1)), rig.buffer(noise(64, 2))
	rig.ok(freed.Free())
	rig.is(freed.Free(), device.ErrClosed, "second Free")
	rig.refuses("a freed buffer", freed, b)
	if !bytes.Equal(rig.bytes(b), noise(64, 2)) {
		t.Error("a refused call changed a buffer")
	}
	rig.ok(b.Free())
	rig.ok(all.Free())
}

// refuses makes every call of the rig's queue, with bad as some argument, and expects
// ErrClosed.
func (r rig) refuses(what string, bad, good device.Buffer) {
	r.Helper()
	l := dense(0, 4)
	r.is(r.q.Write(bad, 0, make([]byte, 4)), device.ErrClosed, "Write to %s", what)
	r.is(r.q.Read(make([]byte, 4), bad, 0), device.ErrClosed, "Read of %s", what)
	r.is(r.q.Copy(operand(bad, layout.Uint8, l), operand(good, layout.Uint8, l)), device.ErrClosed, "Copy to %s", what)
	r.is(r.q.Copy(operand(good, layout.Uint8, l), operand(bad, layout.Uint8, l)), device.ErrClosed, "Copy from %s", what)
	r.is(r.q.Fill(operand(bad, layout.Uint8, l), []byte{1}), device.ErrClosed, "Fill of %s", what)
	r.is(r.q.Convert(operand(bad, layout.Uint8, l), operand(good, layout.Uint4, l), device.Rounding{}), device.ErrClosed, "Convert to %s", what)
	r.is(r.q.Convert(operand(good, layout.Uint4, l), operand(bad, layout.Uint8, l), device.Rounding{}), device.ErrClosed, "Convert from %s", what)
}

// dead expects that a queue refuses everything.
func (r rig) dead(what string, a, b device.Buffer, event device.Event) {
	r.Helper()
	r.refuses(what, a, b)
	_, err := r.q.Record()
	r.is(err, device.ErrClosed, "Record on %s", what)
	r.is(r.q.WaitFor(event), device.ErrClosed, "WaitFor on %s", what)
	r.is(r.q.Wait(), device.ErrClosed, "Wait on %s", what)
}

func (r runner) closeQueue(t *testing.T) {
	rig := r.rig(t)
	size := int64(1 << 18)
	if r.Small {
		size = 1 << 6
	}
	want := noise(size, 1)
	a, b := rig.buffer(want), rig.buffer(noise(size, 2))
	rig.ok(rig.q.Wait())
	closed := rig.fork(t)
	for range 4 { // work to wait for
		rig.ok(closed.q.Fill(operand(b, layout.Uint8, dense(0, size)), []byte{1}))
	}
	rig.ok(closed.q.Copy(operand(b, layout.Uint8, dense(0, size)), operand(a, layout.Uint8, strided([]int64{size}, []int64{-1}, size-1))))
	event, err := closed.q.Record()
	rig.ok(err)
	rig.ok(closed.q.Close())
	if !event.Done() {
		t.Error("Close did not wait for the queue's work")
	}
	rig.ok(event.Wait())
	rig.ok(rig.q.WaitFor(event)) // it has been reached
	for i, got := range rig.bytes(b) {
		if got != want[size-1-int64(i)] {
			t.Fatal("work queued before Close was not done")
		}
	}
	closed.dead("a closed queue", a, b, event)
	rig.is(closed.q.Close(), device.ErrClosed, "second Close of a queue")
	if !bytes.Equal(rig.bytes(a), want) {
		t.Error("a refused call changed a buffer")
	}
	rig.ok(a.Free())
	rig.ok(b.Free())
}

// closeDevice closes a device with buffers and queues alive and work in flight.
func (r runner) closeDevice(t *testing.T) {
	dev := r.open(t)
	q, err := dev.NewQueue()
	if err != nil {
		t.Fatal(err)
	}
	rig := rig{t, dev, q, new(int)}
	size := int64(1 << 20)
	if r.Small {
		size = 1 << 8
	}
	a, b := rig.buffer(noise(size, 1)), rig.buffer(noise(size, 2))
	rig.ok(q.Copy(operand(b, layout.Uint8, dense(0, 2, size/2)), operand(a, layout.Uint8, strided([]int64{2, size / 2}, []int64{1, 2}, 0))))
	event, err := q.Record()
	rig.ok(err)
	rig.ok(dev.Close())
	_, err = dev.Alloc(1)
	rig.is(err, device.ErrClosed, "Alloc on a closed device")
	_, err = dev.NewQueue()
	rig.is(err, device.ErrClosed, "NewQueue on a closed device")
	rig.is(a.Free(), device.ErrClosed, "Free on a closed device")
	rig.dead("a closed device", a, b, event)
	dev.Stats()
	dev.Info()
	rig.is(q.Close(), device.ErrClosed, "Close of a queue of a closed device")
	rig.is(dev.Close(), device.ErrClosed, "second Close of a device")
}
