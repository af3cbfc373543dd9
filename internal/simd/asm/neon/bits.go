package main

import (
	. "github.com/restride/restride/internal/simd/asm/arm64"
)

// line is the number of bytes of the destination that an iteration writes.
const line = 64

// lines writes a function of the form func(dst, src *byte, lines int64, more, past bool).
// prepare emits code before the loop, and returns the loop's body, which computes a line in
// four registers and advances src to the next one. No store bypasses the caches.
func lines(name, doc, more string, prepare func(f *Func, src R) func() []V) {
	f := New(name, doc, "dst *byte, src *byte, lines int64, "+more+"past bool")
	dst, src, left := f.Arg("dst"), f.Arg("src"), f.Arg("lines")
	body := prepare(f, src)
	f.Do("CBZ", left, "done")

	f.Label("loop")
	out := body()
	for i := 0; i < 4; i += 2 {
		f.Do("FSTPQ.P", pair(out[i], out[i+1]), After(dst, 32))
	}
	f.Do("SUBS", Imm(1), left)
	f.Do("BNE", "loop")

	f.Label("done")
}

// read returns the next 16, 32 or 64 bytes.
func read(f *Func, src R, bytes int) []V {
	v := f.Vs(bytes / 16)
	f.Do("VLD1.P", After(src, bytes), List(v))
	return v
}

// funnel reads bytes from a bit of a byte on: each has bits of a byte, shifted down,
// and of the next one, shifted up.
type funnel struct {
	f        *Func
	src      R
	next     R // src+1; but src without a shift, so that both are the same
	down, up V
}

func newFunnel(f *Func, src R) funnel {
	u := funnel{f, src, f.R(), f.V(), f.V()}
	shift := f.Arg("shift")
	f.Do("CMP", Imm(0), shift)
	f.Do("CINC", "NE", src, u.next)
	f.Do("NEG", shift, shift) // a right shift is a negative left shift
	f.Do("VDUP", shift, u.down)
	f.Do("AND", Imm(7), shift)
	f.Do("VDUP", shift, u.up)
	return u
}

// read is read, from the bit on.
func (u funnel) read(bytes int) []V {
	f := u.f
	low, high := read(f, u.src, bytes), read(f, u.next, bytes)
	for i := range low {
		f.USHL(u.down, low[i], low[i])
		f.USHL(u.up, high[i], high[i])
		f.Do("VORR", high[i], low[i], low[i])
	}
	f.Free(high...)
	return low
}

func belowBytes() {
	lines("shiftBits", "Bits.ShiftBits.", "shift int64, ", func(f *Func, src R) func() []V {
		u := newFunnel(f, src)
		return func() []V { return u.read(line) }
	})
	lines("reverseBits", "Bits.ReverseBits.", "shift int64, tables *byte, ", reverseBits)
	lines("unpackNibbles", "Bits.UnpackNibbles.", "shift int64, table *byte, ", func(f *Func, src R) func() []V {
		u, table, mask := newFunnel(f, src), f.Load(f.Arg("table"), 0), f.Every(0x0f)
		return func() []V { return lookUp(f, table, spread(f, 4, mask, u.read(line/2))) }
	})
	lines("unpackCrumbs", "Bits.UnpackCrumbs.", "shift int64, table *byte, ", func(f *Func, src R) func() []V {
		u, table := newFunnel(f, src), f.Load(f.Arg("table"), 0)
		nibbles, crumbs := f.Every(0x0f), f.Every(0x03)
		return func() []V {
			return lookUp(f, table, spread(f, 2, crumbs, spread(f, 4, nibbles, u.read(line/4))))
		}
	})
	lines("packNibbles", "Bits.PackNibbles.", "", func(f *Func, src R) func() []V {
		return func() []V { return pack(f, 4, append(read(f, src, line), read(f, src, line)...)) }
	})
	lines("packCrumbs", "Bits.PackCrumbs.", "", func(f *Func, src R) func() []V {
		return func() []V {
			var out []V
			for range 4 {
				out = append(out, pack(f, 4, pack(f, 2, read(f, src, line)))...)
			}
			return out
		}
	})
}

// reverseBits reverses the order of bytes, and by tables the order of elements in them: one
// table gives a byte's high half from its low one, the other the opposite.
func reverseBits(f *Func, src R) func() []V {
	f.Do("ADD", Shifted(f.Arg("lines"), 6), src)
	f.Do("SUB", Imm(line), src)
	u, tables := newFunnel(f, src), f.Arg("tables")
	high, low, mask, order := f.Load(tables, 0), f.Load(tables, 16), f.Every(0x0f), f.Bytes(0x08090a0b0c0d0e0f, 0x0001020304050607)
	return func() []V {
		x := u.read(line)
		f.Do("SUB", Imm(2*line), u.src)
		f.Do("SUB", Imm(2*line), u.next)
		y := f.V()
		for _, v := range x {
			f.Do("VTBL", order, List([]V{v}), v)
			f.Do("VUSHR", Imm(4), v, y)
			f.Do("VAND", mask, v, v)
			f.Do("VTBL", v, List([]V{high}), v)
			f.Do("VTBL", y, List([]V{low}), y)
			f.Do("VORR", y, v, v)
		}
		return []V{x[3], x[2], x[1], x[0]}
	}
}

// spread splits each element into two of the given number of bits, one of them masked: the bits
// above are zero.
func spread(f *Func, bits int, mask V, vs []V) []V {
	var out []V
	for _, v := range vs {
		high := f.V()
		f.Do("VUSHR", Imm(int64(bits)), v, high)
		f.Do("VAND", mask, v, v)
		out = append(out, zip(f, 1, v, high)...)
	}
	return out
}

// pack joins the low bits of two bytes; above them are the upper bits of the second.
func pack(f *Func, bits int, vs []V) []V {
	var out []V
	for i := 0; i < len(vs); i += 2 {
		even, odd := f.V(), f.V()
		f.Do("VUZP1", vs[i+1], vs[i], even)
		f.Do("VUZP2", vs[i+1], vs[i], odd)
		f.Do("VSLI", Imm(int64(bits)), odd, even)
		f.Free(odd, vs[i], vs[i+1])
		out = append(out, even)
	}
	return out
}

// lookUp looks bytes up in a table of 16.
func lookUp(f *Func, table V, vs []V) []V {
	for _, v := range vs {
		f.Do("VTBL", v, List([]V{table}), v)
	}
	return vs
}
