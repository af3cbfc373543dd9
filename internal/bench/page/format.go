package page

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// none stands for a missing figure.
const none = "–"

// sound returns a figure, or 0 if it is not positive, or so small or large that products
// overflow.
func sound(v float64) float64 {
	if v > 1e-100 && v < 1e100 {
		return v
	}
	return 0
}

// over is the quotient of two figures, or 0.
func over(a, b float64) float64 {
	if sound(a) == 0 || sound(b) == 0 {
		return 0
	}
	return a / b
}

// number writes a figure with the given number of decimals, or with three digits if these would
// be many, or only zeros.
func number(v float64, decimals int) string {
	if v = sound(v); v == 0 {
		return none
	}
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	if v >= 1e7 || strings.Trim(text, "0.") == "" {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return text
}

// short writes a figure with three digits, or with all digits before the point.
func short(v float64) string {
	switch v = sound(v); {
	case v >= 99.95:
		return number(v, 0)
	case v >= 9.995:
		return number(v, 1)
	}
	return number(v, 2)
}

func times(v float64) string {
	if sound(v) == 0 {
		return none
	}
	return short(v) + "×"
}

// spread writes a spread, which may be 0, in percent.
func spread(v float64) string {
	switch {
	case v == 0:
		return "0 %"
	case sound(v) == 0:
		return none
	case v < .005:
		return "<1 %"
	}
	return number(100*v, 0) + " %"
}

// binary writes a number of bytes.
func binary(n int64) string {
	if n <= 0 {
		return none
	}
	v, unit := float64(n), 0
	for v >= 1024 && unit < 5 {
		v, unit = v/1024, unit+1
	}
	text := strconv.FormatFloat(v, 'f', 1, 64)
	return strings.TrimSuffix(text, ".0") + " " + []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}[unit]
}

// count writes a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// median is the median of figures without missing ones; 0 if all are missing.
func median(all []float64) float64 {
	var some []float64
	for _, v := range all {
		if sound(v) > 0 {
			some = append(some, v)
		}
	}
	if len(some) == 0 {
		return 0
	}
	slices.Sort(some)
	return some[(len(some)-1)/2]/2 + some[len(some)/2]/2
}
