package ptx

import "math/bits"

// mask has the low w bits set.
func mask(w int) uint64 { return ^uint64(0) >> (64 - w) }

func move(d, a, _, _, _ *lanes) { *d = *a }

func addConstant(n uint64) alu {
	return func(d, a, _, _, _ *lanes) {
		for i := range d {
			d[i] = a[i] + n
		}
	}
}

// pack joins n registers of w bits in one, the first lowest.
func pack(w, n int) alu {
	if n == 2 {
		return func(d, a, b, _, _ *lanes) {
			for i := range d {
				d[i] = a[i] | b[i]<<(w&63)
			}
		}
	}
	return func(d, a, b, c, e *lanes) {
		for i := range d {
			d[i] = a[i] | b[i]<<(w&63) | c[i]<<(2*w&63) | e[i]<<(3*w&63)
		}
	}
}

// integer returns an operation on integers of w bits; nil: there is none.
func integer(name string, w int, signed bool) alu {
	m := mask(w)
	s := uint(64-w) & 63 // to extend a sign
	switch name {
	case "add":
		return func(d, a, b, _, _ *lanes) {
			for i := range d {
				d[i] = (a[i] + b[i]) & m
			}
		}
	case "sub":
		return func(d, a, b, _, _ *lanes) {
			for i := range d {
				d[i] = (a[i] - b[i]) & m
			}
		}
	case "mul.lo":
		return func(d, a, b, _, _ *lanes) {
			for i := range d {
				d[i] = a[i] * b[i] & m
			}
		}
	case "mad.lo":
		return func(d, a, b, c, _ *lanes) {
			for i := range d {
				d[i] = (a[i]*b[i] + c[i]) & m
			}
		}
	case "neg":
		return func(d, a, _, _, _ *lanes) {
			for i := range d {
				d[i] = -a[i] & m
			}
		}
	case "abs":
		return func(d, a, _, _, _ *lanes) {
			for i := range d {
				v := int64(a[i]<<s) >> s
				d[i] = uint64(max(v, -v)) & m
			}
		}
	case "min", "max":
		return extreme(name == "max", signed, s, m)
	case "mul.wide", "mad.wide":
		return wide(signed, s, mask(min(2*w, 64)), name == "mad.wide")
	case "mul.hi", "mad.hi":
		return high(signed, w, name == "mad.hi")
	case "div", "rem":
		return divide(name == "rem", signed, s, m)
	}
	return nil
}

func extreme(largest, signed bool, s uint, m uint64) alu {
	if signed {
		return func(d, a, b, _, _ *lanes) {
			for i := range d {
				x, y := int64(a[i]<<s)>>s, int64(b[i]<<s)>>s
				if (x < y) == largest {
					x = y
				}
				d[i] = uint64(x) & m
			}
		}
	}
	return func(d, a, b, _, _ *lanes) {
		for i := range d {
			x, y := a[i], b[i]
			if (x < y) == largest {
				x = y
			}
			d[i] = x
		}
	}
}

// wide is the whole product, plus c if add.
func wide(signed bool, s uint, m uint64, add bool) alu {
	return func(d, a, b, c, _ *lanes) {
		for i := range d {
			x, y := a[i], b[i]
			if signed {
				x, y = uint64(int64(x<<s)>>s), uint64(int64(y<<s)>>s)
			}
			x *= y
			if add {
				x += c[i]
			}
			d[i] = x & m
		}
	}
}

// high is the upper half of the product, plus c if add.
func high(signed bool, w int, add bool) alu {
	m, s := mask(w), uint(64-w)&63
	half := func(x, y uint64) uint64 {
		switch {
		case w < 64 && signed:
			return uint64((int64(x<<s) >> s) * (int64(y<<s) >> s) >> w)
		case w < 64:
			return x * y >> w
		}
		h, _ := bits.Mul64(x, y)
		if signed && int64(x) < 0 {
			h -= y
		}
		if signed && int64(y) < 0 {
			h -= x
		}
		return h
	}
	return func(d, a, b, c, _ *lanes) {
		for i := range d {
			h := half(a[i], b[i])
			if add {
				h += c[i]
			}
			d[i] = h & m
		}
	}
}

// divide divides; by zero, the result is unspecified: all ones.
func divide(remainder, signed bool, s uint, m uint64) alu {
	return func(d, a, b, _, _ *lanes) {
		for i := range d {
			x, y := a[i], b[i]
			switch {
			case y == 0:
				x = ^uint64(0)
			case signed:
				p, q := int64(x<<s)>>s, int64(y<<s)>>s
				if x = uint64(p / q); remainder {
					x = uint64(p % q)
				}
			case remainder:
				x %= y
			default:
				x /= y
			}
			d[i] = x & m
		}
	}
}

// bitwise returns an operation on w bits; nil: there is none.
func bitwise(name string, w int, signed bool) alu {
	m, s := mask(w), uint(64-w)&63
	switch name {
	case "and":
		return func(d, a, b, _, _ *lanes) {
			for i := range d {
				d[i] = a[i] & b[i]
			}
		}
	case "or":
		return func(d, a, b, _, _ *lanes) {
			for i := range d {
				d[i] = a[i] | b[i]
			}
		}
	case "xor":
		return func(d, a, b, _, _ *lanes) {
			for i := range d {
				d[i] = a[i] ^ b[i]
			}
		}
	case "not":
		return func(d, a, _, _, _ *lanes) {
			for i := range d {
				d[i] = ^a[i] & m
			}
		}
	case "cnot":
		return func(d, a, _, _, _ *lanes) {
			for i := range d {
				d[i] = 0
				if a[i] == 0 {
					d[i] = 1
				}
			}
		}
	case "shl":
		return func(d, a, b, _, _ *lanes) {
			for i := range d {
				d[i] = a[i] << b[i] & m
			}
		}
	case "shr":
		if signed {
			return func(d, a, b, _, _ *lanes) {
				for i := range d {
					d[i] = uint64(int64(a[i]<<s)>>s>>b[i]) & m
				}
			}
		}
		return func(d, a, b, _, _ *lanes) {
			for i := range d {
				d[i] = a[i] >> b[i]
			}
		}
	}
	return nil
}

// compare returns a comparison; nil: there is none.
func compare(name string, w int, signed bool) test {
	s := uint(64-w) & 63
	flipped := func(t test) test { return func(a, b *lanes) uint32 { return t(b, a) } }
	inverted := func(t test) test { return func(a, b *lanes) uint32 { return ^t(a, b) } }
	less := func(a, b *lanes) (m uint32) {
		for i := range a {
			if a[i] < b[i] {
				m |= 1 << i
			}
		}
		return m
	}
	if signed {
		less = func(a, b *lanes) (m uint32) {
			for i := range a {
				if int64(a[i]<<s) < int64(b[i]<<s) {
					m |= 1 << i
				}
			}
			return m
		}
	}
	equal := func(a, b *lanes) (m uint32) {
		for i := range a {
			if a[i] == b[i] {
				m |= 1 << i
			}
		}
		return m
	}
	switch name {
	case "eq":
		return equal
	case "ne":
		return inverted(equal)
	case "lt", "lo":
		return less
	case "ge", "hs":
		return inverted(less)
	case "gt", "hi":
		return flipped(less)
	case "le", "ls":
		return inverted(flipped(less))
	}
	return nil
}

// atomOf returns the new value of an atomic operation; nil: there is none.
func atomOf(name string, w int, signed bool) func(old, a, b uint64) uint64 {
	m, s := mask(w), uint(64-w)&63
	less := func(a, b uint64) bool {
		if signed {
			return int64(a<<s) < int64(b<<s)
		}
		return a < b
	}
	switch name {
	case "add":
		return func(old, a, _ uint64) uint64 { return (old + a) & m }
	case "and":
		return func(old, a, _ uint64) uint64 { return old & a }
	case "or":
		return func(old, a, _ uint64) uint64 { return old | a }
	case "xor":
		return func(old, a, _ uint64) uint64 { return old ^ a }
	case "exch":
		return func(_, a, _ uint64) uint64 { return a }
	case "cas":
		return func(old, a, b uint64) uint64 {
			if old == a {
				return b
			}
			return old
		}
	case "min":
		return func(old, a, _ uint64) uint64 {
			if less(a, old) {
				return a
			}
			return old
		}
	case "max":
		return func(old, a, _ uint64) uint64 {
			if less(old, a) {
				return a
			}
			return old
		}
	case "inc":
		return func(old, a, _ uint64) uint64 {
			if old >= a {
				return 0
			}
			return old + 1
		}
	case "dec":
		return func(old, a, _ uint64) uint64 {
			if old == 0 || old > a {
				return a
			}
			return old - 1
		}
	}
	return nil
}
