package tensor

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// Rearrange splits, permutes and merges axes by a pattern in the notation of einops.rearrange:
// "b s (h d) -> b h s d" with 8 as the size of h turns [2,5,512] into [2,8,5,64]. Names in
// parentheses are parts of one axis, outermost first. sizes has the extents of names that do not
// follow from the shape: all but one of each pair of parentheses on the left. 1 and () are axes
// of extent 1, "..." is any number of axes. The result is a view if strides can express it, else
// one contiguous copy.
func (t *Tensor) Rearrange(pattern string, sizes map[string]int64) (*Tensor, error) {
	const op = "Rearrange"
	if t == nil {
		return nil, nilTensor(op)
	}
	p, err := parsePattern(pattern)
	var l layout.Layout
	var dims []int64
	if err == nil {
		l, dims, err = p.apply(t.layout, sizes)
	}
	if err != nil {
		err = layout.Errorf(device.ErrInvalid, op, "%s: %v", quote.Text(pattern), err)
	}
	return t.rearranged(op, l, dims, err)
}

// pattern is a parsed pattern: the names of each axis on both sides.
type pattern struct{ from, to [][]string }

// anyAxes is the name that stands for any number of axes.
const anyAxes = "..."

func parsePattern(text string) (p pattern, err error) {
	left, right, ok := strings.Cut(text, "->")
	if !ok {
		return p, wrong("it has no ->")
	}
	var names, others map[string]bool
	if p.from, names, err = parseSide(left); err == nil {
		p.to, others, err = parseSide(right)
	}
	if err != nil {
		return p, err
	}
	for name := range names {
		if !others[name] {
			return p, wrong("%s is on the left only", name)
		}
	}
	for name := range others {
		if !names[name] {
			return p, wrong("%s is on the right only", name)
		}
	}
	if slices.ContainsFunc(p.from, func(axis []string) bool { return len(axis) > 1 && slices.Contains(axis, anyAxes) }) {
		return p, wrong("... cannot be in parentheses on the left")
	}
	return p, nil
}

// wrong returns the reason that a pattern is refused.
func wrong(format string, args ...any) error { return fmt.Errorf(format, args...) }

// parseSide parses a side of a pattern, and returns its axes and names.
func parseSide(text string) (axes [][]string, names map[string]bool, err error) {
	names = map[string]bool{}
	open := false
	for _, sign := range []string{"(", ")", anyAxes} {
		text = strings.ReplaceAll(text, sign, " "+sign+" ")
	}
	for _, word := range strings.Fields(text) {
		switch {
		case word == "(" && open, word == ")" && !open:
			return nil, nil, wrong("parentheses do not match")
		case word == "(":
			open = true
			axes = append(axes, nil)
		case word == ")":
			open = false
		case word != "1" && word != anyAxes && !isName(word):
			return nil, nil, wrong("%s is not a name, 1 or ...", quote.Text(word))
		case names[word]:
			return nil, nil, wrong("%s is on one side twice", word)
		default:
			if !open {
				axes = append(axes, nil)
			}
			if word != "1" {
				names[word] = true
				axes[len(axes)-1] = append(axes[len(axes)-1], word)
			}
		}
	}
	if open {
		return nil, nil, wrong("parentheses do not match")
	}
	return axes, names, nil
}

func isName(word string) bool {
	for i, r := range word {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return false
		}
	}
	return true
}

// apply returns a layout in which each name is an axis, in the order of the right side, and the
// extents of the result.
func (p pattern) apply(l layout.Layout, sizes map[string]int64) (_ layout.Layout, dims []int64, err error) {
	from, to := p.from, p.to
	others := l.Rank() - len(from)
	if slices.ContainsFunc(from, isAny) {
		others++
		from, to = expand(from, others), expand(to, others)
	}
	if len(from) != l.Rank() {
		return l, nil, wrong("the left side has %d axes, and the tensor %d", len(p.from), l.Rank())
	}
	extents, err := extentsOf(from, l.Shape(), sizes)
	if err != nil {
		return l, nil, err
	}
	names := slices.Concat(from...)
	split := make([]int64, len(names))
	for i, name := range names {
		split[i] = extents[name]
	}
	if l, err = l.Reshape(split...); err != nil { // of each axis alone: it needs no copy
		return l, nil, err
	}
	var perm []int
	for _, axis := range to {
		n := int64(1)
		for _, name := range axis {
			perm = append(perm, slices.Index(names, name))
			n *= extents[name]
		}
		dims = append(dims, n)
	}
	l, err = l.Permute(perm...)
	return l, dims, err
}

func isAny(axis []string) bool { return slices.Contains(axis, anyAxes) }

// expand puts names for n axes in the place of "...".
func expand(axes [][]string, n int) (out [][]string) {
	var names []string
	for i := range max(0, n) {
		names = append(names, anyAxes+strconv.Itoa(i))
	}
	for _, axis := range axes {
		at := slices.Index(axis, anyAxes)
		switch {
		case at < 0:
			out = append(out, axis)
		case len(axis) == 1:
			for i := range names {
				out = append(out, names[i:i+1])
			}
		default:
			out = append(out, slices.Concat(axis[:at], names, axis[at+1:]))
		}
	}
	return out
}

// extentsOf returns the extent of each name on the left side.
func extentsOf(from [][]string, shape layout.Shape, sizes map[string]int64) (map[string]int64, error) {
	extents, used := map[string]int64{}, 0
	for i, axis := range from {
		known, open := int64(1), ""
		for _, name := range axis {
			n, given := sizes[name]
			before := known
			switch {
			case given && n < 0:
				return nil, wrong("the size of %s is %d", name, n)
			case given:
				used++
				extents[name] = n
				if known = known * n; n > 0 && known/n != before {
					known = math.MaxInt64
				}
			case open != "":
				return nil, wrong("axis %d has %s and %s: one of them needs a size", i, open, name)
			default:
				open = name
			}
		}
		switch {
		case open == "" && known != shape[i], open != "" && known > 0 && shape[i]%known != 0:
			return nil, wrong("axis %d has %d elements, and (%s) with the given sizes %d", i, shape[i], strings.Join(axis, " "), known)
		case open != "" && known == 0:
			return nil, wrong("axis %d has no elements: %s needs a size", i, open)
		case open != "":
			extents[open] = shape[i] / known
		}
	}
	if used < len(sizes) {
		for _, name := range slices.Sorted(maps.Keys(sizes)) {
			if _, ok := extents[name]; !ok {
				return nil, wrong("there is a size of %s, which is not a name on the left", quote.Text(name))
			}
		}
	}
	return extents, nil
}
