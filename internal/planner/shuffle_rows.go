package planner

import (
	"slices"

	"github.com/restride/restride/internal/nest"
)

// The parts of a shuffle's tile that are contiguous in src.

// layRows finds the contiguous parts in src: a row, which is read whole, in vectors.
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

// place puts rows into the tile, each at the same distance from the start of a vector (or of a
// word: grain) as in src, and more[i] grains further apart than necessary.
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

// vectors is the number of vectors that a row touches.
func (t *shape) vectors() int64 {
	if t.sEven {
		return (t.span + vector - 1) / vector
	}
	return (t.span+vector-2)/vector + 1
}

// splitRows distributes rows over threads, one vector each, in pieces whose number of threads
// gives the least time.
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

// first moves a and b to the front, if they are among the axes.
func (t *shape) first(axes []int) {
	for _, i := range []int{t.b(), t.a()} {
		if k := slices.Index(axes, i); k > 0 {
			copy(axes[1:k+1], axes[:k])
			axes[0] = i
		}
	}
}

// even reports whether contiguous data along the given axes always begins at multiples of so many
// bytes.
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
