// Package digits describes where the elements of arrays are, by digits of their indices, and
// finds the strided copies between two such orders: the common refinement of both.
package digits

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/restride/restride/internal/quote"
)

// Extents are the extents of axes, which are letters.
type Extents = map[byte]int64

// Axes lists the axes in a fixed order.
func Axes(e Extents) []byte { return slices.Sorted(maps.Keys(e)) }

// Digit is a part of an index: for index i of an axis, the number i/Div%Size.
type Digit struct {
	Axis    byte
	Div     int64
	Size    int64 // 0: the rest of the axis
	Only    int64 // the only value present, or the first of several; -1: all
	Several int64 // number of values present from Only on; 0: one
	Reverse bool  // values are in descending order
	Stride  int64 // from one value to the next
	Apart   bool  // the order specifies Stride
}

// NoAxis is the Axis of a digit with a known value.
const NoAxis = '#'

// Parse reads an order of digits, outermost first: "k/8 n k%8" has a row for each 8 k; a row has
// all n, and each n these 8. A digit is AXIS, AXIS/DIV, AXIS%SIZE or AXIS/DIV%SIZE. A suffix
// modifies it: "~" reverses its order, "=2" means that only this value is present, "=2+3" that
// the three values from it on are, and ":96" that values are 96 units apart, with others
// between. "#1%3" is not a digit of an index, but the second of three places. The error names
// the digit.
func Parse(order string) ([]Digit, error) {
	var out []Digit
	for i, word := range strings.Fields(order) {
		d, err := parseDigit(word)
		if err != nil {
			return nil, fmt.Errorf("digit %d, %s: %w", i+1, quote.Text(word), err)
		}
		out = append(out, d)
	}
	return out, nil
}

func parseDigit(word string) (Digit, error) {
	d := Digit{Axis: word[0], Div: 1, Only: -1}
	if letter := d.Axis|0x20 >= 'a' && d.Axis|0x20 <= 'z'; !letter && d.Axis != NoAxis {
		return d, fmt.Errorf("it must begin with the letter of an axis")
	}
	rest := word[1:]
	for _, part := range []struct {
		mark  string
		value *int64
		least int64
		given *bool
	}{
		{":", &d.Stride, 0, &d.Apart},
		{"+", &d.Several, 1, nil},
		{"=", &d.Only, 0, nil},
		{"~", nil, 0, &d.Reverse},
		{"%", &d.Size, 1, nil},
		{"/", &d.Div, 1, nil},
	} {
		before, after, found := strings.Cut(rest, part.mark)
		if !found {
			continue
		}
		rest = before
		if part.given != nil {
			*part.given = true
		}
		if part.value == nil {
			if after != "" {
				return d, fmt.Errorf("%q after %s", after, part.mark)
			}
			continue
		}
		n, err := strconv.ParseInt(after, 10, 64)
		if err != nil || n < part.least {
			return d, fmt.Errorf("%q after %s is not an integer from %d on", after, part.mark, part.least)
		}
		*part.value = n
	}
	switch n, err := strconv.ParseInt(rest, 10, 64); {
	case d.Axis == NoAxis && (err != nil || n < 0 || n >= d.Size):
		return d, fmt.Errorf("it must be a place of several, like #1%%3")
	case d.Axis == NoAxis:
		d.Only = n
	case rest != "":
		return d, fmt.Errorf("%q after the letter of the axis; a digit is like k, k/8, k%%8 or k/8%%2", rest)
	case d.Several > 0 && d.Only < 0:
		return d, fmt.Errorf("+ needs = before it")
	case d.Size > 0 && d.Only >= 0 && d.Only+max(1, d.Several) > d.Size:
		return d, fmt.Errorf("its values are 0 to %d", d.Size-1)
	}
	return d, nil
}

func (d Digit) String() string {
	s := string(rune(d.Axis))
	if d.Axis == NoAxis {
		return fmt.Sprintf("%s%d%%%d", s, d.Only, d.Size)
	}
	if d.Div > 1 {
		s += fmt.Sprintf("/%d", d.Div)
	}
	if d.Size > 0 {
		s += fmt.Sprintf("%%%d", d.Size)
	}
	if d.Reverse {
		s += "~"
	}
	if d.Only >= 0 {
		s += fmt.Sprintf("=%d", d.Only)
	}
	if d.Several > 0 {
		s += fmt.Sprintf("+%d", d.Several)
	}
	if d.Apart {
		s += fmt.Sprintf(":%d", d.Stride)
	}
	return s
}

// Count returns the number of values of the digit.
func (d Digit) Count(ext Extents) int64 {
	if d.Size > 0 {
		return d.Size
	}
	return (ext[d.Axis] + d.Div - 1) / d.Div
}

// Lay sets the strides of nested digits without gaps, with innermost values pitch units apart.
// It returns the total number of units, and the position of the first value.
func Lay(ds []Digit, pitch int64, ext Extents) (units, at int64) {
	for i := len(ds) - 1; i >= 0; i-- {
		d := &ds[i]
		if d.Apart {
			pitch = d.Stride
		}
		switch d.Stride = pitch; {
		case d.Axis == NoAxis:
			at += pitch * d.Only
			pitch *= d.Size
			continue
		case d.Only >= 0:
			pitch *= max(1, d.Several)
			continue
		}
		n := d.Count(ext)
		if pitch *= n; d.Reverse {
			at += d.Stride * (n - 1)
			d.Stride = -d.Stride
		}
	}
	return pitch, at
}
