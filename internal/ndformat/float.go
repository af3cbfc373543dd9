package ndformat

import (
	"fmt"
	"math"
	"strings"
)

// A floatStyle is the style of all floats of one array: the notation, and the widths left and
// right of the point.
type floatStyle struct {
	grid        grid
	plus        bool // non-negative numbers get a +
	scientific  bool
	frac, exp   int // scientific: digits after the point and of the exponent
	left, right int // characters before and after the point
}

// newFloatStyle chooses the style that shows the values.
func newFloatStyle(g grid, values []float64, plus bool) floatStyle {
	s := floatStyle{grid: g, plus: plus}
	var finite []float64
	least, most := math.Inf(1), 0.0
	nonFinite, negInf := false, plus
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			nonFinite = true
			negInf = negInf || math.IsInf(v, -1)
			continue
		}
		finite = append(finite, v)
		if v != 0 {
			least, most = min(least, math.Abs(v)), max(most, math.Abs(v))
		}
	}
	// numpy compares in the arithmetic of the type.
	s.scientific = most > 0 && (most >= g.arrayMax || least < g.round(1e-4) || g.round(most/least) > 1000)
	for _, v := range finite {
		if s.scientific {
			whole, frac, exp := g.decimal(v, 1, precision+1).scientific()
			s.left = max(s.left, len(s.sign(v)+whole))
			s.frac = max(s.frac, len(frac))
			s.exp = max(s.exp, len(exponent(exp, 2))-1)
			continue
		}
		whole, frac := s.positional(v)
		s.left, s.right = max(s.left, len(whole)), max(s.right, len(frac))
	}
	if s.scientific {
		s.right = s.frac + len("e+") + s.exp
	}
	if nonFinite {
		width := len("inf") - len(".") - s.right
		if negInf {
			width++
		}
		s.left = max(s.left, width)
	}
	return s
}

func (s *floatStyle) positional(v float64) (whole, frac string) {
	whole, frac = s.grid.decimalPlaces(v, precision).positional()
	return s.sign(v) + whole, frac
}

// sign is the sign that the digits lack: decimals include their minus.
func (s *floatStyle) sign(v float64) string {
	if s.plus && !math.Signbit(v) {
		return "+"
	}
	return ""
}

// cell writes one value, in the width common to all.
func (s *floatStyle) cell(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Sprintf("%*s", s.left+1+s.right, nonFinite(v, s.plus))
	}
	if s.scientific {
		whole, frac, exp := s.grid.decimal(v, s.frac+1, s.frac+1).scientific()
		frac += strings.Repeat("0", s.frac-len(frac))
		return fmt.Sprintf("%*s.%se%s", s.left, s.sign(v)+whole, frac, exponent(exp, s.exp))
	}
	whole, frac := s.positional(v)
	return fmt.Sprintf("%*s.%-*s", s.left, whole, s.right, frac)
}

// exponent writes a decimal exponent with its sign and at least the given number of digits.
func exponent(exp, digits int) string { return fmt.Sprintf("%+0*d", digits+1, exp) }
