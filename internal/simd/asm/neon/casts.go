package main

import (
	. "github.com/restride/restride/internal/simd/asm/arm64"
)

// cast writes a kernel of Casts: lines; body computes one.
func cast(name string, prepare func(f *Func, src R) func() []V) {
	lines(name, "one of Casts.", "tables *byte, ", prepare)
}

func casts() {
	toFloats()
	fromFloats()
	cast("lookUp16", func(f *Func, src R) func() []V {
		tables := f.Arg("tables")
		planes := []V{f.Load(tables, 0), f.Load(tables, 16)}
		return func() []V {
			var out []V
			for _, v := range read(f, src, line/2) {
				out = append(out, zip(f, 1, find(f, planes[0], v), find(f, planes[1], v))...)
			}
			return out
		}
	})
	cast("lookUp32", func(f *Func, src R) func() []V {
		planes := f.Vs(4) // every fourth byte of the words
		f.Do("VLD4", After(f.Arg("tables"), 0), List(planes))
		return func() []V {
			v := read(f, src, line/4)[0]
			low := zip(f, 1, find(f, planes[0], v), find(f, planes[1], v))
			high := zip(f, 1, find(f, planes[2], v), find(f, planes[3], v))
			return append(zip(f, 2, low[0], high[0]), zip(f, 2, low[1], high[1])...)
		}
	})
}

// find looks bytes up in a table of 16.
func find(f *Func, table, v V) V {
	x := f.V()
	f.Do("VTBL", v, List([]V{table}), x)
	return x
}

// zip interleaves elements of the given number of bytes: the lower halves, and the upper ones.
func zip(f *Func, size int, a, b V) []V {
	x, y := f.V(), f.V()
	f.Do("VZIP1", b.Of(size), a.Of(size), x.Of(size))
	f.Do("VZIP2", b.Of(size), a.Of(size), y.Of(size))
	f.Free(a, b)
	return []V{x, y}
}

// toFloats writes the conversions to floats of elements in memory.
func toFloats() {
	cast("halfToFloat", func(f *Func, src R) func() []V {
		c := newCleaner(f)
		return func() []V {
			x := widen(f, read(f, src, line/2), f.FCVTL, f.FCVTL2)
			c.clean(x)
			return x
		}
	})
	cast("bfloatToFloat", func(f *Func, src R) func() []V {
		c, zero := newCleaner(f), f.Every(0)
		return func() []V {
			x := widen(f, read(f, src, line/2), func(n, d V) {
				f.Do("VZIP1", n.Of(2), zero.Of(2), d.Of(2))
			}, func(n, d V) {
				f.Do("VZIP2", n.Of(2), zero.Of(2), d.Of(2))
			})
			c.clean(x)
			return x
		}
	})
	ints := func(name string, size int, signed bool, first func(f *Func) func(vs []V)) {
		cast(name, func(f *Func, src R) func() []V {
			begin := first(f)
			return func() []V {
				x := read(f, src, line*size/4)
				begin(x)
				for size := size; size < 4; size *= 2 {
					x = wider(f, size, signed, x)
				}
				for _, v := range x {
					if signed {
						f.SCVTF(v, v)
					} else {
						f.UCVTF(v, v)
					}
				}
				return x
			}
		})
	}
	asIs := func(*Func) func([]V) { return func([]V) {} }
	ints("int8ToFloat", 1, true, asIs)
	ints("uint8ToFloat", 1, false, asIs)
	ints("int16ToFloat", 2, true, asIs)
	ints("uint16ToFloat", 2, false, asIs)
	ints("int32ToFloat", 4, true, asIs)
	ints("boolToFloat", 1, false, func(f *Func) func([]V) {
		one := f.Every(1)
		return func(vs []V) { each(vs, func(v V) { f.Do("VUMIN", one, v, v) }) }
	})
}

func each(vs []V, do func(V)) {
	for _, v := range vs {
		do(v)
	}
}

// widen converts each vector to two.
func widen(f *Func, vs []V, low, high func(n, d V)) []V {
	var out []V
	for _, v := range vs {
		x, y := f.V(), f.V()
		low(v, x)
		high(v, y)
		f.Free(v)
		out = append(out, x, y)
	}
	return out
}

// wider converts to integers of twice the size.
func wider(f *Func, size int, signed bool, vs []V) []V {
	if signed {
		return widen(f, vs, func(n, d V) { f.SXTL(size, n, d) }, func(n, d V) { f.SXTL2(size, n, d) })
	}
	return widen(f, vs, func(n, d V) {
		f.Do("VUXTL", n.Half(size), d.Of(2*size))
	}, func(n, d V) {
		f.Do("VUXTL2", n.Of(size), d.Of(2*size))
	})
}

// A cleaner keeps the sign of a NaN, and sets its highest bit.
type cleaner struct {
	f               *Func
	nan, keep, t, u V
}

func newCleaner(f *Func) cleaner {
	return cleaner{f, f.Every32(0x7fc00000), f.Every32(0xffc00000), f.V(), f.V()}
}

func (c cleaner) clean(vs []V) {
	each(vs, func(v V) {
		c.f.FCMEQ(v, v, c.t)
		c.f.Do("VORR", c.nan, v, c.u)
		c.f.Do("VAND", c.keep, c.u, c.u)
		c.f.Do("VBIF", c.t, c.u, v)
	})
}

// fromFloats writes the conversions from floats.
func fromFloats() {
	cast("floatToHalf", func(f *Func, src R) func() []V {
		c := newCleaner(f)
		return func() []V {
			return narrowed(f, src, 2, c.clean, func(x []V) []V { return narrow(f, x, f.FCVTN, f.FCVTN2) })
		}
	})
	cast("floatToBfloat", func(f *Func, src R) func() []V {
		c, half, one, last := newCleaner(f), f.Every32(0x7fff), f.Every32(1), f.V()
		return func() []V {
			// To even: the addend is one more where the last bit that stays is set.
			return narrowed(f, src, 2, func(vs []V) {
				c.clean(vs)
				each(vs, func(v V) {
					f.Do("VUSHR", Imm(16), v.Of(4), last.Of(4))
					f.Do("VAND", one, last, last)
					f.Do("VADD", half.Of(4), v.Of(4), v.Of(4))
					f.Do("VADD", last.Of(4), v.Of(4), v.Of(4))
				})
			}, func(x []V) []V { return join(f, "VUZP2", 2, x) })
		}
	})
	nearest("floatToInt8", 1, (*Func).FCVTZS, (*Func).SQXTN, (*Func).SQXTN2)
	nearest("floatToUint8", 1, (*Func).FCVTZU, (*Func).UQXTN, (*Func).UQXTN2)
	nearest("floatToInt32", 4, (*Func).FCVTZS, nil, nil)
	cast("floatToLow", func(f *Func, src R) func() []V {
		most, zero, t := f.Every32(0x7fffffff), f.Every(0), f.V()
		return func() []V {
			// The result for a float too large for an integer must have no low bits, but the
			// largest integer, which is not a float, has them.
			return narrowed(f, src, 1, func(vs []V) {
				each(vs, func(v V) {
					f.FCVTNS(v, v)
					f.Do("VCMEQ", most.Of(4), v.Of(4), t.Of(4))
					f.Do("VBIT", t, zero, v)
				})
			}, func(x []V) []V { return join(f, "VUZP1", 1, join(f, "VUZP1", 2, x)) })
		}
	})
	cast("floatToBool", func(f *Func, src R) func() []V {
		one := f.Every(1)
		return func() []V {
			return narrowed(f, src, 1, func(vs []V) { each(vs, func(v V) { f.FCMEQZ(v, v) }) }, func(x []V) []V {
				x = join(f, "VUZP1", 1, join(f, "VUZP1", 2, x))
				each(x, func(v V) { f.Do("VADD", one, v, v) }) // -1 for zeros, so far
				return x
			})
		}
	})
}

// nearest writes the conversions to integers of the given number of bytes, by saturating
// instructions.
func nearest(name string, size int, convert func(f *Func, n, d V), low, high func(f *Func, size int, n, d V)) {
	cast(name, func(f *Func, src R) func() []V {
		return func() []V {
			return narrowed(f, src, size, func(vs []V) { each(vs, func(v V) { convert(f, v, v) }) }, func(x []V) []V {
				for to := 2; to >= size; to-- {
					x = narrow(f, x, func(n, d V) { low(f, to, n, d) }, func(n, d V) { high(f, to, n, d) })
				}
				return x
			})
		}
	})
}

// narrowed computes a line of elements of the given number of bytes, one vector at a time: from
// four, two or one of floats.
func narrowed(f *Func, src R, size int, first func([]V), last func([]V) []V) []V {
	var out []V
	for range 4 {
		x := read(f, src, 16*4/size)
		first(x)
		out = append(out, last(x)...)
	}
	return out
}

// narrow joins two vectors in one.
func narrow(f *Func, vs []V, low, high func(n, d V)) []V {
	var out []V
	for i := 0; i < len(vs); i += 2 {
		x := f.V()
		low(vs[i], x)
		high(vs[i+1], x)
		f.Free(vs[i], vs[i+1])
		out = append(out, x)
	}
	return out
}

// join joins two vectors in one, with every second element of the given number of bytes.
func join(f *Func, uzp string, size int, vs []V) []V {
	var out []V
	for i := 0; i < len(vs); i += 2 {
		x := f.V()
		f.Do(uzp, vs[i+1].Of(size), vs[i].Of(size), x.Of(size))
		f.Free(vs[i], vs[i+1])
		out = append(out, x)
	}
	return out
}
