package tensor

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// parseFloat reads a number in plain or scientific notation, or one of INF, +INF, -INF and NaN in
// letters of any case. Numbers that are too large become infinities.
func parseFloat(s string, bits int) (float64, bool) {
	unsigned := strings.TrimPrefix(strings.TrimPrefix(s, "+"), "-")
	switch {
	case strings.EqualFold(s, "nan"):
		return math.NaN(), true
	case strings.EqualFold(s, "-inf"):
		return math.Inf(-1), true
	case strings.EqualFold(s, "inf"), strings.EqualFold(s, "+inf"):
		return math.Inf(1), true
	case strings.Trim(unsigned, "0123456789.eE+-") != "" || unsigned == "": // no hexadecimal, no _
		return 0, false
	}
	v, err := strconv.ParseFloat(s, bits)
	return v, err == nil || errors.Is(err, strconv.ErrRange)
}

// parseInteger reads a number in plain or scientific notation and truncates it towards zero,
// exactly. The result has the bits of an int64, or of a uint64 above its range; numbers out of
// both ranges, infinities and NaN are refused.
func parseInteger(s string) (int64, bool) {
	if v, err := strconv.ParseInt(s, 10, 64); err == nil {
		return v, true
	}
	v, ok := parseFloat(s, 64)
	if !ok || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, false
	}
	unsigned := strings.TrimLeft(s, "+-")
	mantissa, exponent, _ := strings.Cut(strings.ToLower(unsigned), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return 0, true
	}
	// The number is 0.digits * 10^point.
	e, _ := strconv.ParseInt(exponent, 10, 32) // without an exponent 0, out of range the nearest
	point := int64(len(digits)-len(fraction)) + e
	const most = 20 // digits of the largest uint64
	switch {
	case point <= 0:
		return 0, true
	case point > most:
		return 0, false
	case point > int64(len(digits)):
		digits += strings.Repeat("0", most)
	}
	n, err := strconv.ParseUint(digits[:point], 10, 64)
	if s[0] == '-' {
		return -int64(n), err == nil && n <= 1<<63
	}
	return int64(n), err == nil
}

// parseBool reads True and False in letters of any case, and numbers.
func parseBool(s string) (bool, bool) {
	switch {
	case strings.EqualFold(s, "true"):
		return true, true
	case strings.EqualFold(s, "false"):
		return false, true
	}
	v, ok := parseFloat(s, 64)
	return v != 0, ok
}
