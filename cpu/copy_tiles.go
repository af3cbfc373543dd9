package cpu

import (
	"slices"

	"github.com/restride/restride/internal/nest"
	"github.com/restride/restride/internal/simd"
)

const (
	// leastSide and leastPackedSide are the fewest rows and columns, in elements, for which
	// tiles pay off; the second is for elements below a byte, where both sides must fill
	// words. A transpose with a shorter side is of kind general.
	leastSide, leastPackedSide = 4, 16
	// nearTile is the size of a tile, in bytes, where the destination is written in sequence:
	// with the lines of both sides that it touches, it stays in L1.
	nearTile = 16 << 10
	// farTile is the size where rows of the destination are apart. Memory is slow to start new
	// runs, so runs are longer; the tile stays in L2.
	farTile = 256 << 10
	// farTileRun is the approximate length of these runs: whole rows up to this length are
	// written in sequence.
	farTileRun = 1 << 10
	// tileRows and tileCols are the most rows and columns of a tile. A pass over rows touches
	// one cache line per column, and L1 must hold these lines.
	tileRows, tileCols = 1024, 256
	// blockColumn is the most bytes of a column that stays in a block, and leastBlock the
	// fewest bytes of neighbouring columns: see oneBlock.
	blockColumn, leastBlock = 8, 128
	// placedCols is the most columns of a tile whose destination rows have a table.
	placedCols = 1024
	// tileRun is the run, in bytes, from which a tile gains nothing from another axis.
	tileRun = 256
	// fewRows is the most rows of the source that are read side by side, one element each,
	// into a row of the destination.
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
	dTab     []int64 // at most tileCols, for tiles that are not placed; the memory is reused
	sTab     []int64
	dStep    int64 // between rows in the destination; 0: it varies
	sStep    int64 // between rows in the source; 0: it varies
	crowded  bool  // these fall into few sets of L1
	stride   int64 // between rows in the buffer
	sMost    int64 // the highest entry of sTab
	sRest    int64 // the highest entry for the last tile along b
	reach    int64 // from the source's first element to the end of its highest one
	placed   bool  // rows of the destination have a common position in lines, but varying distances

	width   int64            // of an element, in bytes
	kernels *simd.Transposer // for it
	loops   *loops
	runs    runs
}

// noTiles says why tiles do not pay off, "" if they may.
func (j *job) noTiles() refusal {
	switch {
	case !j.near.Dense:
		return notDense
	case j.near.Unit < 0:
		return notNear
	case j.strings:
		return areStrings
	case j.dBits == 1:
		return otherWidth
	case j.bytes <= 256, j.bytes <= 4<<10 && j.dBits >= 32 && kernels.Level == simd.None:
		return tooSmall
	case j.kind == broadcast && j.axes[j.rank-1].N*int64(j.dBits) < 8*cacheLine, j.kind == general:
		return ""
	}
	return otherKind
}

// tileCost is the cost of tiles with so many elements for each pair of indices along a and b. The
// smaller the tile, the more terms a block can have and still be faster.
func (j *job) tileCost(inner int64) int64 {
	return permutedTile*8/(j.a.N*j.b.N*inner*int64(j.dBits)) + 1
}

// planTile plans tiles between the innermost axis and another axis along which the source is
// dense.
func planTile(j *job, _ int64) (mover, int64, refusal) {
	x := tileAxes{pair: &j.pair}
	x.grow()
	w := int64(j.dBits)
	if short := min(x.i.all, x.j.all); short < leastSide || w < 8 && short < leastPackedSide {
		return nil, 0, tooShort
	}
	x.turn()
	t := &j.memory.tile
	how := t.plan(j, &x)
	j.kind, j.follows = transpose, true
	return t.mover(j, how), j.tileCost(t.iIn * t.jIn), ""
}

// tileCut is how tiles are cut.
type tileCut uint8

const (
	nearTiles tileCut = iota // written through the caches
	fewTiles                 // the same, with a loop over few source rows instead of a buffer
	longTiles                // long tiles, written past the caches
	runTiles                 // long tiles with all columns; rows are in short runs of the source
)

// plan cuts the axes into tiles.
func (t *tile) plan(j *job, x *tileAxes) tileCut {
	w := int64(j.dBits)
	plain := kernels.Level == simd.None && !j.packed
	joined := nest.Magnitude(j.axes[x.i.axes[0]].D) == x.j.all*j.unit(j.dBits) && x.j.all*w <= farTileRun*8
	iSide, jSide, how := t.sides(j, x, plain, joined)
	j.a, j.b = j.axes[x.i.last()], j.axes[x.j.last()]
	t.iIn, t.jIn = x.i.in, x.j.in
	if how == runTiles {
		// A tile has all columns, and an axis along which the runs extend.
		j.a, t.iIn, iSide = axis{N: 1}, x.i.all, x.i.all
		if k := x.nearest(); k >= 0 {
			x.use(k)
			j.a = j.axes[k]
			iSide *= j.runSteps(x.i.all * jSide)
		}
	}
	j.nOut = 0
	for k := range j.rank {
		if x.free(k) {
			j.outer[j.nOut] = j.axes[k]
			j.nOut++
		}
	}
	blkA, blkB := max(1, iSide/t.iIn), max(1, jSide/t.jIn)
	// Whole cache lines and whole words, if there are several blocks.
	j.cut(roundDown(blkA, j.a.N, t.iIn), roundDown(blkB, j.b.N, t.jIn))
	t.tabulate(j, x)
	run := (t.jIn*j.blkB*w + 7) / 8
	if t.stride = apart(run); plain && joined && t.dStep == run {
		t.stride = run // a small tile: it is written as one
	}
	if how == runTiles {
		t.runs.plan(j, t, x.i.all*w/8)
	}
	return how
}

// sides returns the numbers of columns and rows of a tile.
func (t *tile) sides(j *job, x *tileAxes, plain, joined bool) (iSide, jSide int64, how tileCut) {
	w, iAll, jAll := int64(j.dBits), x.i.all, x.j.all
	// Single bytes are transposed in words; for others, a buffer costs more than it saves.
	few := plain && joined && x.i.n == 1 && x.j.n == 1 && w > 8 && jAll <= fewRows && jAll*w >= cacheLine*8
	room := int64(nearTile)
	if !joined || few {
		// Small copies have many small tiles, which keep all workers busy.
		room = min(max(j.bytes/32, nearTile), farTile)
	}
	room = room * 8 / w
	t.placed = false
	if few {
		return room / jAll, jAll, fewTiles
	}
	if kernels.ScatterRows != nil && j.streams() {
		switch {
		case x.i.n == 1:
			iSide, jSide = x.long()
			if iSide == iAll && x.shortRuns() {
				return iSide, jSide, runTiles
			}
			return iSide, jSide, longTiles
		case x.onLines():
			t.placed = true
			iSide, jSide = x.long()
			return x.placed(min(iSide, placedCols)), jSide, longTiles
		}
	}
	side := int64(1)
	for side*side < room {
		side *= 2
	}
	jSide = min(jAll, side, tileRows)
	iSide = min(iAll, room/jSide, tileCols)
	return iSide, min(jAll, room/iSide, tileRows), nearTiles
}

// tabulate sets the tables and the properties of their offsets.
func (t *tile) tabulate(j *job, x *tileAxes) {
	cols := t.iIn * j.blkA
	if !t.placed {
		cols = min(cols, tileCols)
	}
	x.i.tabulate(&t.dTab, cols, &j.pair, func(x *axis) int64 { return x.D })
	x.j.tabulate(&t.sTab, t.jIn*j.blkB, &j.pair, func(x *axis) int64 { return x.S })
	t.dStep, t.sStep = step(t.dTab), step(t.sTab)
	t.crowded = crowdedRows(t.sTab, int64(j.dBits))
	t.sMost = slices.Max(t.sTab)
	t.sRest = slices.Max(t.sTab[:t.jIn*(j.b.N-(j.numB-1)*j.blkB)])
	t.reach = j.unit(j.sBits)
	for _, x := range j.axes[:j.rank] {
		t.reach += max(0, (x.N-1)*x.S)
	}
}

// mover returns the mover of the tiles of a job of kind transpose.
func (t *tile) mover(j *job, how tileCut) mover {
	if j.packed {
		switch {
		case kernels.Packed4.Wide != nil:
			return packedTile{t}
		case kernels.Split4 != nil:
			return splitTile{t}
		}
		return wordTile{t}
	}
	t.width, t.loops = int64(j.dBits/8), loopsOf(&j.pair)
	t.kernels = transposer(t.width)
	switch {
	case t.kernels.Wide == nil && how == fewTiles:
		return fewTile{t}
	case t.kernels.Wide == nil:
		return loopTile{t}
	case how == runTiles:
		return runTile{t}
	case j.streams():
		return streamTile{t}
	}
	return vectorTile{t}
}

// apart is the distance of rows of run bytes in a buffer: an odd number of cache lines, so
// that a column does not fall into one set of the cache.
func apart(run int64) int64 { return (run+cacheLine-1)&^(cacheLine-1) | cacheLine }

// holds reports whether the source has n elements of each of a tile's rows from one on, so that
// they may be read.
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

// evenly returns how many offsets, from the first one on, have the same distance as the first two,
// and that distance.
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

// roundDown rounds a block of more than 32 elements that does not cover its axis down to a
// multiple of 32.
func roundDown(blk, n, in int64) int64 {
	if blk < n && in == 1 && blk > 32 {
		return blk &^ 31
	}
	return blk
}

// buffered returns the distance of rows of run bytes in the buffer, and whether they are joined:
// rows that are consecutive on both sides are written as one.
func (t *tile) buffered(run int64) (stride int64, joined bool) {
	if t.dStep == run && (run < cacheLine || run == t.stride) {
		return run, true
	}
	return t.stride, false
}

// from returns the offsets of the rows from the i-th on, and the base to add. Rows beyond the
// table dTab are evenly spaced.
func (t *tile) from(d, i int64) (int64, []int64) {
	if t.dStep != 0 {
		return d + i*t.dStep, t.dTab
	}
	return d, t.dTab[i:]
}
