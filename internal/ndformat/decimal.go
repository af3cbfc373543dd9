package ndformat

import (
	"math"
	"math/big"
	"math/bits"
	"strings"

	"github.com/restride/restride/layout"
)

// A grid is the set of values that a float format has, which determines the fewest digits that
// distinguish a value from its neighbours, and numpy's bounds for positional notation.
type grid struct {
	mantissa  int     // significant bits, the hidden one included
	least     int     // the least value is 2^least
	arrayMax  float64 // arrays from here on are in scientific notation
	scalarMax float64
}

// gridOf returns the grid in which a float or complex type is printed.
func gridOf(t layout.DType) grid {
	switch t {
	case layout.Float64, layout.Complex128:
		return grid{53, -1074, 1e8, 1e16}
	case layout.Float16:
		return grid{11, -24, 1e3, 1e3}
	case layout.BFloat16:
		return grid{8, -133, 1e2, 1e2}
	}
	return grid{24, -149, 1e6, 1e6} // float32, and the types of 8 bits and less
}

// round rounds a positive number to the grid's significant bits.
func (g grid) round(v float64) float64 {
	frac, exp := math.Frexp(v)
	return math.Ldexp(math.RoundToEven(math.Ldexp(frac, g.mantissa)), exp-g.mantissa)
}

// A decimal is the number (-1)^negative * d.ddd * 10^exp.
type decimal struct {
	negative bool
	digits   string // without trailing zeros; "0" for 0
	exp      int
}

// unlimited exceeds the digits of any float64.
const unlimited = 1 << 12

// decimalPlaces is decimal with at least one digit and at most the given number of places after
// the point.
func (g grid) decimalPlaces(v float64, places int) decimal {
	return g.generate(v, 1, func(exp int) int { return exp + 1 + places })
}

// decimal returns the shortest decimal that is nearer to v than to v's
// neighbours in the grid, but at least least and at most most digits.
func (g grid) decimal(v float64, least, most int) decimal {
	return g.generate(v, least, func(int) int { return most })
}

// generate makes digits by Steele, White and Dybvig's method: r/s is what
// remains of v in units of the next digit, below and above are half the
// distances to v's neighbours in the same units. It follows numpy in that the
// digit on which it stops is rounded toward v only where both directions stay
// nearer to v than to a neighbour (or neither does).
func (g grid) generate(v float64, least int, most func(exp int) int) decimal {
	d := decimal{negative: math.Signbit(v), digits: "0"}
	if v == 0 {
		return d
	}
	_, exp2 := math.Frexp(v)
	unit := max(exp2-g.mantissa, g.least) // v = m * 2^unit
	m := uint64(math.Ldexp(math.Abs(v), -unit))

	r := new(big.Int).SetUint64(m << 2)
	s, below, above := big.NewInt(4), big.NewInt(2), big.NewInt(2)
	if m == 1<<(g.mantissa-1) && unit > g.least {
		below.SetInt64(1) // the numbers below a power of 2 are twice as dense
	}
	if unit > 0 {
		for _, x := range []*big.Int{r, below, above} {
			x.Lsh(x, uint(unit))
		}
	} else {
		s.Lsh(s, uint(-unit))
	}
	ten := big.NewInt(10)
	timesTen := func() {
		for _, x := range []*big.Int{r, below, above} {
			x.Mul(x, ten)
		}
	}
	// The estimate is exact or one too low.
	d.exp = int(math.Floor(float64(bits.Len64(m)-1+unit)*math.Log10(2) - 1e-9))
	if d.exp > 0 {
		s.Mul(s, new(big.Int).Exp(ten, big.NewInt(int64(d.exp)), nil))
	}
	for range -d.exp {
		timesTen()
	}
	if r.Cmp(new(big.Int).Mul(s, ten)) >= 0 {
		d.exp++
		s.Mul(s, ten)
	}

	limit, inclusive := most(d.exp), 0
	if m%2 == 0 {
		inclusive = 1 // a tie between v and a neighbour is read as the even one
	}
	var digits []byte
	digit, high := new(big.Int), new(big.Int)
	for {
		digit.QuoRem(r, s, r)
		digits = append(digits, '0'+byte(digit.Int64()))
		low := r.Cmp(below) < inclusive
		up := high.Add(r, above).Cmp(s) > -inclusive
		if (low || up) && len(digits) >= least || len(digits) >= limit {
			if low == up {
				half := r.Lsh(r, 1).Cmp(s)
				up = half > 0 || half == 0 && digit.Bit(0) == 1
			}
			if up {
				digits, d.exp = increment(digits, d.exp)
			}
			break
		}
		timesTen()
	}
	d.digits = strings.TrimRight(string(digits), "0")
	return d
}

// increment adds one in the last digit.
func increment(digits []byte, exp int) ([]byte, int) {
	for i := len(digits) - 1; i >= 0; i-- {
		if digits[i] != '9' {
			digits[i]++
			return digits[:i+1], exp
		}
	}
	return []byte{'1'}, exp + 1
}

func (d decimal) sign() string {
	if d.negative {
		return "-"
	}
	return ""
}

// positional returns the digits before and after the point; there may be none
// after it.
func (d decimal) positional() (whole, frac string) {
	switch n := d.exp + 1; {
	case n <= 0:
		whole, frac = "0", strings.Repeat("0", -n)+d.digits
	case n >= len(d.digits):
		whole = d.digits + strings.Repeat("0", n-len(d.digits))
	default:
		whole, frac = d.digits[:n], d.digits[n:]
	}
	return d.sign() + whole, frac
}

// scientific returns the digits before and after the point and the exponent.
func (d decimal) scientific() (whole, frac string, exp int) {
	return d.sign() + d.digits[:1], d.digits[1:], d.exp
}
