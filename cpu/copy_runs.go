package cpu

import "github.com/restride/restride/internal/nest"

const (
	// fetchedRun is the length of a run of the source, in bytes, from which the hardware
	// prefetcher suffices.
	fetchedRun = 4 << 10
	// runLines is the number of lines of each row of the destination that are written at a
	// time, and runRow the number of bytes where rows share lines.
	runLines, runRow = 4, 1 << 10
	// runLead is roughly how many bytes in advance runs are prefetched.
	runLead = 4 << 10
)

// runs describes a tile whose rows are in short runs of the source, far from each other. All runs
// extend along an axis, job.a, and a group of rows is moved along all of it before the next group.
// So every run is read from start to end.
type runs struct {
	rows int64   // of the destination at a time: a group
	size int64   // of the longest run, in bytes
	lead int64   // distance of prefetches, in steps along job.a
	last int64   // steps of the last tile along job.a
	from []int64 // the offsets of the runs
	ends []int64 // the end of each group of rows in from
}

// shortRuns reports whether the rows of a tile with all columns are in short runs.
func (x *tileAxes) shortRuns() bool {
	if x.packed {
		return false
	}
	run := x.i.all * int64(x.dBits/8)
	for _, k := range x.j.axes[:x.j.n] {
		by := nest.Magnitude(x.axes[k].S)
		if by > run+cacheLine {
			break
		}
		run += (x.axes[k].N - 1) * by
	}
	return run < fetchedRun
}

// nearest returns the free axis with the smallest step in the source, or -1.
func (x *tileAxes) nearest() int {
	found := -1
	for k := range x.rank {
		if x.free(k) && (found < 0 || nest.Magnitude(x.axes[k].S) < nest.Magnitude(x.axes[found].S)) {
			found = k
		}
	}
	return found
}

// runSteps returns the number of steps of job.a in a tile, of n elements each: about the same in
// each tile.
func (j *job) runSteps(n int64) int64 {
	most := max(1, min(j.bytes/32, farTile)/(n*int64(j.dBits/8)))
	tiles := (j.a.N + most - 1) / most
	return (j.a.N + tiles - 1) / tiles
}

// plan lists the runs of a tile's rows, which have so many bytes.
func (r *runs) plan(j *job, t *tile, row int64) {
	size := int64(j.dBits / 8)
	line := cacheLine / size
	r.rows = runLines * line
	more := line // rows before the first whole line, if any
	switch {
	case t.dStep%cacheLine != 0:
		r.rows, more = runRow/size, 0
	case j.a.D%cacheLine == 0:
		more = 0
	}
	r.from, r.ends, r.size = r.from[:0], r.ends[:0], row
	for first := int64(0); first < int64(len(t.sTab)); first += r.rows {
		rows := t.sTab[first:min(first+r.rows+more, int64(len(t.sTab)))]
		for len(rows) > 0 {
			n := oneWay(rows, row+cacheLine)
			lo, hi := min(rows[0], rows[n-1]), max(rows[0], rows[n-1])
			r.from = append(r.from, lo)
			r.size = max(r.size, hi+row-lo)
			rows = rows[n:]
		}
		r.ends = append(r.ends, int64(len(r.from)))
	}
	r.last = j.a.N - (j.numA-1)*j.blkA
	r.lead = 1 + (runLead-1)/(r.rows*row)
}

// oneWay returns how many rows, from the first one on, are in one direction, with a distance of at
// most most bytes from each to the next.
func oneWay(rows []int64, most int64) int {
	n := 1
	for n < len(rows) && nest.Magnitude(rows[n]-rows[n-1]) <= most && (rows[n] > rows[n-1]) == (rows[1] > rows[0]) {
		n++
	}
	return n
}

// runTile moves tiles whose rows are in short runs past the caches.
type runTile struct{ *tile }

func (runTile) name() string { return "tiles of short runs" }

func (m runTile) move(j *job, d, s, na, nb int64, sc *scratch) {
	t, size, nj := m.tile, m.width, nb*m.jIn
	sc.tileRows = nj
	r := &t.runs
	groups := (nj + r.rows - 1) / r.rows
	for group := range groups {
		for step := range na {
			r.fetch(j, group, step+r.lead, na, groups, s, sc)
			to := d + step*j.a.D
			first, last := group*r.rows, min((group+1)*r.rows, nj)
			if t.dStep%cacheLine == 0 {
				// Groups end at line boundaries.
				skip := -(int64(uintptr(j.dst)) + to) & (cacheLine - 1) / size
				if first > 0 {
					first = min(first+skip, nj)
				}
				last = min(last+skip, nj)
			}
			t.streamRows(j, to, s+step*j.a.S, t.iIn, first, last, ahead{}, sc)
		}
	}
}

// fetch prefetches the runs of a group of rows at a step. Steps beyond the last one belong to the
// next group, and beyond the last group to the next tile.
func (r *runs) fetch(j *job, group, step, steps, groups, s int64, sc *scratch) {
	group, step = group+step/steps, step%steps
	if group >= groups {
		if group > groups || step >= r.last || sc.next == s {
			return
		}
		group, s = 0, sc.next
	}
	from := int64(0)
	if group > 0 {
		from = r.ends[group-1]
	}
	kernels.FetchRows(ptr(j.src, s+step*j.a.S), &r.from[from], r.ends[group]-from, r.size)
}
