package cpu

import "github.com/restride/restride/internal/nest"

// Transposes with few rows are cut along the rows, the innermost axis of the destination: parts of
// a few rows each would be too thin for tiles. Such a part of a row may begin and end within
// bytes, at another bit in each row. Unless parts begin with a byte in every row, the first
// elements of each part, as many as fit a byte, are left out, and the caller moves these at the
// end: so no two goroutines write to one byte.

// thinPart is the number of rows below which a part of a transpose is thin.
const thinPart = 64

// thin reports whether parts of a transpose would be thin: the source is dense along the axis that
// they cut.
func (p *parts) thin() bool {
	cut, last := &p.axes[p.lead-1], &p.axes[p.rank-1]
	return p.size < thinPart && nest.Magnitude(cut.S) == 1 && last.S != 1 && last.D == 1 && last.N >= 4*p.count
}

// columns divides a pair along its innermost axis among goroutines.
type columns struct {
	*pair
	size int64  // indices in a part
	ran  string // the mover of the first part
}

// executeColumns is executePacked with parts of the innermost axis.
func (j *job) executeColumns(goroutines int, sc *scratch) {
	n := j.axes[j.rank-1].N
	c := columns{pair: &j.pair, size: (n/int64(4*goroutines) + 255) &^ 255}
	j.columns = c
	units := (n + c.size - 1) / c.size
	j.shareOut(&j.columns, goroutines, units, 1, sc)
	for part := range units {
		c.run(part*c.size, min(part*c.size+c.leftOut(), n), sc)
	}
	j.ran = j.columns.ran
}

// leftOut is the number of elements left out at the start of a row's part.
func (c *columns) leftOut() int64 {
	if c.dBits >= 8 {
		return 0
	}
	per, begins := int64(8/c.dBits), c.dOff
	for _, x := range c.axes[:c.rank-1] {
		begins |= x.D
	}
	if begins%per == 0 {
		return 0
	}
	return per
}

// part runs the parts [lo, hi), except for the elements that are left out.
func (c *columns) part(lo, hi int64, sc *scratch) {
	n := c.axes[c.rank-1].N
	for ; lo < hi; lo++ {
		first := lo * c.size
		c.run(first+c.leftOut(), min(first+c.size, n), sc)
		if lo == 0 {
			c.ran = sc.sub.mover.name()
		}
	}
}

// run moves the indices [lo, hi) of the innermost axis, as the goroutine's own job.
func (c *columns) run(lo, hi int64, sc *scratch) {
	if lo >= hi {
		return
	}
	sub := sc.partOf(c.pair)
	x := &sub.axes[c.rank-1]
	x.N = hi - lo
	sub.dOff += lo * x.D
	sub.sOff += lo * x.S
	sub.runAll(sc)
}
