package ptx

import (
	"math"
	"strings"
)

// format is a kind of float.
type format struct {
	bits, mantissa int
	least          int // exponent of the smallest normal number
}

var formats = map[string]format{
	"f16": {16, 10, -14}, "bf16": {16, 7, -126}, "f32": {32, 23, -126}, "f64": {64, 52, -1022},
}

func (f format) infinity() uint64 { return (mask(f.bits-1) >> f.mantissa) << f.mantissa }

// nan is the canonical NaN: all bits but the sign; for double precision, only the upper bit of
// the mantissa.
func (f format) nan() uint64 {
	if f.bits == 64 {
		return f.infinity() | 1<<51
	}
	return mask(f.bits - 1)
}

func (f format) decode(x uint64) float64 {
	switch f.bits {
	case 64:
		return math.Float64frombits(x)
	case 32:
		return float64(math.Float32frombits(uint32(x)))
	}
	magnitude := x & mask(f.bits-1)
	var v float64
	switch exponent := int(magnitude >> f.mantissa); {
	case magnitude > f.infinity():
		return math.NaN()
	case magnitude == f.infinity():
		v = math.Inf(1)
	case exponent == 0:
		v = math.Ldexp(float64(magnitude), f.least-f.mantissa)
	default:
		v = math.Ldexp(float64(magnitude&mask(f.mantissa)|1<<f.mantissa), f.least-f.mantissa+exponent-1)
	}
	if x>>(f.bits-1) == 1 {
		v = -v
	}
	return v
}

// rounding is a direction: rn to nearest even, rz to zero, rm down, rp up.
type rounding string

// encode rounds a number, which is exact or has been rounded to odd.
func (f format) encode(v float64, how rounding) uint64 {
	sign := uint64(0)
	if math.Signbit(v) {
		sign = 1 << (f.bits - 1)
	}
	switch {
	case math.IsNaN(v):
		return f.nan()
	case math.IsInf(v, 0):
		return sign | f.infinity()
	case f.bits == 64:
		return math.Float64bits(v)
	case f.bits == 32 && how == "rn":
		return uint64(math.Float32bits(float32(v)))
	case v == 0:
		return sign
	}
	magnitude := math.Abs(v)
	_, exponent := math.Frexp(magnitude)
	exponent = max(exponent-1, f.least)
	scaled := math.Ldexp(magnitude, f.mantissa-exponent) // in units of the last place
	n := math.Floor(scaled)
	rest := scaled - n
	switch {
	case how == "rn" && (rest > .5 || rest == .5 && math.Mod(n, 2) == 1),
		how == "rp" && rest > 0 && sign == 0,
		how == "rm" && rest > 0 && sign != 0:
		n++
	}
	// The mantissa's upper bit adds one to the exponent.
	magnitudeBits := uint64(exponent-f.least)<<f.mantissa + uint64(n)
	if magnitudeBits >= f.infinity() {
		magnitudeBits = f.infinity()
		if how == "rz" || how == "rp" && sign != 0 || how == "rm" && sign == 0 {
			magnitudeBits--
		}
	}
	return sign | magnitudeBits
}

// odd returns the sum of two numbers rounded to odd: rounding it again to a format of half the
// bits gives the same as rounding once.
func odd(a, b float64) float64 {
	sum := a + b
	if math.IsInf(sum, 0) || math.IsNaN(sum) {
		return sum
	}
	other := sum - a
	lost := (a - (sum - other)) + (b - other)
	if lost == 0 || math.Float64bits(sum)&1 == 1 {
		return sum
	}
	if (lost > 0) == (sum > 0) {
		return math.Float64frombits(math.Float64bits(sum) + 1)
	}
	return math.Float64frombits(math.Float64bits(sum) - 1)
}

// float decodes an operation on floats.
func (b *builder) float() (alu, error) {
	how := rounding(b.one("rn", "rz", "rm", "rp"))
	if how == "" {
		how = "rn"
	}
	ftz, sat := b.take("ftz"), b.take("sat")
	if b.take("approx", "full") || b.take("NaN") || b.take("xorsign") {
		return nil, errUnknown
	}
	kind, two := strings.CutSuffix(b.kind, "x2")
	f, ok := formats[kind]
	do := floats[b.name]
	if !ok || do == nil || f.bits == 64 && how != "rn" {
		return nil, errUnknown
	}
	if b.name == "div" || b.name == "rcp" || b.name == "sqrt" {
		if f.bits < 32 || how != "rn" {
			return nil, errUnknown
		}
	}
	one := func(x, y, z uint64) uint64 {
		p, q, r := f.decode(x), f.decode(y), f.decode(z)
		if ftz {
			p, q, r = f.flush(p), f.flush(q), f.flush(r)
		}
		v := do(f, p, q, r)
		if sat {
			v = saturate(v)
		}
		if ftz {
			v = f.flush(v)
		}
		return f.encode(v, how)
	}
	if !two {
		return each(func(x, y, z, _ uint64) uint64 { return one(x, y, z) }), nil
	}
	return each(func(x, y, z, _ uint64) uint64 {
		return one(x&0xffff, y&0xffff, z&0xffff) | one(x>>16, y>>16, z>>16)<<16
	}), nil
}

// flush sets numbers too small to be normal to zero.
func (f format) flush(v float64) float64 {
	if math.Abs(v) < math.Ldexp(1, f.least) {
		return math.Copysign(0, v)
	}
	return v
}

// saturate clamps to 0 and 1; NaN becomes 0.
func saturate(v float64) float64 {
	if math.IsNaN(v) || v <= 0 {
		return 0
	}
	return min(v, 1)
}

// floats are the operations; their results are exact, or round to a format of at most 32 bits
// as the exact result would.
var floats = map[string]func(f format, x, y, z float64) float64{
	"add": func(f format, x, y, _ float64) float64 { return f.sum(x, y) },
	"sub": func(f format, x, y, _ float64) float64 { return f.sum(x, -y) },
	"mul": func(_ format, x, y, _ float64) float64 { return x * y },
	"fma": func(f format, x, y, z float64) float64 {
		if f.bits == 64 {
			return math.FMA(x, y, z)
		}
		return odd(x*y, z)
	},
	"div":      func(f format, x, y, _ float64) float64 { return f.quotient(x, y) },
	"rcp":      func(f format, x, _, _ float64) float64 { return f.quotient(1, x) },
	"sqrt":     func(_ format, x, _, _ float64) float64 { return math.Sqrt(x) },
	"neg":      func(_ format, x, _, _ float64) float64 { return -x },
	"abs":      func(_ format, x, _, _ float64) float64 { return math.Abs(x) },
	"copysign": func(_ format, x, y, _ float64) float64 { return math.Copysign(y, x) },
	"min":      func(_ format, x, y, _ float64) float64 { return pick(x, y, math.Min) },
	"max":      func(_ format, x, y, _ float64) float64 { return pick(x, y, math.Max) },
}

func (f format) sum(x, y float64) float64 {
	if f.bits == 64 {
		return x + y
	}
	return odd(x, y)
}

func (f format) quotient(x, y float64) float64 {
	if f.bits == 32 {
		return float64(float32(x) / float32(y))
	}
	return x / y
}

// pick is the smaller or larger one: between a number and a NaN, the number.
func pick(x, y float64, of func(x, y float64) float64) float64 {
	switch {
	case math.IsNaN(x):
		return y
	case math.IsNaN(y):
		return x
	}
	return of(x, y)
}

// compareFloats returns a comparison; nil: there is none. Those with a u are true if
// one side is NaN.
func compareFloats(name, kind string) test {
	f, ok := formats[kind]
	tests := map[string]func(x, y float64) bool{
		"eq": func(x, y float64) bool { return x == y },
		"ne": func(x, y float64) bool { return x < y || x > y },
		"lt": func(x, y float64) bool { return x < y },
		"le": func(x, y float64) bool { return x <= y },
		"gt": func(x, y float64) bool { return x > y },
		"ge": func(x, y float64) bool { return x >= y },

		"num": func(x, y float64) bool { return !math.IsNaN(x) && !math.IsNaN(y) },
	}
	holds := tests[name]
	if base, unordered := strings.CutSuffix(name, "u"); unordered {
		if of := tests[base]; of != nil {
			holds = func(x, y float64) bool { return of(x, y) || math.IsNaN(x) || math.IsNaN(y) }
		}
	}
	if name == "nan" {
		holds = func(x, y float64) bool { return math.IsNaN(x) || math.IsNaN(y) }
	}
	if !ok || holds == nil {
		return nil
	}
	return func(a, b *lanes) (m uint32) {
		for i := range a {
			if holds(f.decode(a[i]), f.decode(b[i])) {
				m |= 1 << i
			}
		}
		return m
	}
}
