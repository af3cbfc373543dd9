package quant

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/restride/restride/internal/digits"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// Pieces are the parts of a plan along an axis, for weights larger than the available
// memory: each is converted separately.
type Pieces struct {
	Len int

	plan       *Plan
	cut        cut
	full, last *Plan // plans of all pieces but the last, and of the last
}

// Piece is a part of a plan: a plan of its own, and the positions of its tensors' bytes in
// the whole tensors.
type Piece struct {
	*Plan
	Src, Dst []Region // in Plan.From's tensors, and in Plan.To's

	column int64 // the piece's first column in the whole
}

// Run is Plan.Run for the piece.
func (p Piece) Run(s *tensor.Stream, src Memory) (dst Memory, err error) {
	return p.run(s, src, p.column)
}

// Check is Plan.Check for the piece.
func (p Piece) Check(s *tensor.Stream, src, dst Memory) error {
	return p.check(s, src, dst, p.column)
}

// Region locates a part of a tensor's bytes: runs of equal length that start Step bytes
// apart.
type Region struct {
	At, Bytes   int64 // of the first run
	Count, Step int64
}

// Size returns the total bytes of all runs.
func (r Region) Size() int64 { return r.Count * r.Bytes }

// cut divides the indices of an axis into parts of size; 0: no division.
type cut struct {
	axis   byte
	extent int64
	size   int64
}

// Cut returns pieces that need at most the given bytes of memory each (see Cost): a single
// one if that suffices, otherwise pieces along the axis that gives the fewest runs.
func (p *Plan) Cut(bytes int64) (*Pieces, error) {
	all := p.memory(p.From, p.To)
	if all <= bytes {
		return &Pieces{Len: 1, plan: p, full: p, last: p}, nil
	}
	var best *Pieces
	runs, least := int64(0), all
	for _, axis := range []byte{axisE, axisN, axisK} {
		c := cut{axis, p.From.ext[axis], p.unit(axis)}
		if c.size == 0 || c.size >= c.extent {
			continue
		}
		smallest := p.partMemory(axis, c.size)
		if least = min(least, smallest); smallest > bytes {
			continue
		}
		c.size = p.largest(c, bytes)
		pieces, err := p.pieces(c)
		if err != nil {
			return nil, err
		}
		if n := pieces.runs(); best == nil || n < runs {
			best, runs = pieces, n
		}
	}
	if best == nil {
		return nil, layout.Errorf(layout.ErrUnsupported, "quant", "a piece of it takes at least %d bytes, and %d are allowed", least, bytes)
	}
	return best, nil
}

// Least returns the memory needed by the smallest pieces into which the plan can be cut.
func (p *Plan) Least() int64 {
	least := p.memory(p.From, p.To)
	for _, axis := range []byte{axisE, axisN, axisK} {
		if unit := p.unit(axis); unit > 0 && unit < p.From.ext[axis] {
			least = min(least, p.partMemory(axis, unit))
		}
	}
	return least
}

// largest returns the size of the fewest, equal pieces that fit in bytes, if pieces of c's
// size do.
func (p *Plan) largest(c cut, bytes int64) int64 {
	units := (c.extent + c.size - 1) / c.size
	low, high := int64(1), units // pieces of low units fit
	for low < high {
		mid := (low + high + 1) / 2
		if p.partMemory(c.axis, mid*c.size) <= bytes {
			low = mid
		} else {
			high = mid - 1
		}
	}
	n := (units + low - 1) / low
	return (units + n - 1) / n * c.size
}

// unit returns the number at whose multiples an axis can be cut: on both sides each piece
// of every tensor then has whole bytes that it shares with no other piece. 0: the axis
// cannot be cut.
func (p *Plan) unit(axis byte) int64 {
	if p.carry != nil {
		return 0
	}
	extent := p.From.ext[axis]
	if extent == 0 || extent > 1<<50 { // so that sums of two do not overflow
		return 0
	}
	if axis == axisK && (p.sorted || p.From.Params.Sidecar.Nested || p.plain != nil && p.From.has(groups) || p.From.Params.Sorted) {
		return 0
	}
	unit := int64(1)
	for _, w := range []*Weight{p.From, p.To} {
		for _, a := range w.arrays {
			outer, _, found := w.outer(a, axis)
			if !found {
				continue
			}
			if outer.Reverse || outer.Only >= 0 {
				return 0
			}
			n, of := w.ratio(axis, outer.Axis)
			unit = lcm(unit, lcm(outer.Div*n, of)/of)
		}
	}
	part := cut{axis, extent, unit}
	for _, w := range []*Weight{p.From, p.To} {
		for _, a := range w.arrays {
			if _, ok := w.region(a, part, 0); !ok {
				return 0
			}
		}
	}
	return unit
}

func lcm(a, b int64) int64 {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / x * b
}

// ratio returns how many indices of axis share how many of other, or 0 if cutting axis does
// not cut other. Cutting k cuts groups and blocks of groups; cutting n cuts blocks of rows'
// scales.
func (w *Weight) ratio(axis, other byte) (n, of int64) {
	switch {
	case axis == other:
		return 1, 1
	case axis == axisK && other == axisG:
		return w.Params.Group, 1
	case axis == axisN && other == axisR:
		return w.Params.Rows, 1
	case axis == axisK && other == axisJ:
		return gridTypes[w.Params.Blocks].size, 1
	case axis == axisK && other == axisQ:
		return 8, 1
	case axis == axisK && other == axisS:
		return superBlock, 1
	case axis == axisN && other == axisB:
		return nestedBlock, w.ext[axisG]
	}
	return 0, 1
}

// outer returns the outermost digit of an axis in an array: the one whose values are
// divided among the pieces. at is its position among the digits.
func (w *Weight) outer(a array, axis byte) (d digit, at int, found bool) {
	for i, d := range a.digits() {
		if n, _ := w.ratio(axis, d.Axis); n > 0 && d.Size == 0 {
			return d, i, true
		}
	}
	return d, 0, false
}

// region returns the location of piece i of an array. ok is false if it shares bytes with
// another piece.
func (w *Weight) region(a array, c cut, i int64) (r Region, ok bool) {
	ds := a.digits()
	total, _ := digits.Lay(ds, a.pitch(), w.ext)
	outer, at, found := w.outer(a, c.axis)
	if !found || c.size == 0 {
		return Region{Bytes: total / 8, Count: 1, Step: total / 8}, total%8 == 0
	}
	stride := ds[at].Stride
	n, per := w.ratio(c.axis, outer.Axis)
	of := outer.Div * n
	from := i * c.size * per / of
	count := min(outer.Count(w.ext), (min(c.extent, (i+1)*c.size)*per+of-1)/of) - from
	step := stride * outer.Count(w.ext)
	if step == 0 || stride*count%8 != 0 || stride*from%8 != 0 || step%8 != 0 || stride*(c.size*per/of)%8 != 0 {
		return r, false
	}
	return Region{At: stride * from / 8, Bytes: stride * count / 8, Count: total / step, Step: step / 8}, true
}

// digits returns the digits of the array's single field, or of its blocks.
func (a array) digits() []digit {
	if s := a.slots[0]; s.rows == "" {
		return digitsOf(s.order)
	}
	return digitsOf(strings.ReplaceAll(a.order, "|", " "))
}

// pitch is the distance in bits between values of the innermost digit.
func (a array) pitch() int64 {
	if s := a.slots[0]; s.rows == "" {
		return s.pitch
	}
	return a.bits
}

// part returns the weight for a part of an axis.
func (w *Weight) part(axis byte, extent int64) (*Weight, error) {
	out := *w
	out.ext = maps.Clone(w.ext)
	out.ext[axis] = extent
	out.ext.group(w.Params)
	out.Tensors = slices.Clone(w.Tensors)
	for i, a := range w.arrays {
		dims, err := a.dims(out.ext)
		if err != nil {
			return nil, err
		}
		out.Tensors[i].Dims = dims
	}
	return &out, nil
}

// partPlan returns the plan for a part of an axis.
func (p *Plan) partPlan(axis byte, extent int64) (*Plan, error) {
	from, err := p.From.part(axis, extent)
	if err != nil {
		return nil, err
	}
	out := &Weight{Name: p.To.Name, Format: p.To.Format, Params: p.To.Params}
	var part *Plan
	if p.adapt != nil {
		part, err = from.planVia(out, *p.adapt)
	} else {
		part, err = from.plan(out, p.To.arrays)
	}
	if err == nil {
		part.of = p
	}
	return part, err
}

// partMemory returns the memory needed for a part of an axis.
func (p *Plan) partMemory(axis byte, extent int64) int64 {
	from, err := p.From.part(axis, extent)
	if err != nil {
		return math.MaxInt64
	}
	to, err := p.To.part(axis, extent)
	if err != nil {
		return math.MaxInt64
	}
	return p.memory(from, to)
}

// pieces plans the pieces of a cut.
func (p *Plan) pieces(c cut) (*Pieces, error) {
	n := (c.extent + c.size - 1) / c.size
	out := &Pieces{Len: int(n), plan: p, cut: c}
	var err error
	if out.full, err = p.partPlan(c.axis, c.size); err != nil {
		return nil, err
	}
	out.last = out.full
	if rest := c.extent % c.size; rest > 0 {
		out.last, err = p.partPlan(c.axis, rest)
	}
	return out, err
}

// runs returns the number of runs of bytes of all pieces in files.
func (p *Pieces) runs() (n int64) {
	first := p.At(0)
	for _, r := range slices.Concat(first.Src, first.Dst) {
		n += r.Count
	}
	return n * int64(p.Len)
}

// At returns piece i. Tensors without the cut axis are read for each piece, and written
// with the first.
func (p *Pieces) At(i int) Piece {
	out := Piece{Plan: p.full}
	if p.cut.axis == axisK {
		out.column = int64(i) * p.cut.size
	}
	if i == p.Len-1 {
		out.Plan = p.last
	}
	regions := func(w *Weight) []Region {
		all := make([]Region, len(w.arrays))
		for j, a := range w.arrays {
			all[j], _ = w.region(a, p.cut, int64(i)) // unit has checked that ok is true
			if _, _, found := w.outer(a, p.cut.axis); w == p.plan.To && i > 0 && !found {
				all[j].Count = 0
			}
		}
		return all
	}
	out.Src, out.Dst = regions(p.plan.From), regions(p.plan.To)
	return out
}
