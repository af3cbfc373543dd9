package devicetest

import (
	"math"
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// stringRig is a rig of a device that holds strings.
type stringRig struct {
	rig
	allocator device.StringAllocator
	strings   device.StringQueue
}

// holdsStrings checks a device that holds strings; sweeps of Copy and Fill on strings are in the
// random cases.
func holdsStrings(rig rig) {
	if !rig.dev.Info().Strings {
		rig.Skip("the device holds no strings")
	}
	allocator, ok := device.As[device.StringAllocator](rig.dev)
	q, ok2 := device.As[device.StringQueue](rig.q)
	if !ok || !ok2 {
		rig.Fatal("the device says that it holds strings, and lacks the methods")
	}
	r := stringRig{rig, allocator, q}
	a, b := r.moveStrings()
	r.refuseStrings(a, b)
	r.freeStrings(a, b)
}

func textIn(b device.Buffer, l layout.Layout) device.Operand { return operand(b, layout.String, l) }

// alloc returns a buffer of n strings.
func (r stringRig) alloc(n int64) device.Buffer {
	r.Helper()
	b, err := r.allocator.AllocStrings(n)
	r.ok(err)
	if _, ok := b.(device.StringBuffer); !ok || b.Size() != n {
		r.Fatalf("AllocStrings(%d) gave a %T of size %d", n, b, b.Size())
	}
	return b
}

// holds compares the whole content of a buffer.
func (r stringRig) holds(b device.Buffer, want ...string) {
	r.Helper()
	got := slices.Repeat([]string{"unread"}, int(b.Size()))
	r.ok(r.strings.ReadStrings(got, b, 0))
	if !slices.Equal(got, want) {
		r.Errorf("got %q, want %q", got, want)
	}
}

// moveStrings writes, reads, copies and fills strings in two buffers that it returns, and compares
// the device's counts.
func (r stringRig) moveStrings() (a, b device.Buffer) {
	before := r.dev.Stats()
	a, b = r.alloc(6), r.alloc(6)
	r.holds(a, "", "", "", "", "", "")
	words := []string{"b", "c"}
	r.ok(r.strings.WriteStrings(a, 1, words))
	words[0] = "changed later"
	r.ok(r.strings.WriteStrings(a, 3, []string{"d", "e", "f\x00\xff"}))
	r.ok(r.strings.WriteStrings(a, 6, nil))
	r.holds(a, "", "b", "c", "d", "e", "f\x00\xff")
	part := []string{"", ""}
	r.ok(r.strings.ReadStrings(part, a, 2))
	if !slices.Equal(part, []string{"c", "d"}) {
		r.Errorf("got %q", part)
	}
	r.ok(r.q.Copy(textIn(b, dense(0, 2, 3)), textIn(a, strided([]int64{2, 3}, []int64{1, 2}, 0))))
	r.holds(b, "", "c", "e", "b", "d", "f\x00\xff")
	r.ok(r.strings.FillString(textIn(b, strided([]int64{3}, []int64{-2}, 5)), "x"))
	r.holds(b, "", "x", "e", "x", "d", "x")
	r.ok(r.q.Copy(textIn(b, dense(0, 3)), textIn(b, dense(3, 3)))) // one behind the other in one buffer
	r.holds(b, "x", "d", "x", "x", "d", "x")
	r.ok(r.strings.FillString(textIn(b, dense(0, 0)), "nothing"))
	after := r.dev.Stats()
	const header = 16
	want := device.Stats{
		Uploads: before.Uploads + 3, HostToDevice: before.HostToDevice + 5*header,
		Downloads: before.Downloads + 6, DeviceToHost: before.DeviceToHost + 32*header,
		Launches: before.Launches + 3, DeviceToDevice: before.DeviceToDevice + 12*header,
		Live: before.Live + 12*header, Peak: max(before.Peak, before.Live+12*header), Buffers: before.Buffers + 2,
		Reserved: after.Reserved, Waits: after.Waits,
	}
	if after != want {
		r.Errorf("stats: got %+v, want %+v", after, want)
	}
	return a, b
}

// refuseStrings makes calls that a device must refuse, and checks that the buffers of
// moveStrings do not change.
func (r stringRig) refuseStrings(a, b device.Buffer) {
	bytes := r.buffer(noise(96, 1))
	for _, c := range []call{
		{"bytes to strings", func() error { return r.q.Write(a, 0, []byte{1}) }},
		{"no bytes to strings", func() error { return r.q.Write(a, 0, nil) }},
		{"bytes from strings", func() error { return r.q.Read(make([]byte, 1), a, 0) }},
		{"strings to bytes", func() error { return r.strings.WriteStrings(bytes, 0, []string{""}) }},
		{"strings from bytes", func() error { return r.strings.ReadStrings(make([]string, 1), bytes, 0) }},
		{"strings to nothing", func() error { return r.strings.WriteStrings(nil, 0, []string{""}) }},
		{"strings from nothing", func() error { return r.strings.ReadStrings(make([]string, 1), nil, 0) }},
		{"write beyond", func() error { return r.strings.WriteStrings(a, 5, []string{"", ""}) }},
		{"write before", func() error { return r.strings.WriteStrings(a, -1, []string{""}) }},
		{"read beyond", func() error { return r.strings.ReadStrings(make([]string, 7), a, 0) }},
		{"read far beyond", func() error { return r.strings.ReadStrings(make([]string, 1), a, math.MaxInt64) }},
		{"strings copied to bytes", func() error { return r.q.Copy(operand(bytes, layout.Uint8, dense(0, 4)), textIn(a, dense(0, 4))) }},
		{"bytes copied to strings", func() error { return r.q.Copy(textIn(a, dense(0, 4)), operand(bytes, layout.Uint8, dense(0, 4))) }},
		{"strings seen as bytes", func() error {
			return r.q.Copy(operand(a, layout.Uint8, dense(0, 4)), operand(bytes, layout.Uint8, dense(0, 4)))
		}},
		{"bytes seen as strings", func() error { return r.q.Copy(textIn(a, dense(0, 4)), textIn(bytes, dense(0, 4))) }},
		{"copy onto itself", func() error { return r.q.Copy(textIn(a, dense(1, 4)), textIn(a, dense(0, 4))) }},
		{"copy beyond", func() error { return r.q.Copy(textIn(b, dense(3, 4)), textIn(a, dense(0, 4))) }},
		{"fill strings with bytes", func() error { return r.q.Fill(textIn(a, dense(0, 4)), nil) }},
		{"fill bytes with a string", func() error { return r.strings.FillString(operand(bytes, layout.Uint8, dense(0, 4)), "x") }},
		{"fill bytes as strings", func() error { return r.strings.FillString(textIn(bytes, dense(0, 4)), "x") }},
		{"fill nothing", func() error { return r.strings.FillString(textIn(nil, dense(0, 4)), "x") }},
		{"fill beyond", func() error { return r.strings.FillString(textIn(a, dense(0, 7)), "x") }},
		{"fill a broadcast", func() error { return r.strings.FillString(textIn(a, strided([]int64{4}, []int64{0}, 0)), "x") }},
		{"convert strings", func() error { return r.q.Convert(textIn(a, dense(0, 4)), textIn(b, dense(0, 4)), device.Rounding{}) }},
		{"alloc -1", func() error { _, err := r.allocator.AllocStrings(-1); return err }},
	} {
		r.is(c.do(), device.ErrInvalid, "%s", c.name)
	}
	r.holds(a, "", "b", "c", "d", "e", "f\x00\xff")
	r.holds(b, "x", "d", "x", "x", "d", "x")
	r.ok(bytes.Free())
	for _, n := range []int64{1 << 58, 1 << 60, math.MaxInt64} {
		if _, err := r.allocator.AllocStrings(n); err == nil {
			r.Errorf("AllocStrings(%d) gave a buffer", n)
		} else {
			r.is(wider(err), device.ErrOutOfMemory, "AllocStrings(%d)", n)
		}
	}
}

// freeStrings frees the buffers, and uses them and a closed queue.
func (r stringRig) freeStrings(a, b device.Buffer) {
	r.ok(r.q.Wait())
	r.ok(a.Free())
	r.is(a.Free(), device.ErrClosed, "second Free")
	r.is(r.strings.WriteStrings(a, 0, []string{""}), device.ErrClosed, "WriteStrings to a freed buffer")
	r.is(r.strings.ReadStrings(make([]string, 1), a, 0), device.ErrClosed, "ReadStrings of a freed buffer")
	r.is(r.strings.FillString(textIn(a, dense(0, 1)), ""), device.ErrClosed, "FillString of a freed buffer")
	r.is(r.q.Copy(textIn(b, dense(0, 1)), textIn(a, dense(0, 1))), device.ErrClosed, "Copy from a freed buffer")
	a = r.alloc(6) // perhaps the same block
	r.holds(a, "", "", "", "", "", "")
	r.ok(a.Free())
	r.ok(b.Free())

	closed := r.fork(r.T)
	r.ok(closed.q.Close())
	q, _ := device.As[device.StringQueue](closed.q)
	r.is(q.FillString(textIn(b, dense(0, 1)), ""), device.ErrClosed, "FillString on a closed queue")
}
