// Package ndformat writes arrays as numpy's str does, with its default print
// options: at most 8 digits after the point, lines of 75 characters, and 3
// items at either end of each axis of an array of more than 1000 elements.
//
// Differences, where numpy lacks the type, or says less than a reader of tensors needs:
//
//   - bfloat16 is printed like numpy's float16: the fewest digits that distinguish
//     a value from its neighbours in its own format, with an exponent from 100
//     on (numpy: from 10 to the number of decimal digits that the type holds);
//   - the floats of 8 bits and less are printed like float32, so that their
//     value shows: 448, not 4.5e+02;
//   - integers below a byte are printed like int8;
//   - a string is quoted even if it is a scalar; bytes of it that are not UTF-8
//     are \x escapes.
package ndformat

import (
	"strings"
	"unicode/utf8"

	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/layout"
)

// numpy's default print options.
const (
	threshold = 1000
	edgeItems = 3
	lineWidth = 75
	precision = 8
)

// Kept returns the extents of the shown part of an array: all of it up to 1000 elements; for a
// larger one at most 6 along each axis, the first 3 and the last 3.
func Kept(shape layout.Shape) layout.Shape {
	kept := shape.Clone()
	if n, err := shape.Count(); err == nil && n <= threshold {
		return kept
	}
	for i, d := range kept {
		kept[i] = min(d, 2*edgeItems)
	}
	return kept
}

// Format writes an array of the given shape. The elements are those of
// Kept(shape) in row-major order: packed little-endian, or strs for strings.
func Format(t layout.DType, shape layout.Shape, packed []byte, strs []string) string {
	kept := Kept(shape)
	n, err := kept.Count()
	switch {
	case err != nil:
		return "<" + err.Error() + ">"
	case n == 0:
		return "[]"
	case len(shape) == 0:
		return scalar(t, packed, strs)
	}
	a := array{shape: shape, kept: kept, cells: cells(t, n, packed, strs)}
	return a.block(0, " ", lineWidth)
}

// cells returns every element as text, padded so that they align.
func cells(t layout.DType, n int64, packed []byte, strs []string) []string {
	out := make([]string, n)
	switch numeric.KindOf(t) {
	case numeric.BoolKind:
		for i := range out {
			out[i] = "False"
			if numeric.Uint(t, packed, int64(i)) != 0 {
				out[i] = " True"
			}
		}
	case numeric.IntKind, numeric.UintKind, numeric.BitKind:
		for i := range out {
			out[i] = integer(t, packed, int64(i))
		}
		alignRight(out)
	case numeric.FloatKind:
		values := make([]float64, n)
		for i := range values {
			values[i] = numeric.Float(t, packed, int64(i))
		}
		style := newFloatStyle(gridOf(t), values, false)
		for i, v := range values {
			out[i] = style.cell(v)
		}
	case numeric.ComplexKind:
		re, im := make([]float64, n), make([]float64, n)
		for i := range re {
			v := numeric.Complex(t, packed, int64(i))
			re[i], im[i] = real(v), imag(v)
		}
		reStyle, imStyle := newFloatStyle(gridOf(t), re, false), newFloatStyle(gridOf(t), im, true)
		for i := range out {
			cell := imStyle.cell(im[i])
			digits := strings.TrimRight(cell, " ")
			out[i] = reStyle.cell(re[i]) + digits + "j" + cell[len(digits):]
		}
	case numeric.StringKind:
		for i := range out {
			out[i] = quote(strs[i])
		}
	}
	return out
}

func alignRight(cells []string) {
	width := 0
	for _, c := range cells {
		width = max(width, len(c))
	}
	for i, c := range cells {
		cells[i] = strings.Repeat(" ", width-len(c)) + c
	}
}

// An array is laid out by numpy's rules from the text of its elements.
type array struct {
	shape, kept layout.Shape
	cells       []string // not written yet
}

// block writes the next sub-array that has the axes from axis on. Its lines after the first
// begin with the indent; width is the limit of a line up to the closing brackets.
func (a *array) block(axis int, indent string, width int) string {
	if axis == len(a.kept)-1 {
		return a.row(indent, width-1)
	}
	gap := strings.Repeat("\n", len(a.kept)-1-axis)
	var b strings.Builder
	for i := range a.kept[axis] {
		if i > 0 {
			b.WriteString(gap + indent)
		}
		if i == edgeItems && a.shortened(axis) {
			b.WriteString("..." + gap + indent)
		}
		b.WriteString(a.block(axis+1, indent+" ", width-1))
	}
	return "[" + b.String() + "]"
}

// row writes the next elements of the last axis, on as many lines as needed.
func (a *array) row(indent string, width int) string {
	var done strings.Builder
	line := indent
	put := func(word string) {
		length := utf8.RuneCountInString(line)
		if length+utf8.RuneCountInString(word) > width && length > len(indent) {
			done.WriteString(strings.TrimRight(line, " ") + "\n")
			line = indent
		}
		line += word
	}
	last := len(a.kept) - 1
	for i := range a.kept[last] {
		if i > 0 {
			line += " "
		}
		if i == edgeItems && a.shortened(last) {
			put("...")
			line += " "
		}
		put(a.cells[0])
		a.cells = a.cells[1:]
	}
	return "[" + (done.String() + line)[len(indent):] + "]"
}

func (a *array) shortened(axis int) bool { return a.kept[axis] < a.shape[axis] }
