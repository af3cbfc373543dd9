package quant

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Axes of weights. Layouts other than matrices have their own letters.
const (
	axisU = 'u' // batches of matrices
	axisE = 'e' // matrices: experts
	axisN = 'n' // outputs
	axisK = 'k' // inputs, over which a product is summed
	axisG = 'g' // groups of k with one scale each
	axisS = 's' // blocks of k whose scales share a scale
	axisB = 'b' // blocks of scales, row by row, that share a scale
	axisC = 'c' // codes of scales
	axisR = 'r' // blocks of n with one scale each
)

// superBlock is the number of k in a block whose scales share a scale, in K-quants.
const superBlock = 256

// extents are the extents of axes.
type extents map[byte]int64

// String lists the extents with the letters of the axes.
func (e extents) String() string {
	var all []string
	for _, axis := range slices.Sorted(maps.Keys(e)) {
		all = append(all, fmt.Sprintf("%c is %d", axis, e[axis]))
	}
	return strings.Join(all, ", ")
}

// digit is a part of an index: for index i of an axis, the number i/div%size.
type digit struct {
	axis    byte
	div     int64
	size    int64 // 0: the rest of the axis
	only    int64 // the only value present, or the first of several; -1: all
	several int64 // number of values present from only on; 0: one
	reverse bool  // values are in descending order
	stride  int64 // bits from one value to the next
	apart   bool  // the order specifies stride
}

// noAxis stands for the axis in a digit with a known value.
const noAxis = '#'

// digits parses an order of digits, outermost first: "k/8 n k%8" has a row for each 8 k; a
// row has all n, and each n these 8. A digit is AXIS, AXIS/DIV, AXIS%SIZE or AXIS/DIV%SIZE.
// A suffix modifies it: "~" reverses its order, "=2" means that only this value is present,
// "=2+3" that the three values from it on are, and ":96" that values are 96 bits apart,
// with others between. "#1%3" is not a digit of an index, but the second of three places.
// Orders are constants of this package: an invalid one panics.
func digits(order string) []digit { return slices.Clone(knownDigits(order)) }

var knownDigits = newMemory(readDigits)

func readDigits(order string) []digit {
	var out []digit
	for _, word := range strings.Fields(order) {
		d := digit{axis: word[0], div: 1, only: -1}
		rest, apart, some := strings.Cut(word[1:], ":")
		if some {
			d.stride, d.apart = number(word, apart), true
		}
		rest, only, some := strings.Cut(rest, "=")
		if some {
			only, several, more := strings.Cut(only, "+")
			if d.only = number(word, only); more {
				d.several = number(word, several)
			}
		}
		rest, d.reverse = strings.CutSuffix(rest, "~")
		rest, size, some := strings.Cut(rest, "%")
		if some {
			d.size = number(word, size)
		}
		if d.axis == noAxis {
			d.only, rest = number(word, rest), ""
		}
		if div, some := strings.CutPrefix(rest, "/"); some {
			d.div = number(word, div)
		} else if rest != "" {
			panic("quant: the digit " + word)
		}
		out = append(out, d)
	}
	return out
}

func number(word, text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		panic("quant: the digit " + word)
	}
	return n
}

func (d digit) String() string {
	s := string(rune(d.axis))
	if d.axis == noAxis {
		return fmt.Sprintf("%s%d%%%d", s, d.only, d.size)
	}
	if d.div > 1 {
		s += fmt.Sprintf("/%d", d.div)
	}
	if d.size > 0 {
		s += fmt.Sprintf("%%%d", d.size)
	}
	if d.reverse {
		s += "~"
	}
	if d.only >= 0 {
		s += fmt.Sprintf("=%d", d.only)
	}
	if d.several > 0 {
		s += fmt.Sprintf("+%d", d.several)
	}
	if d.apart {
		s += fmt.Sprintf(":%d", d.stride)
	}
	return s
}

// count is the number of values of the digit.
func (d digit) count(ext extents) int64 {
	if d.size > 0 {
		return d.size
	}
	return (ext[d.axis] + d.div - 1) / d.div
}

// lay sets the strides of nested digits without gaps, with innermost values pitch bits
// apart. It returns the total number of bits, and the position of the first value.
func lay(ds []digit, pitch int64, ext extents) (bits, at int64) {
	for i := len(ds) - 1; i >= 0; i-- {
		d := &ds[i]
		if d.apart {
			pitch = d.stride
		}
		switch d.stride = pitch; {
		case d.axis == noAxis:
			at += pitch * d.only
			pitch *= d.size
			continue
		case d.only >= 0:
			pitch *= max(1, d.several)
			continue
		}
		n := d.count(ext)
		if pitch *= n; d.reverse {
			at += d.stride * (n - 1)
			d.stride = -d.stride
		}
	}
	return pitch, at
}
