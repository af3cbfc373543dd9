package ndformat

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/layout"
)

// scalar writes the one element of an array without axes, for which numpy does not limit the
// digits.
func scalar(t layout.DType, packed []byte, strs []string) string {
	switch numeric.KindOf(t) {
	case numeric.BoolKind:
		if numeric.Uint(t, packed, 0) != 0 {
			return "True"
		}
		return "False"
	case numeric.IntKind, numeric.UintKind, numeric.BitKind:
		return integer(t, packed, 0)
	case numeric.FloatKind:
		return scalarFloat(gridOf(t), numeric.Float(t, packed, 0), ".0")
	case numeric.ComplexKind:
		v := numeric.Complex(t, packed, 0)
		g := gridOf(t)
		im := scalarFloat(g, imag(v), "") + "j"
		if real(v) == 0 && !math.Signbit(real(v)) {
			return im
		}
		if im[0] != '-' {
			im = "+" + im
		}
		return "(" + scalarFloat(g, real(v), "") + im + ")"
	case numeric.StringKind:
		return quote(strs[0])
	}
	return ""
}

// Plain writes element i of a packed array of numbers as text that ONNX's Cast reads: a float
// with the fewest digits that distinguish it from its neighbours and without an exponent, or
// INF, -INF or NaN.
func Plain(t layout.DType, packed []byte, i int64) string {
	switch numeric.KindOf(t) {
	case numeric.BoolKind:
		if numeric.Uint(t, packed, i) != 0 {
			return "True"
		}
		return "False"
	case numeric.IntKind, numeric.UintKind, numeric.BitKind:
		return integer(t, packed, i)
	}
	switch v := numeric.Float(t, packed, i); {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 0):
		return strings.ToUpper(nonFinite(v, false))
	default:
		whole, frac := gridOf(t).decimal(v, 1, unlimited).positional()
		return whole + "." + max(frac, "0")
	}
}

// scalarFloat writes a single float; whole is the suffix of an integral number.
func scalarFloat(g grid, v float64, whole string) string {
	switch abs := math.Abs(v); {
	case math.IsInf(v, 0) || math.IsNaN(v):
		return nonFinite(v, false)
	case abs == 0 || abs >= 1e-4 && abs < g.scalarMax:
		whole10, frac := g.decimal(v, 1, unlimited).positional()
		if frac == "" {
			return whole10 + whole
		}
		return whole10 + "." + frac
	}
	whole10, frac, exp := g.decimal(v, 1, unlimited).scientific()
	if frac != "" {
		frac = "." + frac
	}
	return whole10 + frac + "e" + exponent(exp, 2)
}

func nonFinite(v float64, plus bool) string {
	s := "nan"
	if math.IsInf(v, 0) {
		s = "inf"
	}
	switch {
	case math.IsInf(v, -1):
		return "-" + s
	case plus:
		return "+" + s
	}
	return s
}

func integer(t layout.DType, packed []byte, i int64) string {
	if numeric.KindOf(t) == numeric.IntKind {
		return strconv.FormatInt(numeric.Int(t, packed, i), 10)
	}
	return strconv.FormatUint(numeric.Uint(t, packed, i), 10)
}

// quote writes a string as Python does.
func quote(s string) string {
	mark := '\''
	if strings.ContainsRune(s, '\'') && !strings.ContainsRune(s, '"') {
		mark = '"'
	}
	var b strings.Builder
	b.WriteRune(mark)
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case r == mark || r == '\\':
			b.WriteRune('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 1<<8:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 1<<16:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		s = s[size:]
	}
	b.WriteRune(mark)
	return b.String()
}
