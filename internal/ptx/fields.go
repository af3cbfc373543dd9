package ptx

import "math/bits"

// each makes an operation from a function of one lane. It is slower than its own loop, and is
// for rare or expensive operations.
func each(f func(a, b, c, e uint64) uint64) alu {
	return func(d, a, b, c, e *lanes) {
		for i := range d {
			d[i] = f(a[i], b[i], c[i], e[i])
		}
	}
}

// field decodes operations on bits and bytes of a register.
func (b *builder) field() error {
	mode := b.one("f4e", "b4e", "rc8", "ecl", "ecr", "rc16") // of prmt, after the type
	if err := b.typed(); err != nil {
		return err
	}
	w := b.width
	switch b.name {
	case "shf":
		left, right := b.take("l"), b.take("r")
		wrap, clamp := b.take("wrap"), b.take("clamp")
		if left == right || wrap == clamp || w != 32 {
			return errUnknown
		}
		return b.operands(funnel(left, wrap), 32, 32, 32, 32)
	case "prmt":
		return b.operands(permute(mode), 32, 32, 32, 32)
	case "lop3":
		if len(b.args) != 5 {
			return errUnknown
		}
		table, err := parseNumber(b.args[4])
		if err != nil {
			return err
		}
		b.args = b.args[:4]
		return b.operands(logic3(uint8(table)), 32, 32, 32, 32)
	case "bfe":
		return b.operands(extract(w, b.signed()), w, w, 32, 32)
	case "bfi":
		return b.operands(insert(w), w, w, w, 32, 32)
	case "bfind":
		return b.operands(find(w, b.signed(), b.take("shiftamt")), 32, w)
	case "clz":
		return b.operands(each(func(a, _, _, _ uint64) uint64 { return uint64(bits.LeadingZeros64(a) - 64 + w) }), 32, w)
	case "popc":
		return b.operands(each(func(a, _, _, _ uint64) uint64 { return uint64(bits.OnesCount64(a)) }), 32, w)
	case "brev":
		return b.operands(each(func(a, _, _, _ uint64) uint64 { return bits.Reverse64(a) >> (64 - w) }), w, w)
	}
	// dp4a.type.type: b.kind is the second one.
	a := b.one("u32", "s32")
	if b.name != "dp4a" || a == "" || w != 32 {
		return errUnknown
	}
	return b.operands(dot(a == "s32", b.signed()), 32, 32, 32, 32)
}

// funnel shifts b:a by c, and returns the upper word (to the left) or the lower one.
func funnel(left, wrap bool) alu {
	return func(d, a, b, c, _ *lanes) {
		for i := range d {
			n := min(c[i], 32)
			if wrap {
				n = c[i] & 31
			}
			pair := b[i]<<32 | a[i]
			if left {
				d[i] = pair << n >> 32
			} else {
				d[i] = pair >> n & 0xffffffff
			}
		}
	}
}

// permute picks bytes of b:a.
func permute(mode string) alu {
	pick := func(pair uint64, k uint64) uint64 { return pair >> (8 * (k & 7)) & 0xff }
	if mode == "" {
		return func(d, a, b, c, _ *lanes) {
			for i := range d {
				pair, v := b[i]<<32|a[i], uint64(0)
				for j := uint(0); j < 4; j++ {
					k := c[i] >> (4 * j)
					x := pick(pair, k)
					if k&8 != 0 {
						x = uint64(uint8(int8(x) >> 7))
					}
					v |= x << (8 * j)
				}
				d[i] = v
			}
		}
	}
	// The special modes: which bytes, by the low two bits of c.
	selectors := map[string][4][4]uint64{ // lowest byte first
		"f4e":  {{0, 1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4, 5}, {3, 4, 5, 6}},
		"b4e":  {{0, 7, 6, 5}, {1, 0, 7, 6}, {2, 1, 0, 7}, {3, 2, 1, 0}},
		"rc8":  {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}},
		"ecl":  {{0, 1, 2, 3}, {1, 1, 2, 3}, {2, 2, 2, 3}, {3, 3, 3, 3}},
		"ecr":  {{0, 0, 0, 0}, {0, 1, 1, 1}, {0, 1, 2, 2}, {0, 1, 2, 3}},
		"rc16": {{0, 1, 0, 1}, {2, 3, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}},
	}[mode]
	return each(func(a, b, c, _ uint64) (v uint64) {
		for j, k := range selectors[c&3] {
			v |= pick(b<<32|a, k) << (8 * j)
		}
		return v
	})
}

// logic3 is any function of three bits: table has its results, indexed by a, b and c as a
// number of three bits.
func logic3(table uint8) alu {
	return func(d, a, b, c, _ *lanes) {
		for i := range d {
			v := uint64(0)
			for k := range uint64(8) {
				if table>>k&1 == 1 {
					v |= (a[i] ^ (k>>2 - 1)) & (b[i] ^ (k>>1&1 - 1)) & (c[i] ^ (k&1 - 1))
				}
			}
			d[i] = v & 0xffffffff
		}
	}
}

// extract takes c bits of a from bit b on, as far as they exist, and extends the sign: the
// topmost of them.
func extract(w int, signed bool) alu {
	return each(func(a, b, c, _ uint64) uint64 {
		at, n, msb := b&0xff, c&0xff, uint64(w-1)
		have := min(n, msb+1-min(at, msb+1))
		v := a >> at & (1<<have - 1)
		if signed && n > 0 && a>>min(at+n-1, msb)&1 == 1 {
			v |= ^uint64(0) << have
		}
		return v & mask(w)
	})
}

// insert puts the low e bits of a into b at bit c.
func insert(w int) alu {
	return each(func(a, b, c, e uint64) uint64 {
		at, n := c&0xff, e&0xff
		m := uint64(1)<<n - 1
		if n >= 64 {
			m = ^uint64(0)
		}
		m = m << at & mask(w)
		return b&^m | a<<at&m
	})
}

// find is the place of the highest one, or, for a negative number, of the highest zero.
func find(w int, signed, amount bool) alu {
	return each(func(a, _, _, _ uint64) uint64 {
		if signed && a>>(w-1) == 1 {
			a = ^a & mask(w)
		}
		at := bits.Len64(a) - 1
		if amount && at >= 0 {
			at = w - 1 - at
		}
		return uint64(uint32(at))
	})
}

// dot adds the products of four bytes each to c.
func dot(aSigned, bSigned bool) alu {
	part := func(x uint64, j int, signed bool) int64 {
		if signed {
			return int64(int8(x >> (8 * j)))
		}
		return int64(uint8(x >> (8 * j)))
	}
	return each(func(a, b, c, _ uint64) uint64 {
		sum := int64(c)
		for j := range 4 {
			sum += part(a, j, aSigned) * part(b, j, bSigned)
		}
		return uint64(uint32(sum))
	})
}
