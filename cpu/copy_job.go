package cpu

import (
	"strconv"
	"sync"
	"unsafe"

	"github.com/restride/restride/device/backend"
	"github.com/restride/restride/internal/simd"
	"github.com/restride/restride/layout"
)

// class is what a copy or fill is along the destination's innermost axis, in the words
// of layout.Class, or convert. Queue.KernelName tells it.
type class layout.Class

const (
	dense     = class(layout.ClassDense)
	rows      = class(layout.ClassRows)
	transpose = class(layout.ClassTranspose) // by tiles
	reversed  = class(layout.ClassReversed)
	strided   = class(layout.ClassStrided)   // a step apart on at least one side
	broadcast = class(layout.ClassBroadcast) // the source's row is one element
	general   = class(layout.ClassGeneral)   // the source is denser along another axis, but no transpose
	convert   = general + 1                  // between types
)

func (c class) String() string {
	if c == convert {
		return "convert"
	}
	return layout.Class(c).String()
}

// axis is one loop: its extent, and the step that either side makes. Steps are
// in bytes, or in elements where they are below a byte (see job.packed).
type axis struct{ n, d, s int64 }

// maxAxes bounds the rank after layout.Simplify: extents are at least 2, and
// their product fits an int64.
const maxAxes = 62

// job is a copy made ready to run: outer loops around blocks of two axes, a and b,
// where b is the destination's innermost. A call of a kernel moves one block.
type job struct {
	move

	// The plan.
	a, b       axis
	outer      [maxAxes]axis // the other axes, outermost first
	nOut       int
	blkA, blkB int64 // extents of a block along a and b
	numA, numB int64 // blocks along a and b
	units      int64 // blocks in all
	tile       tile  // of class transpose
	inner      axis  // of class rows: a block has all of this axis, too
	shuffled   shuffled
	shuffle    simd.Shuffle // of a job that is shuffled
	permuted   permuted
	boxes      boxes // of a job below a byte
	fields     fields

	parts parts // of a job below a byte that is shared
	share share
}

// move says what to do: where the elements are, how wide and how many.
type move struct {
	class        class
	strings      bool
	packed       bool     // positions count elements, not bytes: below a byte, or converted
	meaning      *meaning // of class convert by bits: what unpacking makes of elements
	cast         *caster  // of class convert by value; nil: by bits
	dBits, sBits int      // the width of one element
	dst, src     unsafe.Pointer
	dOff, sOff   int64
	rank         int
	axes         [maxAxes]axis // in the order of the destination's steps
	bytes        int64         // that will be written

	// clipLo and clipHi bound the elements below a byte that may be written: those in
	// the bytes that this goroutine owns.
	clipLo, clipHi int64
}

var jobs = sync.Pool{New: func() any { return new(job) }}

// load takes a simplified pair of layouts. Addresses come later.
func (j *job) load(d, s *layout.Layout, dBits, sBits int, strings bool) {
	j.dBits, j.sBits = dBits, sBits
	j.strings = strings
	j.packed = dBits < 8 || sBits < 8 || j.cast != nil
	j.class, j.meaning = dense, nil
	j.clipLo, j.clipHi = 0, 1<<63-1
	du, su := int64(1), int64(1)
	if !j.packed {
		du, su = int64(dBits/8), int64(sBits/8)
	}
	j.rank, j.dOff, j.sOff = d.Rank(), d.Offset()*du, s.Offset()*su
	j.bytes = 1
	for i := range j.rank {
		n := d.Dim(i)
		j.axes[i] = axis{n, d.Stride(i) * du, s.Stride(i) * su}
		j.bytes *= n
	}
	if j.rank == 0 {
		j.axes[0] = axis{1, du, su}
		j.rank = 1
	}
	j.bytes = (j.bytes*int64(dBits) + 7) / 8
}

// drop returns the job to its pool without addresses, which would keep memory alive.
func (j *job) drop() {
	j.dst, j.src, j.cast = nil, nil, nil
	jobs.Put(j)
}

// unit is the step between neighbours in a dense row.
func (j *job) unit(bits int) int64 {
	if j.packed {
		return 1
	}
	return int64(bits / 8)
}

// unitBits is how many bits a step of 1 is in the destination.
func (j *job) unitBits() int64 {
	if j.packed {
		return int64(j.dBits)
	}
	return 8
}

// scratch is the memory that a goroutine needs for itself.
type scratch struct {
	index       [maxAxes]int64
	stage       []byte // grown by room
	tile        []byte
	dense       []byte          // rows of a tile that become one
	rows        [tileRows]int64 // offsets in bytes, of a tile below a byte
	cols        [tileCols]int64
	staged      [tileRows]int64 // of these rows, where they were brought together
	bits        [tileRows]int64 // their offsets in bits
	more        [16]int64       // rows, where a kernel wants more than there are
	spread      []byte          // the source's elements below a byte, at a byte each
	wide        []byte          // the destination's
	floats      []byte          // of a conversion by way of float32
	values      []byte          // of a scaling
	terms       *simd.Terms
	choices     *simd.Choices
	conversions [sideCount]job // of a scaling's terms
	tileRows    int64          // how many the tile has that is being done: see tile.holds
	next        int64          // where the next block begins in the source, to fetch it
	sub         *job           // its part of a job below a byte
	box         *boxWork
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// run does units [lo, hi): blocks along b first, then along a, then over the outer
// axes. That is the order of the destination, mostly.
func (j *job) run(lo, hi int64, sc *scratch) {
	d, s, ai, bi := j.dOff, j.sOff, int64(0), int64(0)
	if lo == 0 {
		clear(sc.index[:j.nOut]) // divisions take as long as a small block
	} else {
		bi = lo % j.numB
		ai = lo / j.numB % j.numA
		rest := lo / j.numB / j.numA
		for k := j.nOut - 1; k >= 0; k-- {
			x := &j.outer[k]
			i := rest % x.n
			rest /= x.n
			sc.index[k] = i
			d += i * x.d
			s += i * x.s
		}
	}
	for u := lo; ; {
		a0, b0 := ai*j.blkA, bi*j.blkB
		if j.class == dense || j.class == rows || j.class == transpose || j.shuffled == picks {
			sc.next = j.next(s, ai, bi, sc)
		}
		j.kernel(d+a0*j.a.d+b0*j.b.d, s+a0*j.a.s+b0*j.b.s, min(j.blkA, j.a.n-a0), min(j.blkB, j.b.n-b0), sc)
		if u++; u >= hi {
			j.settle()
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
			if sc.index[k]++; sc.index[k] < x.n {
				d += x.d
				s += x.s
				break
			}
			sc.index[k] = 0
			d -= (x.n - 1) * x.d
			s -= (x.n - 1) * x.s
		}
	}
}

// next returns where the source of the block after that of some indices begins; after the
// last one, the block itself.
func (j *job) next(s, ai, bi int64, sc *scratch) int64 {
	switch {
	case bi+1 < j.numB:
		return s + ai*j.blkA*j.a.s + (bi+1)*j.blkB*j.b.s
	case ai+1 < j.numA:
		return s + (ai+1)*j.blkA*j.a.s
	}
	at := s
	for k := j.nOut - 1; k >= 0; k-- {
		if x := &j.outer[k]; sc.index[k]+1 < x.n {
			return at + x.s
		}
		at -= sc.index[k] * j.outer[k].s
	}
	return s + ai*j.blkA*j.a.s + bi*j.blkB*j.b.s
}

// kernel moves one block: na along a, nb along b.
func (j *job) kernel(d, s, na, nb int64, sc *scratch) {
	if j.packed {
		j.packedKernel(d, s, na, nb, sc)
		return
	}
	if j.permuted.swaps.on {
		j.swapItems(d, s, na, nb, sc)
		return
	}
	if j.permuted.on {
		j.permuteItems(d, s, na, nb, sc)
		return
	}
	if j.strings {
		blockOf[string](j, d, s, na, nb, sc)
		return
	}
	switch j.dBits {
	case 8:
		blockOf[uint8](j, d, s, na, nb, sc)
	case 16:
		blockOf[uint16](j, d, s, na, nb, sc)
	case 32:
		blockOf[uint32](j, d, s, na, nb, sc)
	case 64:
		blockOf[uint64](j, d, s, na, nb, sc)
	case 128:
		blockOf[[2]uint64](j, d, s, na, nb, sc)
	}
}

func blockOf[W word](j *job, d, s, na, nb int64, sc *scratch) {
	switch j.class {
	case dense, rows:
		moveRows[W](j, d, s, na, nb, sc)
	case transpose:
		moveTile[W](j, d, s, na, nb, sc)
	default:
		if j.b.d == int64(unsafe.Sizeof(*new(W))) {
			collect[W](j, d, s, na, nb, sc)
			return
		}
		scatter[W](j, d, s, na, nb)
	}
}

// name is the class and the width of an element, as KernelName tells them.
func (j *job) name() string {
	switch {
	case j.strings:
		return j.class.String() + ".string"
	case j.packed:
		return "bits." + j.class.String() + "." + strconv.Itoa(j.dBits)
	}
	return j.class.String() + "." + strconv.Itoa(j.dBits)
}

// prepare makes the job of a checked call, without addresses and plan. A fill's source
// has the layout of its destination, with all elements at one address. False: there is
// nothing to do.
func (j *job) prepare(f *form, dst, src *layout.Layout) bool {
	way := backend.AsCopy
	if f.op == opConvert {
		way = backend.ConversionOf(f.dst, f.src)
	}
	dBits, sBits, limit := f.dst.Bits(), f.src.Bits(), 8*int(f.align)
	fills, strings := f.op >= opFill, f.dst == layout.String
	j.cast = nil
	switch {
	case way == backend.ByValue:
		j.cast = casterOf(f.dst, f.src, f.how)
		limit = 0
	case way == backend.AsPack || strings:
		limit = 0
	}
	d, s := *dst, *src
	layout.Simplify(&d, &s)
	if d.Rank() == 1 && d.Dim(0) == 0 {
		return false
	}
	wide := layout.Widen(dBits, limit, &d, &s)
	switch {
	case strings:
		dBits, sBits = 8*stringSize, 8*stringSize
	case limit > 0 && dBits > limit && !looseAlignment:
		if fills {
			s, _ = layout.Layout{}.Expand(d.Shape()...) // cannot fail: it is d's shape
			fills = false
		}
		d, s, dBits = narrow(d, s, dBits, limit)
		sBits = dBits
	case limit > 0:
		dBits, sBits = wide, wide
	}
	j.load(&d, &s, dBits, sBits, strings)
	if way != backend.AsCopy {
		j.class = convert
		j.meaning = meaningOf(f.src.Bits(), backend.IsSigned(f.src))
	}
	if fills {
		j.sOff = 0
		for i := range j.axes[:j.rank] {
			j.axes[i].s = 0
		}
	}
	return true
}

// narrow expresses elements as runs of smaller ones, for memory that is not aligned.
func narrow(d, s layout.Layout, bits, limit int) (layout.Layout, layout.Layout, int) {
	part := int64(bits / limit)
	split := func(l layout.Layout) layout.Layout {
		dims, strides := l.Shape(), l.Strides()
		for i := range strides {
			strides[i] *= part
		}
		// It cannot fail: these positions are of the same bytes.
		l, _ = layout.Strided(append(dims, part), append(strides, 1), l.Offset()*part)
		return l
	}
	d, s = split(d), split(s)
	layout.Simplify(&d, &s)
	return d, s, limit
}

// room returns a buffer of at least n bytes, kept in *b for the next time.
func room(b *[]byte, n int64) unsafe.Pointer {
	if int64(len(*b)) < n {
		*b = makeBlock(n).mem
	}
	return unsafe.Pointer(unsafe.SliceData(*b))
}

// execute plans the job, runs it, and returns when it is done.
func (j *job) execute() {
	sc := scratches.Get().(*scratch)
	defer scratches.Put(sc)
	if j.packed && j.bytes >= parallelBytes && j.executePacked(sc) {
		return
	}
	j.parts.lead = 0
	j.plan()
	cost := j.bytes
	if j.class == dense {
		cost /= denseFactor
	}
	n := parallelism(j.units, cost)
	if n == 1 || j.packed {
		j.run(0, j.units, sc)
		return
	}
	j.shareOut(n, j.units, j.grain(n), sc)
}

// grain is grainOf; past the caches four times as much, where there is enough for all: what
// is fetched for another goroutine is late.
func (j *job) grain(goroutines int) int64 {
	grain := grainOf(j.units, j.bytes, goroutines)
	if j.streams() {
		grain = max(grain, min(4*grain, j.units/int64(8*goroutines)))
	}
	return grain
}

// shareOut does units with goroutines-1 workers.
func (j *job) shareOut(goroutines int, units, grain int64, sc *scratch) {
	j.share.work, j.share.units, j.share.grain = j, units, grain
	allWorkers.run(&j.share, goroutines-1, sc)
}

// part does the units [lo, hi): blocks, or parts of elements below a byte.
func (j *job) part(lo, hi int64, sc *scratch) {
	if j.parts.lead == 0 {
		j.run(lo, hi, sc)
		return
	}
	for part := lo; part < hi; part++ {
		if j.parts.columns {
			j.runColumnsPart(part, sc)
		} else {
			j.runPart(part, sc)
		}
	}
}
