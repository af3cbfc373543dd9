package cpu

import (
	"slices"

	"github.com/restride/restride/internal/nest"
)

// tileAxes are the axes of a transpose's tiles.
type tileAxes struct {
	*pair
	i, j tileSide // columns, from the source's dense axis outward, and rows, from the destination's
	used uint64
}

// tileSide is the axes of one side, innermost first.
type tileSide struct {
	axes    [maxAxes]int
	n       int
	in, all int64 // elements inside the outermost axis, and of all axes
}

func (s *tileSide) last() int { return s.axes[s.n-1] }

func (x *tileAxes) use(k int) { x.used |= 1 << k }

func (x *tileAxes) free(k int) bool { return x.used>>k&1 == 0 }

// add adds an axis to a side.
func (x *tileAxes) add(s *tileSide, k int) {
	s.axes[s.n] = k
	s.n++
	s.in, s.all = s.all, s.all*x.axes[k].N
	x.use(k)
}

// grow chooses the axes.
func (x *tileAxes) grow() {
	near, last, w := x.near.Unit, x.rank-1, int64(x.dBits)
	x.i.all, x.j.all = 1, 1
	x.use(near)
	x.add(&x.j, last)
	for k := last - 1; k >= 0 && x.free(k); k-- {
		if run := x.j.all; run*w >= tileRun*8 || run > tileRows/2 || x.axes[k].D != run*x.unit(x.dBits) {
			break
		}
		x.add(&x.j, k)
	}
	x.add(&x.i, near)
	if x.oneBlock() {
		return
	}
	unit := x.unit(x.sBits)
	if x.axes[near].S < 0 {
		unit = -unit
	}
	for run := x.i.all; run*w < tileRun*8 && run <= tileCols/2; run = x.i.all {
		k := 0
		for k < last && !(x.free(k) && x.axes[k].S == run*unit) {
			k++
		}
		if k == last {
			return
		}
		x.add(&x.i, k)
	}
}

// turn reverses columns so that the source runs forward: if it runs backwards, the destination
// will instead.
func (x *tileAxes) turn() {
	if x.axes[x.near.Unit].S > 0 {
		return
	}
	for _, k := range x.i.axes[:x.i.n] {
		a := &x.axes[k]
		x.dOff += (a.N - 1) * a.D
		x.sOff += (a.N - 1) * a.S
		a.D, a.S = -a.D, -a.S
	}
}

// oneBlock reports whether columns are few bytes each, and neighbours in the destination: a block,
// which columns along further axes would split.
func (x *tileAxes) oneBlock() bool {
	near, column := &x.axes[x.near.Unit], x.j.all*int64(x.dBits/8)
	return kernels.ScatterRows != nil && !x.packed && nest.Magnitude(near.D) == column && column <= blockColumn && near.N*column >= leastBlock
}

// onLines reports whether columns of a transpose by vectors have the same position in lines of the
// destination.
func (x *tileAxes) onLines() bool {
	steps := int64(0)
	for _, k := range x.i.axes[:x.i.n] {
		steps |= x.axes[k].D
	}
	return !x.packed && steps%cacheLine == 0
}

// placed returns the number of columns of a placed tile, at most about most. The tile has whole
// runs of columns along the inner axes, as many as form whole lines of the source, so that no line
// is in two tiles; if these are too many, each tile has about the same number of runs.
func (x *tileAxes) placed(most int64) int64 {
	line, run := cacheLine*8/int64(x.dBits), x.i.in
	if unit := line * run / min(line, run&-run); unit <= most {
		return most / unit * unit
	}
	most = max(most, run)
	tiles := (x.i.all + most - 1) / most
	return (x.i.all/run + tiles - 1) / tiles * run
}

// long returns the sides of a tile that is written past the caches. What matters then are the
// prefetchers, which benefit from long rows of the source. Where rows of the destination share
// lines, longer rows share fewer. Small copies have many small tiles, which keep all workers busy.
func (x *tileAxes) long() (columns, rows int64) {
	line := cacheLine * 8 / int64(x.dBits)
	long, few := int64(2048), line
	if x.axes[x.near.Unit].D*x.stepBits()%(cacheLine*8) != 0 {
		few = min(16*line, tileRows)
	}
	room := min(long*few, max(x.bytes*8/int64(x.dBits)/32, 16*line*line))
	rows = min(x.j.all, few)
	columns = min(x.i.all, room/rows, long)
	return columns, min(x.j.all, room/columns, tileRows)
}

// tabulate sets a table to the offsets of the first n indices of a side's axes.
func (s *tileSide) tabulate(to *[]int64, n int64, p *pair, step func(*axis) int64) {
	tab := slices.Grow((*to)[:0], int(n))[:n]
	*to = tab
	if s.n == 1 {
		by := step(&p.axes[s.axes[0]])
		for k := range tab {
			tab[k] = int64(k) * by
		}
		return
	}
	for k := range tab {
		at, rest := int64(0), int64(k)
		for m, x := range s.axes[:s.n] {
			i := rest
			if m < s.n-1 {
				i = rest % p.axes[x].N
				rest /= p.axes[x].N
			}
			at += i * step(&p.axes[x])
		}
		tab[k] = at
	}
}
