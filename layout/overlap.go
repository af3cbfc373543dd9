package layout

import "slices"

// searchBudget bounds the overlap tests, which are hard in general (bounded
// subset sum). Layouts that come from views need a few steps.
const searchBudget = 1 << 14

// Overlaps reports whether two layouts over the same memory share a position.
// It is exact but for contrived strides, where it says true when in doubt.
func (l Layout) Overlaps(m Layout) bool {
	lLo, lHi, ok1 := l.Extent()
	mLo, mHi, ok2 := m.Extent()
	if !ok1 || !ok2 || lHi < mLo || mHi < lLo {
		return false
	}
	// lLo + sum |s|x = mHi - sum |t|y, each x and y counted from its near end.
	var room [2 * inline]term
	eq := equation{room[:0]}
	for _, a := range l.axes() {
		eq.add(magnitude(a.stride), uint64(a.dim-1))
	}
	for _, a := range m.axes() {
		eq.add(magnitude(a.stride), uint64(a.dim-1))
	}
	return eq.solvable(uint64(mHi - lLo))
}

// SelfOverlaps reports whether two different indices share a position, so that
// the layout cannot be written to in any order. Exact as Overlaps is.
func (l Layout) SelfOverlaps() bool {
	if l.count() <= 1 || l.IsContiguous() || l.nested() {
		return false
	}
	// Two indices that differ first along axis k: sum s*e = 0 where e, the
	// difference, is 1..d-1 on axis k, -(d-1)..d-1 on the axes inside it, and 0
	// on those outside.
	axes := l.axes()
	for k, outer := range axes {
		if outer.dim == 1 {
			continue
		}
		if outer.stride == 0 {
			return true
		}
		var room [inline]term
		eq := equation{room[:0]}
		a, u := magnitude(outer.stride), uint64(outer.dim-1)
		eq.add(a, u-1) // |s|*(u-e), e in 1..u, moved to the other side
		target := a * u
		for _, inner := range axes[k+1:] {
			a, u := magnitude(inner.stride), uint64(inner.dim-1)
			eq.add(a, 2*u)
			target += a * u
		}
		if eq.solvable(target) {
			return true
		}
	}
	return false
}

// nested reports, at a glance, that each axis steps over all that the axes of
// smaller stride cover: positions are then distinct.
func (l *Layout) nested() bool {
	var sorted, same Layout
	simplify(&sorted, &same, l, l)
	axes := sorted.axes()
	reach := int64(0)
	for i := len(axes) - 1; i >= 0; i-- {
		if axes[i].stride <= reach {
			return false
		}
		reach += axes[i].stride * (axes[i].dim - 1)
	}
	return true
}

// equation is sum a[i]*x[i] = target with 0 <= x[i] <= u[i]; terms are kept by
// falling coefficient.
type equation struct{ terms []term }

type term struct {
	a, u  uint64
	gcd   uint64 // of this and all smaller coefficients
	reach uint64 // the sum at its largest, over this and all smaller terms
}

// add puts a term in its place; those of one coefficient count as one.
func (e *equation) add(a, u uint64) {
	if a == 0 || u == 0 {
		return
	}
	i := len(e.terms)
	for ; i > 0 && e.terms[i-1].a <= a; i-- {
		if e.terms[i-1].a == a {
			e.terms[i-1].u += u
			return
		}
	}
	e.terms = slices.Insert(e.terms, i, term{a: a, u: u})
}

// solvable searches the largest coefficient first; what is left for the others
// bounds how often it can be taken. Spans of two layouts fit an uint64.
func (e *equation) solvable(target uint64) bool {
	gcd, reach := uint64(0), uint64(0)
	for i := len(e.terms) - 1; i >= 0; i-- {
		t := &e.terms[i]
		for a, b := gcd, t.a; ; a, b = b, a%b {
			if b == 0 {
				gcd = a
				break
			}
		}
		reach += t.a * t.u
		t.gcd, t.reach = gcd, reach
	}
	budget := searchBudget
	return search(e.terms, target, &budget)
}

func search(terms []term, target uint64, budget *int) bool {
	if target == 0 {
		return true
	}
	if len(terms) == 0 || target > terms[0].reach || target%terms[0].gcd != 0 {
		return false
	}
	if *budget--; *budget < 0 {
		return true // in doubt
	}
	t := terms[0]
	if len(terms) == 1 {
		return target/t.a <= t.u
	}
	least := uint64(0)
	if rest := terms[1].reach; target > rest {
		least = (target - rest + t.a - 1) / t.a
	}
	for x := min(t.u, target/t.a); ; x-- {
		if x < least {
			return false
		}
		if search(terms[1:], target-x*t.a, budget) {
			return true
		}
		if x == 0 {
			return false
		}
	}
}
