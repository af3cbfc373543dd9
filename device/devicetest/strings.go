package devicetest

import (
	"math"
	"slices"
	"testing"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// strings checks a device that holds strings; sweeps of Copy and Fill on strings are in the
// random cases.
func (r runner) strings(t *testing.T) {
	rig := r.rig(t)
	if !rig.dev.Info().Strings {
		t.Skip("the device holds no strings")
	}
	allocator, ok := device.As[device.StringAllocator](rig.dev)
	q, ok2 := device.As[device.StringQueue](rig.q)
	if !ok || !ok2 {
		t.Fatal("the device says that it holds strings, and lacks the methods")
	}
	alloc := func(n int64) device.Buffer {
		t.Helper()
		b, err := allocator.AllocStrings(n)
		rig.ok(err)
		if _, ok := b.(device.StringBuffer); !ok || b.Size() != n {
			t.Fatalf("AllocStrings(%d) gave a %T of size %d", n, b, b.Size())
		}
		return b
	}
	read := func(b device.Buffer) []string {
		t.Helper()
		got := slices.Repeat([]string{"unread"}, int(b.Size()))
		rig.ok(q.ReadStrings(got, b, 0))
		return got
	}
	same := func(b device.Buffer, want ...string) {
		t.Helper()
		if got := read(b); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	text := func(b device.Buffer, l layout.Layout) device.Operand { return operand(b, layout.String, l) }

	before := rig.dev.Stats()
	a, b := alloc(6), alloc(6)
	same(a, "", "", "", "", "", "")
	words := []string{"b", "c"}
	rig.ok(q.WriteStrings(a, 1, words))
	words[0] = "changed later"
	rig.ok(q.WriteStrings(a, 3, []string{"d", "e", "f\x00\xff"}))
	rig.ok(q.WriteStrings(a, 6, nil))
	same(a, "", "b", "c", "d", "e", "f\x00\xff")
	part := []string{"", ""}
	rig.ok(q.ReadStrings(part, a, 2))
	if !slices.Equal(part, []string{"c", "d"}) {
		t.Errorf("got %q", part)
	}
	rig.ok(rig.q.Copy(text(b, dense(0, 2, 3)), text(a, strided([]int64{2, 3}, []int64{1, 2}, 0))))
	same(b, "", "c", "e", "b", "d", "f\x00\xff")
	rig.ok(q.FillString(text(b, strided([]int64{3}, []int64{-2}, 5)), "x"))
	same(b, "", "x", "e", "x", "d", "x")
	rig.ok(rig.q.Copy(text(b, dense(0, 3)), text(b, dense(3, 3)))) // one behind the other in one buffer
	same(b, "x", "d", "x", "x", "d", "x")
	rig.ok(q.FillString(text(b, dense(0, 0)), "nothing"))
	after := rig.dev.Stats()
	const header = 16
	want := device.Stats{
		Uploads: before.Uploads + 3, HostToDevice: before.HostToDevice + 5*header,
		Downloads: before.Downloads + 6, DeviceToHost: before.DeviceToHost + 32*header,
		Launches: before.Launches + 3, DeviceToDevice: before.DeviceToDevice + 12*header,
		Live: before.Live + 12*header, Peak: max(before.Peak, before.Live+12*header), Buffers: before.Buffers + 2,
		Reserved: after.Reserved, Waits: after.Waits,
	}
	if after != want {
		t.Errorf("stats: got %+v, want %+v", after, want)
	}

	bytes := rig.buffer(noise(96, 1))
	for _, c := range []call{
		{"bytes to strings", func() error { return rig.q.Write(a, 0, []byte{1}) }},
		{"no bytes to strings", func() error { return rig.q.Write(a, 0, nil) }},
		{"bytes from strings", func() error { return rig.q.Read(make([]byte, 1), a, 0) }},
		{"strings to bytes", func() error { return q.WriteStrings(bytes, 0, []string{""}) }},
		{"strings from bytes", func() error { return q.ReadStrings(make([]string, 1), bytes, 0) }},
		{"strings to nothing", func() error { return q.WriteStrings(nil, 0, []string{""}) }},
		{"strings from nothing", func() error { return q.ReadStrings(make([]string, 1), nil, 0) }},
		{"write beyond", func() error { return q.WriteStrings(a, 5, []string{"", ""}) }},
		{"write before", func() error { return q.WriteStrings(a, -1, []string{""}) }},
		{"read beyond", func() error { return q.ReadStrings(make([]string, 7), a, 0) }},
		{"read far beyond", func() error { return q.ReadStrings(make([]string, 1), a, math.MaxInt64) }},
		{"strings copied to bytes", func() error { return rig.q.Copy(operand(bytes, layout.Uint8, dense(0, 4)), text(a, dense(0, 4))) }},
		{"bytes copied to strings", func() error { return rig.q.Copy(text(a, dense(0, 4)), operand(bytes, layout.Uint8, dense(0, 4))) }},
		{"strings seen as bytes", func() error {
			return rig.q.Copy(operand(a, layout.Uint8, dense(0, 4)), operand(bytes, layout.Uint8, dense(0, 4)))
		}},
		{"bytes seen as strings", func() error { return rig.q.Copy(text(a, dense(0, 4)), text(bytes, dense(0, 4))) }},
		{"copy onto itself", func() error { return rig.q.Copy(text(a, dense(1, 4)), text(a, dense(0, 4))) }},
		{"copy beyond", func() error { return rig.q.Copy(text(b, dense(3, 4)), text(a, dense(0, 4))) }},
		{"fill strings with bytes", func() error { return rig.q.Fill(text(a, dense(0, 4)), nil) }},
		{"fill bytes with a string", func() error { return q.FillString(operand(bytes, layout.Uint8, dense(0, 4)), "x") }},
		{"fill bytes as strings", func() error { return q.FillString(text(bytes, dense(0, 4)), "x") }},
		{"fill nothing", func() error { return q.FillString(text(nil, dense(0, 4)), "x") }},
		{"fill beyond", func() error { return q.FillString(text(a, dense(0, 7)), "x") }},
		{"fill a broadcast", func() error { return q.FillString(text(a, strided([]int64{4}, []int64{0}, 0)), "x") }},
		{"convert strings", func() error { return rig.q.Convert(text(a, dense(0, 4)), text(b, dense(0, 4)), device.Rounding{}) }},
		{"alloc -1", func() error { _, err := allocator.AllocStrings(-1); return err }},
	} {
		rig.is(c.do(), device.ErrInvalid, "%s", c.name)
	}
	same(a, "", "b", "c", "d", "e", "f\x00\xff")
	same(b, "x", "d", "x", "x", "d", "x")
	for _, n := range []int64{1 << 58, 1 << 60, math.MaxInt64} {
		if _, err := allocator.AllocStrings(n); err == nil {
			t.Errorf("AllocStrings(%d) gave a buffer", n)
		} else {
			rig.is(wider(err), device.ErrOutOfMemory, "AllocStrings(%d)", n)
		}
	}

	rig.ok(rig.q.Wait())
	rig.ok(a.Free())
	rig.is(a.Free(), device.ErrClosed, "second Free")
	rig.is(q.WriteStrings(a, 0, []string{""}), device.ErrClosed, "WriteStrings to a freed buffer")
	rig.is(q.ReadStrings(make([]string, 1), a, 0), device.ErrClosed, "ReadStrings of a freed buffer")
	rig.is(q.FillString(text(a, dense(0, 1)), ""), device.ErrClosed, "FillString of a freed buffer")
	rig.is(rig.q.Copy(text(b, dense(0, 1)), text(a, dense(0, 1))), device.ErrClosed, "Copy from a freed buffer")
	a = alloc(6) // perhaps the same block
	same(a, "", "", "", "", "", "")
	rig.ok(a.Free())
	rig.ok(b.Free())
	rig.ok(bytes.Free())

	closed := rig.fork(t)
	rig.ok(closed.q.Close())
	q, _ = device.As[device.StringQueue](closed.q)
	rig.is(q.FillString(text(b, dense(0, 1)), ""), device.ErrClosed, "FillString on a closed queue")
}
