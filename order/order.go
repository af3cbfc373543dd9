// Package order names the order in which the elements of an array lie in memory, and converts
// arrays from one order to another with at most one copy, on any device.
//
// An order lists digits of the array's indices, outermost first; commas separate the axes of the
// array in memory. An axis is a letter. With the axes n (rows) and k (columns),
//
//	n, k                  is a matrix in row-major order
//	k, n                  its transpose
//	k/8, n k%8            has a row for each 8 k: for all n, these 8 k follow each other
//	n/16, k/4, n%16 k%4   has tiles of 16 rows and 4 columns
//	n, k~                 has each row backwards
//
// A digit AXIS/DIV%SIZE of an index i is the number i / DIV % SIZE; without DIV it is 1, without
// SIZE the digit is the rest of the index. The digits of an axis must have all of its index: each
// begins where another one ends. Where an extent is not a multiple of a digit, the array in
// memory has elements that belong to no index; they are zeros.
package order

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/restride/restride/internal/digits"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// Extents are the extents of an array's axes, by their letters.
type Extents map[byte]int64

// An Order is a parsed order.
type Order struct {
	text string
	axes [][]digits.Digit // of the array in memory
}

// Parse parses an order. The error (device.ErrInvalid) names the digit.
func Parse(text string) (Order, error) {
	o := Order{text: text}
	if strings.TrimSpace(text) == "" {
		return o, nil // of a single element
	}
	for i, axis := range strings.Split(text, ",") {
		ds, err := digits.Parse(axis)
		if err != nil {
			return Order{}, o.fail("axis %d, %v", i, err)
		}
		for _, d := range ds {
			if d.Axis == digits.NoAxis || d.Only >= 0 || d.Apart {
				return Order{}, o.fail("the digit %v leaves elements out", d)
			}
		}
		o.axes = append(o.axes, ds)
	}
	return o, o.chained()
}

// String returns the order as it was parsed.
func (o Order) String() string { return o.text }

func (o Order) fail(format string, args ...any) error {
	return layout.Errorf(layout.ErrInvalid, "order", "%s: %s", quote.Text(o.text), fmt.Sprintf(format, args...))
}

// chained checks that the digits of each axis have all of its index.
func (o Order) chained() error {
	all := slices.Concat(o.axes...)
	slices.SortStableFunc(all, func(a, b digits.Digit) int {
		return cmp.Or(cmp.Compare(a.Axis, b.Axis), cmp.Compare(a.Div, b.Div))
	})
	for i, d := range all {
		first := i == 0 || all[i-1].Axis != d.Axis
		last := i == len(all)-1 || all[i+1].Axis != d.Axis
		switch {
		case first && d.Div != 1:
			return o.fail("no digit has %c%%%d: the first digit above it is %v", d.Axis, d.Div, d)
		case last && d.Size != 0:
			return o.fail("no digit has the rest of %c above %v: %c/%d is missing", d.Axis, d, d.Axis, d.Div*d.Size)
		case !last && d.Size == 0:
			return o.fail("%v has all of %c above it, and %v has a part of that again: write %v%%%d", d, d.Axis, all[i+1], d, max(1, all[i+1].Div/d.Div))
		case !last && d.Div*d.Size != all[i+1].Div:
			return o.fail("%v ends at %d, and the next digit of %c, %v, begins at %d", d, d.Div*d.Size, d.Axis, all[i+1], all[i+1].Div)
		}
	}
	return nil
}

// Shape returns the shape of the array in memory.
func (o Order) Shape(ext Extents) (layout.Shape, error) {
	used := map[byte]bool{}
	shape := layout.Shape{}
	for _, axis := range o.axes {
		n := int64(1)
		for _, d := range axis {
			if e, ok := ext[d.Axis]; !ok || e < 0 {
				return nil, o.fail("the extent of %c is not known", d.Axis)
			}
			used[d.Axis] = true
			var fits bool
			if n, fits = times(n, d.Count(ext)); !fits {
				return nil, o.fail("an axis has more than %d elements", int64(maxExtent))
			}
		}
		shape = append(shape, n)
	}
	for _, a := range digits.Axes(ext) {
		if !used[a] && ext[a] != 1 {
			return nil, o.fail("no digit has %c, whose extent is %d", a, ext[a])
		}
	}
	if _, err := shape.Count(); err != nil {
		return nil, o.fail("%v", err)
	}
	return shape, nil
}

// Extents returns the extents of an array from its shape in memory. Each axis in memory may have
// one digit without a SIZE, whose index is taken to end with it.
func (o Order) Extents(shape layout.Shape) (Extents, error) {
	if len(shape) != len(o.axes) {
		return nil, o.fail("it has %d axes in memory, and the shape %v has %d", len(o.axes), shape, len(shape))
	}
	ext := Extents{}
	for i, axis := range o.axes {
		n, open := shape[i], -1
		for j, d := range axis {
			switch {
			case d.Size == 0 && open >= 0:
				return nil, o.fail("the extents of %c and %c do not follow from the shape %v: give them", axis[open].Axis, d.Axis, shape)
			case d.Size == 0:
				open = j
			case n%d.Size != 0:
				return nil, o.fail("axis %d of the shape %v is not a multiple of %v", i, shape, d)
			default:
				n /= d.Size
			}
		}
		switch {
		case open >= 0:
			d := axis[open]
			var fits bool
			if ext[d.Axis], fits = times(n, d.Div); !fits {
				return nil, o.fail("%c has more than %d elements", d.Axis, int64(maxExtent))
			}
		case n != 1:
			return nil, o.fail("axis %d of the shape %v is more than its digits", i, shape)
		}
	}
	return ext, nil
}

// maxExtent bounds extents, so that positions in bits are integers of 64 bits.
const maxExtent = 1 << 56

// times returns a product, and whether it is at most maxExtent.
func times(a, b int64) (int64, bool) {
	if b != 0 && a > maxExtent/b {
		return 0, false
	}
	return a * b, true
}
