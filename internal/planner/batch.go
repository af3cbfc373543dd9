package planner

import (
	"math"
	"math/bits"
	"strconv"
)

// The local memory of form batch, in bytes, including what is read behind the last element:
// batchBytes for elements in src's order, or, below a byte, batchNarrowBytes plus batchTileBytes
// for their lines along dst's dense axis.
const (
	batchBytes       = 31 << 10
	batchNarrowBytes = 13 << 10
	batchTileBytes   = 18 << 10
)

func batchSpecs() []Spec {
	var all []Spec
	for _, b := range []uint8{2, 4, 8, 16} {
		all = append(all, Spec{Form: Batch, DstBits: b, SrcBits: b})
	}
	return all
}

// batchRoom is the number of elements that fit in local memory, in vectors.
func batchRoom(bits int) int64 {
	if bits < 8 {
		return int64(batchNarrowBytes * 8 / bits)
	}
	return int64(batchBytes * 8 / bits)
}

// batchDefines are the macros of this form.
func batchDefines(s Spec) []string {
	vectors := batchRoom(int(s.DstBits)) * int64(s.DstBits) / 128
	return []string{"VECTORS " + strconv.FormatInt(vectors, 10), "TILE_VECTORS " + strconv.Itoa(batchTileBytes/vector)}
}

// batch is a block of matrices: how many indices it has of a, src's dense axis, and of c, the axis
// of matrices. Steps in local memory and lengths are in elements.
type batch struct {
	a, b, c  axis
	aAt, cAt int // positions of a and c, counted from the innermost axis; cAt 0: there is no c
	ta, tc   int64

	row        axis   // number of rows, and their steps in local memory and in src
	length     int64  // of a row of src
	less       int64  // by how much each row is shorter than the last, for pieces of rows
	missing    axis   // n rows, or d elements of rows, fewer for each missing matrix
	sb, sc     int64  // the steps of b and c in local memory
	words      int64  // of a line along b; 0: elements are read one by one
	order      [3]int // of squares: 0 counts them along b, 1 a, 2 c
	per, side  int64  // elements of a unit of dst; units side by side assembled by a warp
	unit, room int64
	cost       cost
}

// batchGain is the largest acceptable ratio of this form's cost to the cost of other forms: both
// estimates are accurate to a few percent.
const batchGain = .95

// moreParts is how many strip counts are tried, from the smallest upwards.
const moreParts = 8

// batches chooses the block for a transposition of src's dense axis and dst's whose estimate is
// below least cycles.
func (p *tiling) batches(least float64) (*batch, refusal) {
	near := p.nearest()
	t := batch{aAt: near, a: p.inner(near), b: p.inner(0), c: axis{N: 1}}
	switch {
	case p.dBits < 2 || p.dBits > 16:
		return nil, otherWidth
	case near == 0:
		return nil, notTurned
	case t.a.S != 1:
		return nil, sourceGaps
	case t.b.D != 1:
		return nil, notDense
	case t.b.S < t.a.N || t.a.D != t.b.N:
		return nil, noMatrices
	}
	t.unit, t.room = int64(128/p.dBits), batchRoom(p.dBits)
	switch {
	case p.dBits >= 8 && t.b.N < t.unit/2 || t.a.N < 2 || t.b.N < 2:
		return nil, shortAxes
	case t.a.N >= limit:
		return nil, longAxes
	case t.b.N > t.room:
		return nil, noTile
	}
	for i := range p.axes {
		if x := p.inner(i); i > 0 && i != near && x.D == t.a.N*t.b.N && x.S > 0 && x.N < limit {
			t.cAt, t.c = i, x
		}
	}
	best, found := t, false
	try := func(ta, tc int64) {
		next := t
		next.ta, next.tc = ta, tc
		if next.lay(p.problem) {
			if cycles := next.estimate(p.problem, least); cycles < least {
				best, least, found = next, cycles, true
			}
		}
	}
	whole := t.a.N * t.b.N
	enough := max(1, p.count()/(whole*p.target.fewBlocks()))
	if most := min(t.c.N, t.room/whole, enough); most > 1 {
		even := int64(1) // matrices of whole vectors
		for even < t.unit && even*whole%t.unit > 0 {
			even *= 2
		}
		for eighths := int64(8); eighths >= 4; eighths-- {
			tc := most * eighths / 8
			try(t.a.N, max(1, tc))
			if tc > even {
				try(t.a.N, tc/even*even)
			}
		}
	}
	try(t.a.N, 1)
	if fewest := (whole + t.room - 1) / t.room; fewest > 1 || !found { // nearly equal strips
		for parts := max(2, fewest); parts < max(2, fewest)+moreParts; parts++ {
			try((t.a.N+parts*t.unit-1)/(parts*t.unit)*t.unit, 1)
		}
	}
	if !found {
		return nil, costsMore
	}
	return &best, ""
}

// lay lays the block out in local memory, if there is room.
func (t *batch) lay(p *problem) bool {
	apart := func(step, length int64) int64 { // to the next row
		return length + t.unit - 1 + (step-length-t.unit+1)&(t.unit-1)
	}
	joined := t.b.S-t.ta < t.unit
	if t.sb = t.b.S; !joined {
		t.sb = apart(t.b.S, t.ta)
	}
	matrix := (t.b.N-1)*t.sb + t.ta
	if t.tc > 1 && (!joined || t.c.S < matrix) {
		return false
	}
	switch whole := GroupSize * t.unit; {
	case !joined:
		t.row, t.length = axis{N: t.b.N, D: t.sb, S: t.b.S}, t.ta
	case t.tc > 1 && t.c.S-matrix >= t.unit:
		t.sc = apart(t.c.S, matrix)
		t.row, t.length, t.missing.N = axis{N: t.tc, D: t.sc, S: t.c.S}, matrix, 1
	default:
		t.sc, t.missing.D = t.c.S, t.c.S
		t.length = (t.tc-1)*t.c.S + matrix
		t.row, t.less = axis{N: (t.length+t.unit-2)/whole + 1, D: whole, S: whole}, whole
	}
	per := int64(32 / p.dBits) // lines that are read together, the last of which may not exist
	if (t.tc-1)*t.sc+matrix+(per-1)*t.sb+2*t.unit > t.room || t.vectors() > GroupSize {
		return false
	}
	if p.dBits < 8 {
		if t.words = (t.b.N + per - 1) / per; (t.tc*t.ta+(per-1)/t.b.N+2)*t.words >= batchTileBytes/4 {
			return false
		}
	}
	return true
}

// vectors is the largest number of vectors that a row touches.
func (t *batch) vectors() int64 {
	n := (t.length+t.unit-2)/t.unit + 1
	if t.less > 0 {
		n = min(n, GroupSize)
	}
	return n
}

// estimate sets the cost, from the predicted costs of the kernel's parts for several shapes, and
// returns the cycles: a rough value if they are not below least.
func (t *batch) estimate(p *problem, least float64) float64 {
	rounds := func(items int64) int64 { return (items + GroupSize - 1) / GroupSize }
	width := int64(p.dBits)
	size := t.tc * t.ta * t.b.N
	vectors := t.row.N * t.vectors()
	e := &t.cost
	e.blocks = p.count() / (t.a.N * t.b.N * t.c.N) * t.a.Blocks(t.ta).N * t.c.Blocks(t.tc).N
	below := GroupSize / t.vectors()
	loads := (t.row.N + 4*below - 1) / (4 * below) // four at a time
	if e.instructions = 160 + 140*loads; t.less > 0 {
		e.instructions = 110 + 15*loads
	}
	e.passes = vectors / 8
	e.sectors = touched(1, size*width/8, false) + t.row.N*(min(t.length, GroupSize*t.unit)*width/8/sectorBytes+1)
	if width >= 8 {
		return t.arrange(p, size, least)
	}
	per := 32 / width
	n := t.squares(per)
	count := n[0] * n[1] * n[2]
	e.instructions += count*per*23/GroupSize + rounds(size/per)*34
	e.passes += size / per / warp * 2
	if t.cost.cycles(p.bytes) < least {
		e.passes += count / warp * per * t.choose(per)
	}
	return t.cost.cycles(p.bytes)
}

// arrange chooses the units from which size elements are assembled, and how many of a warp's units
// are side by side: fewer if the others then access other banks. least is as in estimate.
func (t *batch) arrange(p *problem, size int64, least float64) float64 {
	begun, best := t.cost, math.Inf(1)
	next := *t
	for _, per := range []int64{t.unit, t.unit / 2} {
		if per > t.b.N {
			continue // a line ends at most once in a unit
		}
		e := begun
		e.instructions += ((size/per + GroupSize - 1) / GroupSize) * (24 + 5*per)
		if cycles := e.cycles(p.bytes); cycles >= min(best, least) { // regardless of banks
			best = min(best, cycles)
			continue
		}
		turns := int64(warp + 1)
		for side := int64(warp); side*per*int64(p.dBits) >= sectorBytes*8 && turns > fewTurns; side /= 2 {
			n := t.turns(per, side)
			if n >= turns {
				continue
			}
			turns = n
			e.passes = begun.passes + size/warp*turns
			e.sectors = begun.sectors + size/per*(warp/side-1)/warp // more ends
			if cycles := e.cycles(p.bytes); cycles < best {
				best, next.per, next.side, next.cost = cycles, per, side, e
			}
		}
	}
	*t = next
	return best
}

// turns is the number of accesses to the busiest bank by a warp that reads units of per elements,
// side of them side by side.
func (t *batch) turns(per, side int64) int64 {
	var at [2][warp]int64
	size := 128 / t.unit / 8
	for k := range at {
		a, b := int64(0), int64(k)*(per-1)
		for i := range at[k] {
			for ; b >= t.b.N; b -= t.b.N {
				a++
			}
			at[k][i] = size * (b*t.sb + a%t.ta + a/t.ta*t.sc)
			if b += per; int64(i+1)%side == 0 {
				b += per * side * (GroupSize/warp - 1)
				a, b = a+b/t.b.N, b%t.b.N
			}
		}
	}
	return (turnsOf(&at[0]) + turnsOf(&at[1]) + 1) / 2
}

// squares returns the number of squares along b, a and c.
func (t *batch) squares(per int64) [3]int64 {
	return [3]int64{(t.b.N + per - 1) / per, (t.ta + per - 1) / per, t.tc}
}

// choose selects the order of squares by the number of accesses to a warp's busiest bank, counted
// twice for reading a line and once for writing it.
func (t *batch) choose(per int64) (least int64) {
	n := t.squares(per)
	raw := [3]int64{t.sb * 4, 4, t.sc * 4 / per}
	tile := [3]int64{4, per * t.words * 4, t.ta * t.words * 4}
	for _, order := range [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		var from, to [warp]int64
		var at [3]int64
		for i := range from {
			for k, x := range at {
				from[i] += x * raw[k]
				to[i] += x * tile[k]
			}
			for _, k := range order {
				if at[k]++; at[k] < n[k] {
					break
				}
				at[k] = 0
			}
		}
		if turns := 2*turnsOf(&from) + turnsOf(&to); least == 0 || turns < least {
			least, t.order = turns, order
		}
	}
	return least
}

// plan sets the parameters.
func (t *batch) plan(p *problem, k *parameters) (Spec, error) {
	k.ta, k.na = uint32(t.ta), uint32(t.a.N)
	k.tb, k.nb = uint32(t.tc), uint32(t.c.N)
	k.extent, k.sa, k.sb = t.b.N, t.sc, t.sb
	k.span, k.length, k.d = uint32(t.row.N), t.length, t.less
	k.da, k.db = t.missing.N, t.missing.D
	k.words = uint32(t.words)
	vectors := t.vectors()
	k.inner = []axis{{N: vectors}, {N: GroupSize / vectors, D: t.row.D, S: t.row.S}, {N: t.b.N}, {N: t.ta}}
	if p.dBits >= 8 {
		k.words, k.flat = uint32(t.per), uint32(bits.TrailingZeros64(uint64(t.side)))
	} else {
		n := t.squares(int64(32 / p.dBits))
		k.cut = uint32(n[0] * n[1] * n[2])
		k.inner = append(k.inner, axis{N: n[t.order[0]]}, axis{N: n[t.order[1]]})
		for place, which := range t.order {
			k.flat |= uint32(place) << (2 * which)
		}
	}
	but := []int{0, t.aAt}
	if t.cAt > 0 {
		but = append(but, t.cAt)
	}
	spec := p.spec(Batch)
	if err := k.setOuter(append([]axis{t.a.Blocks(t.ta), t.c.Blocks(t.tc)}, p.others(but...)...)...); err != nil {
		return spec, err
	}
	return spec, nil
}
