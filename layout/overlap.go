package layout

import "slices"

// searchBudget bounds the overlap tests, which are hard in general (bounded subset sum). Slices
// of one tensor need only a few steps.
const searchBudget = 1 << 14

// Overlaps reports whether two layouts over the same memory share a position. It is exact except
// for contrived strides, where it returns true if in doubt.
func (l *Layout) Overlaps(m *Layout) bool {
	lLo, lHi, ok1 := l.Extent()
	mLo, mHi, ok2 := m.Extent()
	if !ok1 || !ok2 || lHi < mLo || mHi < lLo {
		return false
	}
	// Solve lLo + sum |s|x = mHi - sum |t|y, each x and y counted from its near end.
	var room [2 * inline]term
	eq := equation(room[:0])
	for _, a := range l.axes() {
		eq = eq.add(magnitude(a.stride), uint64(a.dim-1))
	}
	for _, a := range m.axes() {
		eq = eq.add(magnitude(a.stride), uint64(a.dim-1))
	}
	budget := searchBudget
	return eq.solvable(uint64(mHi-lLo), &budget)
}

// SelfOverlaps reports whether two different indices share a position, so that the order of
// writes matters. It is as exact as Overlaps.
func (l *Layout) SelfOverlaps() bool {
	count, dense := l.density()
	return count > 1 && !dense && !l.nested() && l.interleaves()
}

// interleaves is SelfOverlaps for layouts that the quick tests do not decide.
func (l *Layout) interleaves() bool {
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
		eq := equation(room[:0])
		a, u := magnitude(outer.stride), uint64(outer.dim-1)
		eq = eq.add(a, u-1) // |s|*(u-e), e in 1..u, moved to the other side
		target := a * u
		for _, inner := range axes[k+1:] {
			a, u := magnitude(inner.stride), uint64(inner.dim-1)
			eq = eq.add(a, 2*u)
			target += a * u
		}
		budget := searchBudget
		if eq.solvable(target, &budget) {
			return true
		}
	}
	return false
}

// nested is a quick test: it reports whether each axis steps over everything that the axes of
// smaller stride cover, so that positions are distinct.
func (l *Layout) nested() bool {
	var room [inline]axis
	sorted := room[:0]
	for _, a := range l.axes() {
		if a.dim == 1 {
			continue
		}
		a.stride = max(a.stride, -a.stride)
		sorted = append(sorted, a)
		for i := len(sorted) - 1; i > 0 && sorted[i-1].stride > sorted[i].stride; i-- {
			sorted[i-1], sorted[i] = sorted[i], sorted[i-1]
		}
	}
	reach := int64(0)
	for _, a := range sorted {
		if a.stride <= reach {
			return false
		}
		reach += a.stride * (a.dim - 1)
	}
	return true
}

// equation is sum a[i]*x[i] = target with 0 <= x[i] <= u[i]; terms are sorted by falling
// coefficient.
type equation []term

type term struct {
	a, u  uint64
	gcd   uint64 // of this and all smaller coefficients
	reach uint64 // the largest sum of this and all smaller terms
}

// add inserts a term in order; it merges terms of equal coefficient.
func (e equation) add(a, u uint64) equation {
	if a == 0 || u == 0 {
		return e
	}
	i := len(e)
	for ; i > 0 && e[i-1].a <= a; i-- {
		if e[i-1].a == a {
			e[i-1].u += u
			return e
		}
	}
	return slices.Insert(e, i, term{a: a, u: u})
}

// solvable splits the terms if it can, and searches otherwise.
//
// If g divides every larger coefficient, and the smaller terms reach less than 2g, the smaller
// terms must sum to target%g, or to g more, and the larger ones to the rest: two small problems
// in place of a large one. Slices of one tensor split like this at each of their axes.
func (e equation) solvable(target uint64, budget *int) bool {
	gcd, reach := uint64(0), uint64(0)
	for i := len(e) - 1; i >= 0; i-- {
		gcd = divisor(gcd, e[i].a)
		reach += e[i].a * e[i].u
		e[i].gcd, e[i].reach = gcd, reach
	}
	if *budget--; *budget < 0 {
		return true // in doubt
	}
	g := uint64(0)
	for m := 1; m < len(e); m++ {
		g = divisor(g, e[m-1].a)
		reach := e[m].reach
		if reach/g > 1 {
			continue
		}
		for part := target % g; part <= min(reach, target); part += g {
			if e[m:].solvable(part, budget) && e[:m].solvable(target-part, budget) {
				return true
			}
		}
		return false
	}
	return search(e, target, budget)
}

// divisor returns the greatest common divisor.
func divisor(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// search tries the largest coefficient first; the reach of the others bounds how often it can be
// used.
func search(terms []term, target uint64, budget *int) bool {
	if target == 0 {
		return true
	}
	if len(terms) == 0 || target > terms[0].reach || target%terms[0].gcd != 0 {
		return false
	}
	t := terms[0]
	if len(terms) == 1 {
		return target/t.a <= t.u
	}
	least, most := uint64(0), min(t.u, target/t.a)
	if rest := terms[1].reach; target > rest {
		least = (target-rest-1)/t.a + 1
	}
	if period := terms[1].a / t.gcd; len(terms) == 2 && period <= most {
		least = max(least, most-period+1) // the remainder for the last term repeats
	}
	for x := most; x >= least; x-- {
		// Each step counts, even if the tests above end it at once: extents may be near 2^63.
		if *budget--; *budget < 0 {
			return true // in doubt
		}
		if search(terms[1:], target-x*t.a, budget) {
			return true
		}
		if x == 0 {
			break
		}
	}
	return false
}
