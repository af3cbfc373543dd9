package cpu

import (
	"slices"

	"github.com/restride/restride/internal/simd"
)

const (
	// leastSide and leastPackedSide are the fewest rows and columns, in elements, for
	// which tiles pay: the second for elements below a byte, where both sides must
	// fill words. A transpose with a shorter side is of class general.
	leastSide, leastPackedSide = 4, 16
	// nearTile is the size of a tile, in bytes, where the destination is written in
	// sequence: with the lines of both sides that it touches, it stays in L1.
	nearTile = 16 << 10
	// farTile is the size where rows of the destination lie apart. Memory is slow at
	// starting anew, so runs are longer; the tile stays in L2.
	farTile = 256 << 10
	// farTileRun is about the length of these runs: whole rows up to it are written
	// in sequence.
	farTileRun = 1 << 10
	// tileRows and tileCols are the most rows and columns of a tile. A pass over rows
	// touches a cache line for every column, which L1 must hold.
	tileRows, tileCols = 1024, 256
	// blockColumn is the most bytes of a column, and leastBlock the fewest bytes of such columns
	// side by side, that stay a block: see oneBlock.
	blockColumn, leastBlock = 8, 128
	// placedCols is the most columns of a tile whose rows in the destination have a table.
	placedCols = 1024
	// tileRun is the run, in bytes, from which a tile gains nothing by another axis.
	tileRun = 256
	// fewRows is the most rows of the source that are read side by side, an element
	// each, into a row of the destination.
	fewRows = 64
)

// tile describes the tiles of a transpose. A tile is a matrix whose columns
// (index i) are neighbours in the source and whose rows (index j) are
// neighbours in the destination. Either may go over several axes, where those
// are dense together, so that short dims still give long runs:
//
//	[13:1][14:13] ... to ... [16][14:1]    i over 13, j over 14 and 16
//
// The outermost axis of i is job.a, of j job.b; iIn and jIn count the elements inside
// these. dTab and sTab have the offset of row i in the destination and of row j in
// the source.
type tile struct {
	iIn, jIn int64
	dTab     []int64 // tileCols at the most, of tiles that are not placed; the memory is reused
	sTab     []int64
	dStep    int64 // between rows in the destination; 0: it varies
	sStep    int64 // between rows in the source; 0: it varies
	crowded  bool  // these fall into few sets of L1
	stride   int64 // between rows in the buffer
	direct   bool  // no buffer: rows of the destination one by one
	sMost    int64 // the highest of sTab
	sRest    int64 // the highest of those that the last tile along b has
	reach    int64 // from the source's first element to the end of its highest one
	threes   threes
	runs     runs
	placed   bool // rows of the destination are on lines, but not evenly apart
}

// planTile plans tiles between the innermost axis and axis near, where the source is
// dense. False: a side is too short to pay.
func (j *job) planTile(near int) bool {
	if j.planThrees(near) {
		return true
	}
	du, su := j.unit(j.dBits), j.unit(j.sBits)
	w := int64(j.dBits)
	last := j.rank - 1
	var used uint64
	use := func(k int) { used |= 1 << k }
	free := func(k int) bool { return used>>k&1 == 0 }
	use(near)
	use(last)

	// j: outward from the innermost axis of the destination.
	var jAxes, iAxes [maxAxes]int
	nj, jIn := 1, int64(1)
	jAxes[0] = last
	for k := last - 1; k >= 0 && free(k); k-- {
		run := jIn * j.axes[jAxes[nj-1]].n
		if run*w >= tileRun*8 || run > tileRows/2 || j.axes[k].d != run*du {
			break
		}
		jIn = run
		jAxes[nj] = k
		nj++
		use(k)
	}
	// i: outward from the innermost axis of the source. If that runs backwards, it is
	// walked so that the destination does.
	sign := int64(1)
	if j.axes[near].s < 0 {
		sign = -1
	}
	ni, iIn := 1, int64(1)
	iAxes[0] = near
	for grown := !j.oneBlock(near, jIn*j.axes[jAxes[nj-1]].n); grown; {
		grown = false
		run := iIn * j.axes[iAxes[ni-1]].n
		if run*w >= tileRun*8 || run > tileCols/2 {
			break
		}
		for k := range last {
			if free(k) && j.axes[k].s == sign*run*su {
				iIn = run
				iAxes[ni] = k
				ni++
				use(k)
				grown = true
				break
			}
		}
	}
	ai, bi := iAxes[ni-1], jAxes[nj-1]
	iAll, jAll := iIn*j.axes[ai].n, jIn*j.axes[bi].n
	if short := min(iAll, jAll); short < leastSide || w < 8 && short < leastPackedSide {
		return false
	}
	if sign < 0 {
		for _, k := range iAxes[:ni] {
			x := &j.axes[k]
			j.dOff += (x.n - 1) * x.d
			j.sOff += (x.n - 1) * x.s
			x.d, x.s = -x.d, -x.s
		}
	}

	plain := kernels.Level == simd.None && !j.packed
	joined := magnitude(j.axes[near].d) == jAll*du && jAll*w <= farTileRun*8
	// Single bytes are transposed in words; for others, a buffer costs more than it saves.
	j.tile.direct = plain && joined && ni == 1 && nj == 1 && w > 8 && jAll <= fewRows && jAll*w >= cacheLine*8
	room := int64(nearTile)
	if !joined || j.tile.direct {
		// Small copies have many small tiles, which keep all workers busy.
		room = min(max(j.bytes/32, nearTile), farTile)
	}
	room = room * 8 / w
	side := int64(1)
	for side*side < room {
		side *= 2
	}
	jSide := min(jAll, side, tileRows)
	iSide := min(iAll, room/jSide, tileCols)
	jSide = min(jAll, room/iSide, tileRows)
	if j.tile.direct {
		iSide, jSide = room/jAll, jAll
	}
	j.tile.runs.on, j.tile.placed = false, false
	switch {
	case kernels.ScatterRows == nil || !j.streams():
	case ni == 1:
		iSide, jSide = j.longTile(near, iAll, jAll)
		j.tile.runs.on = iSide == iAll && j.shortRuns(iAll, jAxes[:nj])
	case j.onLines(iAxes[:ni]):
		j.tile.placed = true
		iSide, jSide = j.longTile(near, iAll, jAll)
		iSide = j.placedSide(min(iSide, placedCols), iIn, iAll)
	}
	j.a, j.b = j.axes[ai], j.axes[bi]
	if j.tile.runs.on {
		// All columns are in a tile, and so is an axis along which the runs go on.
		j.a, iIn, iSide = axis{n: 1}, iAll, iAll
		if k := j.nearest(free); k >= 0 {
			use(k)
			j.a = j.axes[k]
			iSide *= j.runSteps(iAll * jSide)
		}
	}
	j.nOut = 0
	for k := range j.rank {
		if free(k) {
			j.outer[j.nOut] = j.axes[k]
			j.nOut++
		}
	}
	blkA, blkB := max(1, iSide/iIn), max(1, jSide/jIn)
	j.tile.iIn, j.tile.jIn = iIn, jIn
	// Whole cache lines and whole words, where there are several blocks.
	j.cut(roundDown(blkA, j.a.n, iIn), roundDown(blkB, j.b.n, jIn))
	cols := min(iIn*j.blkA, tileCols)
	if j.tile.placed {
		cols = iIn * j.blkA
	}
	j.tabulate(&j.tile.dTab, cols, iAxes[:ni], func(x *axis) int64 { return x.d })
	j.tabulate(&j.tile.sTab, jIn*j.blkB, jAxes[:nj], func(x *axis) int64 { return x.s })
	run := (jIn*j.blkB*w + 7) / 8
	j.tile.stride = apart(run)
	j.tile.dStep, j.tile.sStep = step(j.tile.dTab), step(j.tile.sTab)
	j.tile.crowded = crowdedRows(j.tile.sTab, w)
	if plain && joined && j.tile.dStep == run {
		j.tile.stride = run // a small tile: it goes out as one
	}
	if j.tile.runs.on {
		j.planRuns(iAll * w / 8)
	}
	j.tile.sMost = slices.Max(j.tile.sTab)
	j.tile.sRest = slices.Max(j.tile.sTab[:jIn*(j.b.n-(j.numB-1)*j.blkB)])
	j.tile.reach = su
	for _, x := range j.axes[:j.rank] {
		j.tile.reach += max(0, (x.n-1)*x.s)
	}
	return true
}

// oneBlock reports whether columns of n elements are few bytes each, and neighbours in the
// destination along axis near: a block, which columns along other axes as well would tear apart.
func (j *job) oneBlock(near int, n int64) bool {
	x, column := &j.axes[near], n*int64(j.dBits/8)
	return kernels.ScatterRows != nil && !j.packed && magnitude(x.d) == column && column <= blockColumn && x.n*column >= leastBlock
}

// onLines reports whether along the listed axes, of a transpose by vectors, the destination
// goes from one place in a line to the same place in another.
func (j *job) onLines(axes []int) bool {
	steps := int64(0)
	for _, k := range axes {
		steps |= j.axes[k].d
	}
	return !j.packed && steps%cacheLine == 0
}

// placedSide returns how many of all columns a placed tile has, about most at the most. It has
// whole runs of so many columns: of those over the inner axes. As many make whole lines of the
// source, so that no line is in two tiles; if these are too many, each tile has about the same
// number of runs.
func (j *job) placedSide(most, run, all int64) int64 {
	line := cacheLine * 8 / int64(j.dBits)
	if unit := line * run / min(line, run&-run); unit <= most {
		return most / unit * unit
	}
	most = max(most, run)
	tiles := (all + most - 1) / most
	return (all/run + tiles - 1) / tiles * run
}

// longTile returns the sides of a tile that is written past the caches. What counts
// then are the prefetchers, which gain by long rows of the source. Where rows of the
// destination share lines, longer ones share fewer. Small copies have many small tiles,
// which keep all workers busy.
func (j *job) longTile(near int, iAll, jAll int64) (i, k int64) {
	line := cacheLine * 8 / int64(j.dBits)
	long, few := int64(2048), line
	if j.axes[near].d*j.unitBits()%(cacheLine*8) != 0 {
		few = min(16*line, tileRows)
	}
	room := min(long*few, max(j.bytes*8/int64(j.dBits)/32, 16*line*line))
	k = min(jAll, few)
	i = min(iAll, room/k, long)
	return i, min(jAll, room/i, tileRows)
}

// apart is the distance of rows of run bytes in a buffer: an odd number of cache lines, so
// that a column does not fall into one set of the cache.
func apart(run int64) int64 { return (run+cacheLine-1)&^(cacheLine-1) | cacheLine }

// holds reports whether the source has n elements of every row of a tile of so many rows
// from one on, so that they may be read.
func (t *tile) holds(at, n, rows int64) bool {
	most := t.sMost
	if rows < int64(len(t.sTab)) {
		most = t.sRest
	}
	return at+most+n <= t.reach
}

// step returns the difference between neighbours, 0 if it varies.
func step(tab []int64) int64 {
	if n, by := evenly(tab); n == int64(len(tab)) {
		return by
	}
	return 0
}

// evenly returns how many offsets from the first one on are as far apart as the first
// two, and that distance.
func evenly(tab []int64) (n, by int64) {
	if n = int64(len(tab)); n < 2 {
		return n, 0
	}
	by = tab[1] - tab[0]
	for i := range tab[1:] {
		if tab[i+1]-tab[i] != by {
			return int64(i) + 1, by
		}
	}
	return n, by
}

// roundDown makes a block of more than 32 elements that does not cover its axis a
// multiple of 32.
func roundDown(blk, n, in int64) int64 {
	if blk < n && in == 1 && blk > 32 {
		return blk &^ 31
	}
	return blk
}

// tabulate sets a table to the offsets of the first n indices over the listed axes,
// the first of them fastest.
func (j *job) tabulate(to *[]int64, n int64, axes []int, step func(*axis) int64) {
	tab := slices.Grow((*to)[:0], int(n))[:n]
	*to = tab
	if len(axes) == 1 {
		by := step(&j.axes[axes[0]])
		for k := range tab {
			tab[k] = int64(k) * by
		}
		return
	}
	for k := range tab {
		at, rest := int64(0), int64(k)
		for m, x := range axes {
			i := rest
			if m < len(axes)-1 {
				i = rest % j.axes[x].n
				rest /= j.axes[x].n
			}
			at += i * step(&j.axes[x])
		}
		tab[k] = at
	}
}

// buffered returns the distance of rows of run bytes in the buffer, and whether they
// are joined: rows that follow one another on both sides are written as one.
func (t *tile) buffered(run int64) (stride int64, joined bool) {
	if t.dStep == run && (run < cacheLine || run == t.stride) {
		return run, true
	}
	return t.stride, false
}
