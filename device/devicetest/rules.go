package devicetest

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

func operand(b device.Buffer, dtype layout.DType, l layout.Layout) device.Operand {
	return device.Operand{Buffer: b, Layout: l, Type: dtype}
}

// alien is a buffer without a device.
type alien struct{ size int64 }

func (a *alien) Size() int64 { return a.size }
func (a *alien) Free() error { return nil }

// alienEvent is an event without a queue.
type alienEvent struct{}

func (alienEvent) Done() bool  { return true }
func (alienEvent) Wait() error { return nil }

// call is a call that breaks a rule.
type call struct {
	name string
	do   func() error
}

// rules makes every call that a device must refuse, with ErrInvalid, and checks that nothing
// changed.
func rules(rig, other rig) {
	const size = 64
	aData, bData := noise(size, 1), noise(size, 2)
	a, b := rig.buffer(aData), rig.buffer(bData)
	foreign := other.buffer(noise(size, 3))
	foreignEvent, err := other.q.Record()
	rig.ok(err)

	calls := slices.Concat(
		badTransfers(rig, a, foreign),
		badOperands(rig, a, b, foreign),
		badPairs(rig, a, b),
		badConverts(rig, a, b),
		badFills(rig, a),
		[]call{
			{"wait for no event", func() error { return rig.q.WaitFor(nil) }},
			{"wait for an event of another device", func() error { return rig.q.WaitFor(foreignEvent) }},
			{"wait for an event of no device", func() error { return rig.q.WaitFor(alienEvent{}) }},
			{"alloc -1", func() error { _, err := rig.dev.Alloc(-1); return err }},
			{"alloc the least int64", func() error { _, err := rig.dev.Alloc(math.MinInt64); return err }},
		},
	)
	before := rig.dev.Stats()
	for _, c := range calls {
		rig.is(c.do(), device.ErrInvalid, "%s", c.name)
		if after := rig.dev.Stats(); after != before {
			rig.Errorf("%s: refused, but the stats went from %+v to %+v", c.name, before, after)
			before = after
		}
	}
	rig.ok(rig.q.Wait())
	if !bytes.Equal(rig.bytes(a), aData) || !bytes.Equal(rig.bytes(b), bData) || !bytes.Equal(other.bytes(foreign), noise(size, 3)) {
		rig.Error("a refused call changed a buffer")
	}
	rig.ok(a.Free())
	rig.ok(b.Free())
	other.ok(foreign.Free())
}

func badTransfers(r rig, a, foreign device.Buffer) []call {
	var calls []call
	for _, c := range []struct {
		name   string
		buffer device.Buffer
		off, n int64
	}{
		{"nil buffer", nil, 0, 1},
		{"nil buffer, no bytes", nil, 0, 0},
		{"foreign buffer", foreign, 0, 1},
		{"alien buffer", &alien{64}, 0, 1},
		{"offset -1", a, -1, 1},
		{"offset -1, no bytes", a, -1, 0},
		{"one byte too many", a, 0, 65},
		{"beyond the end", a, 64, 1},
		{"far beyond the end", a, 65, 0},
		{"the end overflows", a, math.MaxInt64, 1},
		{"the least offset", a, math.MinInt64, 1},
	} {
		calls = append(calls,
			call{"write, " + c.name, func() error { return r.q.Write(c.buffer, c.off, make([]byte, c.n)) }},
			call{"read, " + c.name, func() error { return r.q.Read(make([]byte, c.n), c.buffer, c.off) }})
	}
	return calls
}

// badOperands puts one invalid operand into every place for one.
func badOperands(r rig, a, b, foreign device.Buffer) []call {
	const huge = int64(1) << 62
	var calls []call
	for _, c := range []struct {
		name string
		bad  device.Operand
	}{
		{"nil buffer", operand(nil, layout.Uint8, dense(0, 4))},
		{"foreign buffer", operand(foreign, layout.Uint8, dense(0, 4))},
		{"alien buffer", operand(&alien{64}, layout.Uint8, dense(0, 4))},
		{"no type", operand(a, layout.Invalid, dense(0, 4))},
		{"type 255", operand(a, 255, dense(0, 4))},
		{"strings in bytes", operand(a, layout.String, dense(0, 4))},
		{"65 bytes", operand(a, layout.Uint8, dense(0, 65))},
		{"64 bytes from 1", operand(a, layout.Int8, dense(1, 64))},
		{"129 nibbles", operand(a, layout.Int4, dense(0, 129))},
		{"128 nibbles from 1", operand(a, layout.Uint4, dense(1, 128))},
		{"513 bits", operand(a, layout.Bit, dense(0, 513))},
		{"257 crumbs", operand(a, layout.Uint2, dense(0, 257))},
		{"17 words", operand(a, layout.Float32, dense(0, 17))},
		{"5 complexes", operand(a, layout.Complex128, dense(0, 5))},
		{"one beyond", operand(a, layout.Uint8, dense(64))},
		{"strided", operand(a, layout.Uint8, strided([]int64{2, 2}, []int64{63, 2}, 0))},
		{"reversed from beyond", operand(a, layout.Uint8, strided([]int64{3}, []int64{-1}, 64))},
		{"2^62 bytes", operand(a, layout.Uint8, dense(0, huge))},
		{"2^62 nibbles", operand(a, layout.Int4, dense(0, huge))},
		{"2^62 complexes", operand(a, layout.Complex128, dense(0, huge))},
		{"2 bytes 2^62 apart", operand(a, layout.Uint8, strided([]int64{2}, []int64{huge}, 0))},
		{"2^31 x 2^31 words", operand(a, layout.Float32, dense(0, 1<<31, 1<<31))},
		{"a position near 2^63", operand(a, layout.Complex128, dense(math.MaxInt64))},
		{"2^62 repeats, beyond", operand(a, layout.Uint8, strided([]int64{huge}, []int64{0}, 64))},
	} {
		// The other side is valid, and has the same shape.
		good := operand(b, c.bad.Type, strided(c.bad.Layout.Shape(), make([]int64, c.bad.Layout.Rank()), 0))
		if !c.bad.Type.Storable() || c.bad.Type == layout.String {
			good.Type = layout.Uint8
		}
		calls = append(calls,
			call{"copy to " + c.name, func() error { return r.q.Copy(c.bad, good) }},
			call{"copy from " + c.name, func() error { return r.q.Copy(good, c.bad) }},
			call{"fill " + c.name, func() error { return r.q.Fill(c.bad, make([]byte, max(c.bad.Type.Bits()/8, 1))) }},
			call{"convert to " + c.name, func() error { return r.q.Convert(c.bad, good, device.Rounding{}) }},
			call{"convert from " + c.name, func() error { return r.q.Convert(good, c.bad, device.Rounding{}) }})
		if small := c.bad.Layout.Count(); small > 0 && small < 16 {
			// Here the other side may also be written to, so that only this one is wrong.
			dst := operand(b, good.Type, dense(0, c.bad.Layout.Shape()...))
			calls = append(calls, call{"copy to dense from " + c.name, func() error { return r.q.Copy(dst, c.bad) }})
		}
	}
	return calls
}

func badPairs(r rig, a, b device.Buffer) []call {
	of := func(dtype layout.DType, dims ...int64) func(device.Buffer) device.Operand {
		return func(buffer device.Buffer) device.Operand { return operand(buffer, dtype, dense(0, dims...)) }
	}
	at := func(dtype layout.DType, l layout.Layout) func(device.Buffer) device.Operand {
		return func(buffer device.Buffer) device.Operand { return operand(buffer, dtype, l) }
	}
	type maker = func(device.Buffer) device.Operand
	var calls []call
	for _, c := range []struct {
		name     string
		dst, src maker
		inA      bool // both in one buffer
	}{
		{"shapes of different extents", of(layout.Uint8, 4), of(layout.Uint8, 5), false},
		{"shapes of different rank", of(layout.Uint8, 4), of(layout.Uint8, 2, 2), false},
		{"a transposed shape", of(layout.Uint8, 2, 3), of(layout.Uint8, 3, 2), false},
		{"a scalar to one element", of(layout.Uint8, 1), of(layout.Uint8), false},
		{"different empty shapes", of(layout.Uint8, 0, 2), of(layout.Uint8, 0, 3), false},
		{"broadcast by itself", of(layout.Uint8, 4), of(layout.Uint8, 1), false},
		{"32 bits to 64", of(layout.Int64, 4), of(layout.Int32, 4), false},
		{"4 bits to 2", of(layout.Uint2, 4), of(layout.Uint4, 4), false},
		{"4 bits to 8", of(layout.Uint8, 4), of(layout.Uint4, 4), false},
		{"widths of nothing", of(layout.Int16, 0), of(layout.Int8, 0), false},
		{"dst is broadcast", at(layout.Uint8, strided([]int64{4}, []int64{0}, 0)), of(layout.Uint8, 4), false},
		{"dst overlaps itself", at(layout.Uint8, strided([]int64{3, 3}, []int64{2, 1}, 0)), of(layout.Uint8, 3, 3), false},
		{"dst overlaps itself, in nibbles", at(layout.Int4, strided([]int64{2, 2}, []int64{1, -1}, 1)), of(layout.Int4, 2, 2), false},
		{"dst overlaps itself, crossed", at(layout.Uint8, strided([]int64{4, 3}, []int64{2, 3}, 0)), of(layout.Uint8, 4, 3), false},
		{"onto itself", of(layout.Uint8, 4), of(layout.Uint8, 4), true},
		{"to the next", at(layout.Uint8, dense(1, 4)), of(layout.Uint8, 4), true},
		{"to the next nibble", at(layout.Uint4, dense(1, 4)), of(layout.Uint4, 4), true},
		{"reversed onto itself", at(layout.Uint8, strided([]int64{4}, []int64{-1}, 3)), of(layout.Uint8, 4), true},
		{"crossing in one element", at(layout.Uint8, strided([]int64{4}, []int64{2}, 0)), at(layout.Uint8, strided([]int64{4}, []int64{3}, 1)), true},
		{"a column onto a row", at(layout.Uint8, dense(8, 8)), at(layout.Uint8, strided([]int64{8}, []int64{8}, 0)), true},
	} {
		from := b
		if c.inA {
			from = a
		}
		calls = append(calls, call{"copy, " + c.name, func() error { return r.q.Copy(c.dst(a), c.src(from)) }})
	}
	return calls
}

func badConverts(r rig, a, b device.Buffer) []call {
	var calls []call
	types := append(layout.DTypes(), layout.Bit)
	for _, dst := range types {
		for _, src := range types {
			if isNumber(dst) && isNumber(src) {
				continue
			}
			calls = append(calls, call{fmt.Sprintf("convert %v to %v", src, dst), func() error {
				return r.q.Convert(operand(a, dst, dense(0, 4)), operand(b, src, dense(0, 4)), device.Rounding{})
			}})
		}
	}
	for _, c := range []struct {
		name     string
		dst, src device.Operand
	}{
		{"shapes", operand(a, layout.Int8, dense(0, 4)), operand(b, layout.Int4, dense(0, 2, 2))},
		{"dst is broadcast", operand(a, layout.Int8, strided([]int64{4}, []int64{0}, 0)), operand(b, layout.Int4, dense(0, 4))},
		{"in place", operand(a, layout.Int8, dense(0, 4)), operand(a, layout.Int4, dense(0, 4))},
		{"in place, back", operand(a, layout.Int4, dense(0, 4)), operand(a, layout.Int8, dense(0, 4))},
		{"into the last byte", operand(a, layout.Int8, dense(3, 4)), operand(a, layout.Int4, dense(0, 7))},
		{"wide ones in place", operand(a, layout.Float32, dense(2, 2)), operand(a, layout.Int16, dense(7, 2))},
		{"onto a part of a byte", operand(a, layout.Uint2, dense(15, 4)), operand(a, layout.Uint8, dense(0, 4))},
	} {
		calls = append(calls, call{"convert, " + c.name, func() error { return r.q.Convert(c.dst, c.src, device.Rounding{}) }})
	}
	return append(calls, call{"convert, no such rounding", func() error {
		return r.q.Convert(operand(a, layout.Float8E8M0, dense(0, 4)), operand(b, layout.Float32, dense(0, 4)), device.Rounding{Scale: 3})
	}})
}

func badFills(r rig, a device.Buffer) []call {
	var calls []call
	for _, dtype := range append(layout.DTypes(), layout.Bit) {
		right := (dtype.Bits() + 7) / 8
		for n := range 18 {
			if n == right && dtype != layout.String {
				continue
			}
			calls = append(calls, call{fmt.Sprintf("fill %v with %d bytes", dtype, n), func() error {
				return r.q.Fill(operand(a, dtype, dense(0, 3)), make([]byte, n))
			}})
		}
	}
	return append(calls,
		call{"fill a broadcast", func() error {
			return r.q.Fill(operand(a, layout.Uint8, strided([]int64{3}, []int64{0}, 0)), []byte{1})
		}},
		call{"fill 2^31 x 2^31 repeats", func() error {
			return r.q.Fill(operand(a, layout.Uint8, strided([]int64{1 << 31, 1 << 31}, []int64{0, 0}, 0)), []byte{1})
		}})
}
