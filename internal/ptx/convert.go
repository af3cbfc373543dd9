package ptx

import (
	"math"
	"math/bits"
	"strings"
)

// cvt decodes a conversion: the last two words are the types, the result's first.
func (b *builder) cvt() error {
	if len(b.mods) < 2 {
		return errUnknown
	}
	to, from := b.mods[len(b.mods)-2], b.mods[len(b.mods)-1]
	b.mods = b.mods[:len(b.mods)-2]
	toWidth, err := widthOf(to)
	if err != nil {
		return err
	}
	fromWidth, err := widthOf(from)
	if err != nil {
		return err
	}
	b.kind, b.width = to, toWidth
	if kind, two := strings.CutSuffix(to, "x2"); two {
		return b.cvtPair(kind, from)
	}
	if err := b.need(2); err != nil {
		return err
	}
	do := b.conversion(to, toWidth, from, fromWidth)
	if do == nil {
		return errUnknown
	}
	// Registers may be wider than the types.
	if err := b.operands(do, 0, 0); err != nil {
		return err
	}
	d := b.in.dst[0]
	if d < 0 {
		return nil
	}
	have := int(b.regs[d])
	if have < toWidth {
		return errUnknown
	}
	if have > toWidth {
		b.in.do = extended(do, toWidth, have, to[0] == 's')
	}
	return nil
}

// extended is an operation whose result goes to a wider register.
func extended(do alu, from, to int, signed bool) alu {
	m, s := mask(to), uint(64-from)&63
	return func(d, a, b, c, e *lanes) {
		do(d, a, b, c, e)
		if signed {
			for i := range d {
				d[i] = uint64(int64(d[i]<<s)>>s) & m
			}
		}
	}
}

// conversion returns a conversion; nil: there is none.
func (b *builder) conversion(to string, toWidth int, from string, fromWidth int) alu {
	ftz, sat := b.take("ftz"), b.take("sat")
	target, toFloat := formats[to]
	source, fromFloat := formats[from]
	switch {
	case !toFloat && !fromFloat:
		return convertIntegers(toWidth, to[0] == 's', fromWidth, from[0] == 's', sat)
	case !toFloat:
		return floatToInteger(source, toWidth, to[0] == 's', b.one("rni", "rzi", "rmi", "rpi"), ftz)
	case !fromFloat:
		return integerToFloat(target, rounding(b.one("rn", "rz", "rm", "rp")), fromWidth, from[0] == 's', sat)
	}
	integral := b.one("rni", "rzi", "rmi", "rpi")
	how := rounding(b.one("rn", "rz", "rm", "rp"))
	if how == "" {
		if target.mantissa < source.mantissa && integral == "" {
			return nil // the ISA requires a rounding
		}
		how = "rn"
	}
	relu := b.take("relu")
	return each(func(x, _, _, _ uint64) uint64 {
		v := source.decode(x & mask(fromWidth))
		if ftz && fromWidth == 32 {
			v = source.flush(v)
		}
		if integral != "" {
			v = toIntegral(v, integral)
		}
		return finishFloat(target, v, how, sat, relu, ftz)
	})
}

func finishFloat(f format, v float64, how rounding, sat, relu, ftz bool) uint64 {
	if sat {
		v = saturate(v)
	}
	if relu && v < 0 {
		v = 0
	}
	if ftz && f.bits == 32 {
		v = f.flush(v)
	}
	return f.encode(v, how)
}

func toIntegral(v float64, how string) float64 {
	switch how {
	case "rni":
		return math.RoundToEven(v)
	case "rzi":
		return math.Trunc(v)
	case "rmi":
		return math.Floor(v)
	}
	return math.Ceil(v)
}

func convertIntegers(to int, toSigned bool, from int, fromSigned, sat bool) alu {
	m, s := mask(to), uint(64-from)&63
	read := func(x uint64) uint64 {
		if fromSigned {
			return uint64(int64(x<<s) >> s)
		}
		return x << s >> s
	}
	if !sat {
		return func(d, a, _, _, _ *lanes) {
			for i := range d {
				d[i] = read(a[i]) & m
			}
		}
	}
	low, high := int64(0), m
	if toSigned {
		low, high = -1<<(to-1), m>>1
	}
	return each(func(x, _, _, _ uint64) uint64 {
		x = read(x)
		if fromSigned && int64(x) < 0 {
			return uint64(max(int64(x), low)) & m
		}
		return min(x, high)
	})
}

// floatToInteger rounds to an integer within the range; NaN becomes 0.
func floatToInteger(f format, to int, signed bool, how string, ftz bool) alu {
	if how == "" {
		return nil
	}
	m := mask(to)
	return each(func(x, _, _, _ uint64) uint64 {
		v := f.decode(x & mask(f.bits))
		if ftz && f.bits == 32 {
			v = f.flush(v)
		}
		v = toIntegral(v, how)
		switch edge := math.Ldexp(1, to-1); {
		case math.IsNaN(v):
			return 0
		case signed && v >= edge:
			return m >> 1
		case signed && v < -edge:
			return 1 << (to - 1)
		case signed:
			return uint64(int64(v)) & m
		case v <= 0:
			return 0
		case v >= 2*edge:
			return m
		default:
			return uint64(v)
		}
	})
}

func integerToFloat(f format, how rounding, from int, signed, sat bool) alu {
	if how == "" {
		return nil
	}
	s := uint(64-from) & 63
	return each(func(x, _, _, _ uint64) uint64 {
		x <<= s
		negative := signed && int64(x) < 0
		if negative {
			x = uint64(int64(x) >> s)
			x = -x
		} else {
			x >>= s
		}
		v := float64(x)
		if f.bits < 64 {
			v = oddInteger(x)
		}
		if negative {
			v = -v
		}
		return finishFloat(f, v, how, sat, false, false)
	})
}

// oddInteger is an integer rounded to odd.
func oddInteger(x uint64) float64 {
	n := max(bits.Len64(x)-53, 0)
	kept := x >> n
	if kept<<n != x {
		kept |= 1
	}
	return math.Ldexp(float64(kept), n)
}

// cvtPair decodes a conversion of two floats to halves of a register, the first to the
// upper one.
func (b *builder) cvtPair(to, from string) error {
	f, ok := formats[to]
	how := rounding(b.one("rn", "rz"))
	relu, sat := b.take("relu"), b.take("satfinite")
	if !ok || from != "f32" || how == "" || sat {
		return errUnknown
	}
	source := formats[from]
	return b.operands(each(func(x, y, _, _ uint64) uint64 {
		return finishFloat(f, source.decode(x), how, false, relu, false)<<16 | finishFloat(f, source.decode(y), how, false, relu, false)
	}), 32, 32, 32)
}
