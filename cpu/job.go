package cpu

import (
	"sync"
	"unsafe"

	"github.com/restride/restride/internal/simd"
)

// job is a copy ready to run: a pair, loops over its blocks, and the mover of each block.
type job struct {
	pair
	grid
	mover   mover
	memory  movers // of the mover
	follows bool   // the mover reads scratch.next
	ran     string // the mover of a job that workers divided into their own jobs

	// For a shared job; parts and columns for one below a byte.
	parts   parts
	columns columns
	share   share
}

var jobs = sync.Pool{New: func() any { return new(job) }}

// release returns the job to its pool.
func (j *job) release() {
	j.drop()
	j.cast, j.mover, j.memory.conversion, j.ran = nil, nil, conversion{}, ""
	jobs.Put(j)
}

// grid is outer loops around blocks of two axes, a and b, where b is the destination's innermost.
type grid struct {
	a, b       axis
	outer      [maxAxes]axis // the other axes, outermost first
	nOut       int
	blkA, blkB int64 // extents of a block along a and b
	numA, numB int64 // blocks along a and b
	units      int64 // total blocks
}

// cut divides a and b into blocks of the given extents.
func (g *grid) cut(blkA, blkB int64) {
	if blkB > 64 && blkB < g.b.N {
		blkB &^= 63 // so that blocks of one row share as few words as possible
	}
	g.divide(blkA, blkB)
}

// divide is cut with exactly these extents.
func (g *grid) divide(blkA, blkB int64) {
	g.blkA, g.blkB = min(blkA, g.a.N), min(blkB, g.b.N)
	g.numA = (g.a.N + g.blkA - 1) / g.blkA
	g.numB = (g.b.N + g.blkB - 1) / g.blkB
	g.units = g.numA * g.numB
	for i := range g.nOut {
		g.units *= g.outer[i].N
	}
}

// seek returns the indices of a block along a and b, and the offsets of the outer axes, whose
// indices it sets.
func (g *grid) seek(unit int64, sc *scratch) (ai, bi, d, s int64) {
	if unit == 0 {
		clear(sc.index[:g.nOut]) // divisions take as long as a small block
		return 0, 0, 0, 0
	}
	bi = unit % g.numB
	ai = unit / g.numB % g.numA
	rest := unit / g.numB / g.numA
	for k := g.nOut - 1; k >= 0; k-- {
		x := &g.outer[k]
		i := rest % x.N
		rest /= x.N
		sc.index[k] = i
		d += i * x.D
		s += i * x.S
	}
	return ai, bi, d, s
}

// next returns where the next block begins in the source; after the last one, the block itself.
func (g *grid) next(s, ai, bi int64, sc *scratch) int64 {
	switch {
	case bi+1 < g.numB:
		return s + ai*g.blkA*g.a.S + (bi+1)*g.blkB*g.b.S
	case ai+1 < g.numA:
		return s + (ai+1)*g.blkA*g.a.S
	}
	at := s
	for k := g.nOut - 1; k >= 0; k-- {
		if x := &g.outer[k]; sc.index[k]+1 < x.N {
			return at + x.S
		}
		at -= sc.index[k] * g.outer[k].S
	}
	return s + ai*g.blkA*g.a.S + bi*g.blkB*g.b.S
}

// scratch is a goroutine's own memory.
type scratch struct {
	index       [maxAxes]int64
	stage       []byte // grown by room
	tile        []byte
	dense       []byte          // rows of a tile that are joined
	rows        [tileRows]int64 // byte offsets, for a tile below a byte
	cols        [tileCols]int64
	staged      [tileRows]int64 // of these rows after gathering
	bits        [tileRows]int64 // their offsets in bits
	more        [16]int64       // rows, where a kernel needs more than there are
	spread      []byte          // the source's elements below a byte, one per byte
	wide        []byte          // the destination's
	floats      []byte          // for a conversion through float32
	values      []byte          // for a scaling
	local       []byte          // for a block of a user's kernel
	terms       *simd.Terms
	choices     *simd.Choices
	conversions [sideCount]converter // for a scaling's terms
	tileRows    int64                // of the current tile: see tile.holds
	next        int64                // start of the next block in the source, to prefetch it
	sub         *job                 // the goroutine's part of a job below a byte
	unpacked    *unpackedWork
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// room returns a buffer of at least n bytes, kept in *b for reuse.
func room(b *[]byte, n int64) unsafe.Pointer {
	if int64(len(*b)) < n {
		*b = makeBlock(n).mem
	}
	return unsafe.Pointer(unsafe.SliceData(*b))
}

// part moves the blocks [lo, hi): along b first, then along a, then over the outer axes. That is
// mostly the destination's order.
func (j *job) part(lo, hi int64, sc *scratch) {
	if j.units == 1 {
		sc.next = j.sOff // none so far
		j.mover.move(j, j.dOff, j.sOff, j.blkA, j.blkB, sc)
		j.fence()
		return
	}
	ai, bi, d, s := j.seek(lo, sc)
	d, s = d+j.dOff, s+j.sOff
	for u := lo; ; {
		a0, b0 := ai*j.blkA, bi*j.blkB
		if j.follows {
			sc.next = j.next(s, ai, bi, sc)
		}
		j.mover.move(j, d+a0*j.a.D+b0*j.b.D, s+a0*j.a.S+b0*j.b.S, min(j.blkA, j.a.N-a0), min(j.blkB, j.b.N-b0), sc)
		if u++; u >= hi {
			j.fence()
			return
		}
		if bi++; bi < j.numB {
			continue
		}
		bi = 0
		if ai++; ai < j.numA {
			continue
		}
		ai = 0
		for k := j.nOut - 1; k >= 0; k-- {
			x := &j.outer[k]
			if sc.index[k]++; sc.index[k] < x.N {
				d += x.D
				s += x.S
				break
			}
			sc.index[k] = 0
			d -= (x.N - 1) * x.D
			s -= (x.N - 1) * x.S
		}
	}
}

func (j *job) perform(*scratch) (int64, error) {
	j.execute()
	return j.bytes, nil
}

// execute plans the job, unless it is planned, runs it, and returns when it is done.
func (j *job) execute() {
	sc := scratches.Get().(*scratch)
	defer scratches.Put(sc)
	if j.packed && j.bytes >= parallelBytes && j.executePacked(sc) {
		return
	}
	if j.mover == nil {
		j.plan()
	}
	cost := j.bytes
	if j.kind == dense {
		cost /= denseFactor
	}
	n := parallelism(j.units, cost)
	if n == 1 || j.packed {
		j.part(0, j.units, sc)
		return
	}
	j.shareOut(j, n, j.units, j.grain(n), sc)
}

// grain is grainOf; past the caches four times as much, if that is enough for all goroutines: data
// prefetched for another goroutine arrives late.
func (j *job) grain(goroutines int) int64 {
	grain := grainOf(j.units, j.bytes, goroutines)
	if j.past {
		grain = max(grain, min(4*grain, j.units/int64(8*goroutines)))
	}
	return grain
}

// shareOut does units of work with goroutines-1 workers.
func (j *job) shareOut(w work, goroutines int, units, grain int64, sc *scratch) {
	j.share.work, j.share.units, j.share.grain = w, units, grain
	allWorkers.run(&j.share, goroutines-1, sc)
}
