package planner

import (
	"slices"

	"github.com/restride/restride/internal/nest"
)

// What of a shuffle's tile lies together in src.

// layRows finds what of the tile lies together in src: a row, read by vectors, whole.
func (t *shape) layRows() {
	t.row, t.rows = t.row[:0], t.rows[:0]
	t.span = t.size
	joins := true
	for _, i := range t.src {
		if t.n[i] == 1 {
			continue
		}
		step := nest.Magnitude(t.p.inner(i).S) * t.size
		if joins = joins && step-t.span < vector; joins { // each vector of a row has some of it
			t.row = append(t.row, i)
			t.pitch[i] = step
			t.span += (t.n[i] - 1) * step
			joins = !t.cut(i) && !t.apart
			continue
		}
		t.rows = append(t.rows, i)
	}
	t.first(t.rows)
	t.sEven = t.even(t.row, vector, t.p.sBase, func(a axis) int64 { return a.S })
	t.grain = vector
	t.place(nil)
}

// place lays rows into the tile, each as far from the begin of a vector (or of a word:
// grain) as in src, and as many grains further apart than they must be.
func (t *shape) place(more []int64) {
	least := int64(vector - 1)
	if t.grain < vector && !t.sEven {
		least *= 2
	}
	end := t.span
	for k, i := range t.rows {
		step := nest.Magnitude(t.p.inner(i).S) * t.size
		t.pitch[i] = end + least + (step-end-least)&(t.grain-1)
		if k < len(more) {
			t.pitch[i] += more[k] * t.grain
		}
		end += (t.n[i] - 1) * t.pitch[i]
	}
	t.bytes = end + 2*(vector-1)
}

// vectors is how many of them a row touches.
func (t *shape) vectors() int64 {
	if t.sEven {
		return (t.span + vector - 1) / vector
	}
	return (t.span+vector-2)/vector + 1
}

// splitRows lays rows along threads, a vector each, in pieces of as many threads as do it
// in the least time.
func (t *shape) splitRows() bool {
	n, lines := t.vectors(), t.count(t.rows)
	t.read = 0
	for k := (n + GroupSize - 1) / GroupSize; k <= n && k*lines <= tableSize && k < mostPieces; k++ {
		x := (n + k - 1) / k
		each := int64(30)
		if t.sEven && vector*x*k == t.span {
			each = 17
		}
		cost := (k*lines + GroupSize/x - 1) / (GroupSize / x) * each
		if t.read == 0 || cost < t.read {
			t.across, t.parts, t.read = x, k, cost
		}
	}
	return t.read > 0
}

// first moves a and b to the front, where they are.
func (t *shape) first(axes []int) {
	for _, i := range []int{t.b(), t.a()} {
		if k := slices.Index(axes, i); k > 0 {
			copy(axes[1:k+1], axes[:k])
			axes[0] = i
		}
	}
}

// even reports whether what lies together along the given axes begins at multiples of so
// many bytes everywhere.
func (t *shape) even(within []int, bytes, base int64, step func(axis) int64) bool {
	sum := base * t.size
	for i := range t.n {
		s := step(t.p.inner(i)) * t.size
		if !slices.Contains(within, i) {
			sum |= s
			continue
		}
		if t.cut(i) {
			sum |= s * t.n[i]
		}
		if s < 0 {
			sum |= s * (t.n[i] - 1)
		}
	}
	return sum&(bytes-1) == 0
}
