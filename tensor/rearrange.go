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

// pattern is a parsed pattern: the axes of both sides.
type pattern struct{ from, to []group }

// group is an axis of a side: names, of which "..." stands for several axes unless they are in
// parentheses.
type group struct {
	names  []string
	merged bool // in parentheses
}

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
	if slices.ContainsFunc(p.from, func(g group) bool { return g.merged && g.any() }) {
		return p, wrong("... cannot be in parentheses on the left")
	}
	return p, nil
}

// wrong returns the reason that a pattern is refused.
func wrong(format string, args ...any) error { return fmt.Errorf(format, args...) }

// parseSide parses a side of a pattern, and returns its axes and names.
func parseSide(text string) (axes []group, names map[string]bool, err error) {
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
			axes = append(axes, group{merged: true})
		case word == ")":
			open = false
		case word != "1" && word != anyAxes && !isName(word):
			return nil, nil, wrong("%s is not a name, 1 or ...", quote.Text(word))
		case names[word]:
			return nil, nil, wrong("%s is on one side twice", word)
		default:
			if !open {
				axes = append(axes, group{})
			}
			if word != "1" {
				names[word] = true
				last := &axes[len(axes)-1]
				last.names = append(last.names, word)
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
	if slices.ContainsFunc(from, group.any) {
		others := l.Rank() - len(from) + 1
		from, to = expand(from, others), expand(to, others)
	}
	if len(from) != l.Rank() {
		return l, nil, wrong("the left side has %d axes, and the tensor %d", len(p.from), l.Rank())
	}
	extents, err := extentsOf(from, l.Shape(), sizes)
	if err != nil {
		return l, nil, err
	}
	var names []string
	var split []int64
	for _, g := range from {
		for _, name := range g.names {
			names, split = append(names, name), append(split, extents[name])
		}
	}
	if l, err = l.Reshape(split...); err != nil { // of each axis alone: it needs no copy
		return l, nil, err
	}
	var perm []int
	for _, g := range to {
		n := int64(1)
		for _, name := range g.names {
			perm = append(perm, slices.Index(names, name))
			n = product(n, extents[name])
		}
		if n == math.MaxInt64 {
			return l, nil, wrong("the axis (%s) has too many elements", strings.Join(g.names, " "))
		}
		dims = append(dims, n)
	}
	l, err = l.Permute(perm...)
	return l, dims, err
}

// product multiplies extents; math.MaxInt64 if the product is larger.
func product(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64/b {
		return math.MaxInt64
	}
	return a * b
}

func (g group) any() bool { return slices.Contains(g.names, anyAxes) }

// expand puts names for n axes in the place of "...".
func expand(axes []group, n int) (out []group) {
	var names []string
	for i := range max(0, n) {
		names = append(names, anyAxes+strconv.Itoa(i))
	}
	for _, g := range axes {
		switch at := slices.Index(g.names, anyAxes); {
		case at < 0:
			out = append(out, g)
		case g.merged:
			out = append(out, group{slices.Concat(g.names[:at], names, g.names[at+1:]), true})
		default:
			for i := range names {
				out = append(out, group{names: names[i : i+1]})
			}
		}
	}
	return out
}

// extentsOf returns the extent of each name on the left side.
func extentsOf(from []group, shape layout.Shape, sizes map[string]int64) (map[string]int64, error) {
	extents, used := map[string]int64{}, 0
	for i, g := range from {
		known, open := int64(1), ""
		for _, name := range g.names {
			n, given := sizes[name]
			switch {
			case given && n < 0:
				return nil, wrong("the size of %s is %d", name, n)
			case given:
				used++
				extents[name] = n
				known = product(known, n)
			case open != "":
				return nil, wrong("axis %d has %s and %s: one of them needs a size", i, open, name)
			default:
				open = name
			}
		}
		switch {
		case open == "" && known != shape[i], open != "" && known > 0 && shape[i]%known != 0:
			return nil, wrong("axis %d has %d elements, and (%s) with the given sizes %d", i, shape[i], strings.Join(g.names, " "), known)
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
