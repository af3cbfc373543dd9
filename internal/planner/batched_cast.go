package planner

// Casts of small matrices that are transposed on one side: see source/batched_cast.h.

// batchedCast is how many matrices a block has, and its estimated cost.
type batchedCast struct {
	cut, count int64 // and their number
	cost       cost
}

// batchedCast makes blocks of matrices. A cut of 0 means that the matrices do not follow each
// other on both sides, or are too large.
func (p *transposition) batchedCast() batchedCast {
	a, b := p.inner(p.near), p.inner(0)
	all, unit, piece := a.N*b.N, int64(128/p.dBits), int64(128/p.sBits)
	room := (columnSlots-1)*piece + 1 // wherever they begin in the first piece
	if p.near != 1 || b.N < unit || len(p.axes) > 3 || a.D != b.N || b.S != a.N || all > room {
		return batchedCast{}
	}
	c := batchedCast{cut: room / all, count: 1}
	if len(p.axes) == 3 {
		if m := p.inner(2); m.D == all && m.S == all && m.N < limit {
			c.count = m.N
		} else {
			return batchedCast{}
		}
	}
	c.cut = min(c.cut, max(1, c.count/p.target.fewBlocks()))
	n := c.cut * all
	units, pieces := (n+unit-1)/unit, (n+piece-1)/piece
	// Elements along a line that neighbouring work-items read from the same bank.
	stride, meet := unit*a.N*int64(p.sBits)/32, int64(1)
	for meet < 32 && stride%2 == 0 {
		meet, stride = 2*meet, stride/2
	}
	meet = min(meet, b.N/unit)
	each := 42 + 6*unit
	c.cost = cost{
		blocks:       (c.count + c.cut - 1) / c.cut,
		instructions: 60 + 12*((pieces+GroupSize-1)/GroupSize) + each*((units+GroupSize-1)/GroupSize),
		sectors:      touched(1, n*int64(p.sBits)/8, false) + touched(1, n*int64(p.dBits)/8, false),
		passes:       pieces/2 + n*meet/32,
	}
	return c
}

// planBatchedCast plans the cast by whole matrices.
func (p *transposition) planBatchedCast(k *parameters, spec Spec, c batchedCast) error {
	a, b := p.inner(p.near), p.inner(0)
	k.na, k.nb, k.span = uint32(a.N), uint32(b.N), uint32(a.N*b.N)
	k.cut, k.extent = uint32(c.cut), c.count
	k.inner = []axis{{N: b.N}, {N: a.N}}
	if err := k.setOuter(axis{N: (c.count + c.cut - 1) / c.cut}); err != nil {
		return err
	}
	k.groups = spec.groups(k.blocks, 2*p.target.fewBlocks())
	return nil
}
