package infer

import (
	"slices"
	"strings"
)

// einsum: each letter of the equation is an extent.
func einsum(n *Node) {
	n.setElem(0, n.elem(0))
	left, right, explicit := strings.Cut(strings.ReplaceAll(n.str("equation"), " ", ""), "->")
	terms := strings.Split(left, ",")
	if len(terms) != len(n.Inputs) {
		n.fail()
		return
	}
	e := equation{letters: map[rune]extent{}}
	for i, term := range terms {
		x, ok := n.shape(i)
		if !ok {
			return
		}
		if !e.read(term, x) {
			n.fail()
			return
		}
	}
	if !explicit {
		right = e.implied(left)
	}
	if out, ok := e.write(right); ok {
		n.set(0, n.elem(0), out...)
	} else {
		n.fail()
	}
}

// equation holds the extents of the letters and of "...".
type equation struct {
	letters map[rune]extent
	others  []extent
}

// read assigns the extents of an operand to the letters of its term.
func (e *equation) read(term string, x []extent) bool {
	before, after, dots := strings.Cut(term, "...")
	covered := len(x) - len(before) - len(after)
	if covered < 0 || !dots && covered > 0 {
		return false
	}
	if dots {
		e.others = broadcast(e.others, x[len(before):len(before)+covered])
	}
	ends := append(slices.Clone(x[:len(before)]), x[len(x)-len(after):]...)
	for i, letter := range before + after {
		if !isLetter(letter) {
			return false
		}
		if was, ok := e.letters[letter]; ok {
			e.letters[letter] = spread(was, ends[i])
		} else {
			e.letters[letter] = ends[i]
		}
	}
	return true
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

// implied is the right side of an equation without one: "..." and the letters that occur
// once, in order.
func (e *equation) implied(left string) string {
	var once []string
	for letter := range e.letters {
		if s := string(letter); strings.Count(left, s) == 1 {
			once = append(once, s)
		}
	}
	slices.Sort(once)
	right := strings.Join(once, "")
	if strings.Contains(left, "...") {
		right = "..." + right
	}
	return right
}

// write returns the extents of a term.
func (e *equation) write(term string) ([]extent, bool) {
	var out []extent
	before, after, dots := strings.Cut(term, "...")
	for _, letter := range before {
		out = append(out, e.letters[letter])
	}
	if dots {
		out = append(out, e.others...)
	}
	for _, letter := range after {
		out = append(out, e.letters[letter])
	}
	for _, letter := range before + after {
		if _, ok := e.letters[letter]; !ok {
			return nil, false
		}
	}
	return out, true
}
