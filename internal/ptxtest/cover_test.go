package ptxtest_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/launches"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/internal/plankey"
	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/internal/ptxtest"
	"github.com/restride/restride/internal/soak"
	"github.com/restride/restride/layout"
)

// TestEveryKernel: the PTX of every kernel computes the oracle's result, in cases that are
// generated until the planner chooses the kernel for them.
func TestEveryKernel(t *testing.T) {
	each := 4
	if soak.Enabled() {
		each = 40
	}
	for _, s := range planner.Specs() {
		if s.CPUTarget {
			continue
		}
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			d := ptxtest.New(ptxtest.Options{Diverge: true})
			dev := gpu.New(d)
			defer func() { require.NoError(t, dev.Close()) }()
			q, err := dev.NewQueue()
			require.NoError(t, err)
			defer func() { require.NoError(t, q.Close()) }()
			for seed, c := range find(t, s, each) {
				if s.Wide {
					checkSparse(t, d, dev, c, uint64(seed))
				} else {
					assert.NoError(t, oracle.CheckOn(dev, q, c, uint64(seed)))
					if !s.ManyAxes && !c.Shared && !c.SharedB { // by the same plan
						assert.NoError(t, oracle.CheckOn(dev, q, later(c), uint64(seed)))
					}
				}
			}
			assert.GreaterOrEqual(t, d.Launches()[s], each, "the kernel has hardly run")
		})
	}
}

// find looks for a number of cases of a kernel.
func find(t *testing.T, s planner.Spec, n int) []oracle.Case {
	var all []oracle.Case
	rng := rand.New(rand.NewPCG(1, 2))
	limits := oracle.Limits{MaxBytes: 32 << 10, Types: typesOf(s), Ops: operationsOf(s), Once: true} // otherwise puts are races
	for try := range 50000 {
		var c oracle.Case
		switch {
		case s.Wide:
			c = wide(rng, s)
		case s.ManyAxes:
			c = long(rng, s)
		case s.Periodic:
			c = rows(rng, s)
		case s.Form == planner.TransposedCast, s.Form == planner.ColumnCast, s.Form == planner.BatchedCast:
			c = transposed(rng, s)
		case s.Form == planner.DequantizeCodes, s.Form == planner.Codes, try%2 == 1 && s.Form == planner.Blocks:
			c = blocks(rng, s)
		case s.Form == planner.Picks:
			c = picked(rng, s)
		case try%4 == 3 && s.Form == planner.Join:
			c = joined(rng, s)
		case try%4 == 3 && (s.Form == planner.Take || s.Form == planner.Put):
			c = indexedRows(rng, s)
		case try%4 == 3 && s.Form == planner.Fold && !s.ManyAxes:
			c = folded(rng, s)
		case try%2 == 1 && s.SrcBits == s.DstBits && limits.Ops == nil:
			c = permuted(rng, s)
		default:
			c = oracle.Random(rng, limits)
		}
		if dst, src, _ := c.Sizes(); max(dst, src) > 1<<38 {
			continue
		}
		if l, err := launches.Of(c, planner.Target{}); err != nil || l.Groups == 0 || l.Spec != s || c.Wrong > 0 {
			continue
		}
		if all = append(all, c); len(all) == n {
			return all
		}
	}
	require.Fail(t, "no layouts are planned for it", "%v: %d cases", s, len(all))
	return nil
}

// later is a case with layouts that begin where plans for the case's own still hold.
func later(c oracle.Case) oracle.Case {
	for _, l := range []*layout.Layout{&c.Dst, &c.Src, &c.B, &c.Cond, &c.At} {
		if l.Rank() > 0 {
			moved, err := layout.Strided(l.Shape(), l.Strides(), l.Offset()+plankey.Period)
			if err != nil {
				panic(err)
			}
			*l = moved
		}
	}
	return c
}

// typesOf are the types for which a kernel may be planned: those of its widths or, if it was
// made for types, these.
func typesOf(s planner.Spec) []layout.DType {
	if s.To != 0 || s.From != 0 {
		return []layout.DType{s.To, s.From}
	}
	if s.Computes() && s.Form != planner.Fold { // of any type, to its width
		return slices.DeleteFunc(layout.DTypes(), func(t layout.DType) bool { return t == layout.String || t.Bits() > 32 && t.Bits() != int(s.DstBits) })
	}
	return slices.DeleteFunc(append(layout.DTypes(), layout.Bit), func(t layout.DType) bool {
		narrow := s.Mapped && t.Bits() <= 8 // looked up
		return t == layout.String || t.Bits() != int(s.DstBits) && t.Bits() != int(s.SrcBits) && !narrow
	})
}

// operationsOf are the operations for which a kernel may be planned, if it is special to some;
// otherwise nil.
func operationsOf(s planner.Spec) []oracle.Op {
	switch {
	case s.AtBits > 0:
		return []oracle.Op{oracle.OpTake, oracle.OpPut}
	case s.Mapped:
		return []oracle.Op{oracle.OpMap}
	case s.Form == planner.Where || s.Form == planner.Blend:
		return []oracle.Op{oracle.OpWhere}
	case s.Form == planner.Dequantize || s.Form == planner.DequantizeCodes:
		return []oracle.Op{oracle.OpDequantize}
	case s.Form == planner.Quantize || s.Form == planner.Codes || s.Form == planner.Blocks:
		return []oracle.Op{oracle.OpQuantize}
	}
	return nil
}

// operation is a case with a kernel's operation and types, without layouts.
func operation(rng *rand.Rand, s planner.Spec) oracle.Case {
	for {
		ops := operationsOf(s)
		if ops == nil {
			ops = []oracle.Op{oracle.OpCopy, oracle.OpFill, oracle.OpConvert}
		}
		c := oracle.Random(rng, oracle.Limits{MaxBytes: 256, Types: typesOf(s), Ops: ops, Once: true})
		if c.Shared || c.SharedB || c.Wrong > 0 || c.DstType.Bits() != int(s.DstBits) || c.Terms.FindScale != (s.Form == planner.Blocks) {
			continue
		}
		return oracle.Case{Op: c.Op, DstType: c.DstType, SrcType: c.SrcType, How: c.How, AtType: c.AtType, Reduction: c.Reduction, Once: c.Once, Terms: c.Terms}
	}
}

// long is a case with more axes, or indices, than most kernels' parameters can hold.
func long(rng *rand.Rand, s planner.Spec) oracle.Case {
	c := operation(rng, s)
	axes, indices := 13+rng.IntN(3), 0
	switch {
	case c.AtType != 0: // few elements, each with as many indices as fit
		axes, indices = 4+rng.IntN(6), 20+rng.IntN(10)
	case c.Op == oracle.OpDequantize || c.Op == oracle.OpQuantize: // axes three times
		axes = 11 + rng.IntN(2)
	}
	shape := make([]int64, axes)
	for i := range shape {
		shape[i] = 2
	}
	filled := s.Form == planner.Gather && s.SrcBits == 0
	if filled { // rows, of many chunks
		shape = shape[:13]
		shape[0] = 260 / int64(s.DstBits)
	}
	// Strides that keep all axes separate.
	side := func(repeats int) layout.Layout {
		strides, step := make([]int64, len(shape)), 1+rng.Int64N(2)
		order := rng.Perm(len(shape))
		if filled {
			order[slices.Index(order, 0)], order[0], step = order[0], 0, 1
		}
		for _, axis := range order {
			if rng.IntN(8) < repeats {
				continue
			}
			strides[axis] = step
			step = shape[axis]*step + rng.Int64N(2)
		}
		l, err := layout.Strided(shape, strides, rng.Int64N(20))
		if err != nil {
			panic(err)
		}
		return l
	}
	if c.Dst = side(0); c.Op != oracle.OpFill {
		c.Src = side(rng.IntN(3))
	}
	for _, t := range []*oracle.Term{&c.Terms.Scale, &c.Terms.Zero, &c.Terms.Add} {
		if t.Type != layout.Invalid {
			t.Layout = side(rng.IntN(8))
		}
	}
	if c.Terms.FindScale { // of each block
		l := side(0)
		strides := l.Strides()
		strides[len(strides)-1] = 0
		var err error
		if c.Terms.Scale.Layout, err = layout.Strided(l.Shape(), strides, l.Offset()); err != nil {
			panic(err)
		}
	}
	if c.Op == oracle.OpWhere {
		c.B, c.Cond = side(rng.IntN(3)), side(rng.IntN(4))
	}
	if c.AtType != 0 {
		c.At = side(rng.IntN(4))
		for range indices {
			x := layout.Index{Extent: 1 + rng.Int64N(9), Stride: rng.Int64N(9)}
			if c.Once {
				x.OutOfRange = layout.OutOfRangeSkip
			}
			c.By = append(c.By, x)
		}
	}
	return c
}

// rows is a case of many rows, at any pitch.
func rows(rng *rand.Rand, s planner.Spec) oracle.Case {
	c := operation(rng, s)
	n := int64(100/s.DstBits) + rng.Int64N(800/int64(s.DstBits))
	shape := []int64{1 + rng.Int64N(3), 20 + rng.Int64N(200), n}
	short := s.Form == planner.Stamp // rows that src repeats
	if short {
		n = 2 + rng.Int64N(128/int64(s.DstBits)-3)
		shape[1], shape[2] = 300+rng.Int64N(2000), n
	}
	side := func(step int64) layout.Layout {
		pitch := n + rng.Int64N(2)*rng.Int64N(9)
		strides, offset := []int64{pitch * shape[1], pitch, step}, rng.Int64N(70)
		if step < 0 {
			offset += n - 1
		} else if step == 0 {
			strides[0], strides[1] = shape[1], 1
		}
		l, err := layout.Strided(shape, strides, offset)
		if err != nil {
			panic(err)
		}
		return l
	}
	if c.Dst = side(1); c.Op == oracle.OpFill {
		return c
	}
	step := int64(1)
	switch s.Step {
	case -1:
		step = -1
	case 0:
	default:
		step = 0
	}
	c.Src = side(step)
	if short {
		c.Dst, _ = layout.Contiguous(shape...)
		c.Src, _ = layout.Strided(shape, []int64{n * 3, 0, 1 + rng.Int64N(2)}, rng.Int64N(70))
	}
	return c
}

// blocks is a scaling of dense blocks, each with its terms.
func blocks(rng *rand.Rand, s planner.Spec) oracle.Case {
	c := operation(rng, s)
	for c.SrcType.Bits() != int(s.SrcBits) && s.Form == planner.DequantizeCodes {
		c = operation(rng, s)
	}
	each := 256 / int64(s.DstBits)
	if s.Form == planner.Codes {
		each = 16
	}
	n := each * (1 + rng.Int64N(40))
	if c.Terms.FindScale {
		each, n = 32, 32
	}
	shape := []int64{1 + rng.Int64N(20), 1 + rng.Int64N(5), n}
	apart := int64(3)
	if c.Terms.FindScale && rng.IntN(2) == 0 { // more contiguous blocks than a group has work-items
		shape[0], apart = 60+rng.Int64N(100), 1
	}
	side := func() layout.Layout {
		pitch := n + each*rng.Int64N(apart)
		l, err := layout.Strided(shape, []int64{pitch * shape[1], pitch, 1}, each*rng.Int64N(5))
		if err != nil {
			panic(err)
		}
		return l
	}
	c.Dst, c.Src = side(), side()
	for _, t := range []*oracle.Term{&c.Terms.Scale, &c.Terms.Zero, &c.Terms.Add} {
		if t.Type != layout.Invalid {
			var err error
			strides := []int64{rng.Int64N(9), rng.Int64N(3), 0}
			if c.Terms.FindScale { // a scale for each block
				strides = []int64{shape[1], 1, 0}
			}
			if t.Layout, err = layout.Strided(shape, strides, rng.Int64N(9)); err != nil {
				panic(err)
			}
		}
	}
	return c
}

// transposed are matrices whose sides are dense along different axes.
func transposed(rng *rand.Rand, s planner.Spec) oracle.Case {
	c := operation(rng, s)
	most := int64(100)
	if s.Form == planner.ColumnCast { // more than a tile has
		most = 500
	}
	shape := []int64{1 + rng.Int64N(3), 8 + rng.Int64N(most), 8 + rng.Int64N(most)}
	side := func(strides ...int64) layout.Layout {
		l, err := layout.Strided(shape, strides, rng.Int64N(70))
		if err != nil {
			panic(err)
		}
		return l
	}
	if s.Form == planner.BatchedCast { // matrices that follow each other
		shape = []int64{1 + rng.Int64N(40), 8 + rng.Int64N(40), 8 + rng.Int64N(40)}
		c.Dst, c.Src = side(shape[1]*shape[2], shape[2], 1), side(shape[1]*shape[2], 1, shape[1])
		return c
	}
	wide, high := shape[2]+rng.Int64N(2)*rng.Int64N(20), shape[1]+rng.Int64N(2)*rng.Int64N(20)
	c.Dst, c.Src = side(wide*shape[1], wide, 1), side(high*shape[2], 1, high)
	return c
}

// joined is a case of a few thousand contiguous elements of dst, so that chunks have several
// each, and a block's work-items use what others of it looked up.
func joined(rng *rand.Rand, s planner.Spec) oracle.Case {
	c := operation(rng, s)
	shape := []int64{3 + rng.Int64N(5), 600 + rng.Int64N(800)}
	side := func(steps ...int64) layout.Layout {
		l, err := layout.Strided(shape, steps, rng.Int64N(70))
		if err != nil {
			panic(err)
		}
		return l
	}
	c.Dst, c.Src, c.At = side(shape[1], 1), side(rng.Int64N(9), rng.Int64N(9)), side(rng.Int64N(9), rng.Int64N(9))
	for range 1 + rng.IntN(3) {
		c.By = append(c.By, layout.Index{Extent: 1 + rng.Int64N(40), Stride: rng.Int64N(99)})
	}
	return c
}

// picked is a take of single elements, by contiguous indices, some out of range.
func picked(rng *rand.Rand, s planner.Spec) oracle.Case {
	c := operation(rng, s)
	for c.Op != oracle.OpTake {
		c = operation(rng, s)
	}
	shape := []int64{1 + rng.Int64N(20), 64 + rng.Int64N(200)}
	side := func(steps ...int64) layout.Layout {
		l, err := layout.Strided(shape, steps, rng.Int64N(2)*rng.Int64N(70))
		if err != nil {
			panic(err)
		}
		return l
	}
	c.Dst, c.Src, c.At = side(shape[1]+rng.Int64N(9), 1), side(rng.Int64N(9), rng.Int64N(3)), side(shape[1]+rng.Int64N(9), 1)
	for range 1 + rng.IntN(2) {
		c.By = append(c.By, layout.Index{Extent: 1 + rng.Int64N(40), Stride: rng.Int64N(99), OutOfRange: layout.OutOfRange(rng.IntN(5))})
	}
	return c
}

// indexedRows is a take or a put of rows of several blocks, so that a group's work-items look
// up rows of a block while others may still read the previous block's.
func indexedRows(rng *rand.Rand, s planner.Spec) oracle.Case {
	c := operation(rng, s)
	shape := []int64{20 + rng.Int64N(20), 150 + rng.Int64N(50)}
	side := func(steps ...int64) layout.Layout {
		l, err := layout.Strided(shape, steps, rng.Int64N(70))
		if err != nil {
			panic(err)
		}
		return l
	}
	fixed, moved := side(shape[1], 1), side(0, 2) // join's, if it were dense
	c.Dst, c.Src, c.At = fixed, moved, side(1, 0)
	x := layout.Index{Extent: 2 * shape[0], Stride: 2 * shape[1]}
	if c.Op == oracle.OpPut {
		c.Dst, c.Src = moved, fixed
	}
	if c.Once {
		x.OutOfRange = layout.OutOfRangeSkip
	}
	c.By = []layout.Index{x}
	return c
}

// folded is a put of so many elements to few places that items share places.
func folded(rng *rand.Rand, s planner.Spec) oracle.Case {
	c := operation(rng, s)
	for c.Reduction == device.ReduceSet {
		c = operation(rng, s)
	}
	var err error
	if c.Dst, err = layout.Strided([]int64{3000, 2}, []int64{0, 1}, rng.Int64N(9)); err != nil {
		panic(err)
	}
	c.Src, c.At = c.Dst, c.Dst
	c.By = []layout.Index{{Extent: 1 + rng.Int64N(99), Stride: 2}}
	return c
}

// permuted is a case of many short axes, mostly of two elements or powers of two, in another
// order in src.
func permuted(rng *rand.Rand, s planner.Spec) oracle.Case {
	c := operation(rng, s)
	shape, elements := make([]int64, 2+rng.IntN(5)), int64(1)
	for i := range shape {
		shape[i] = 1 << (1 + rng.IntN(6))
		if rng.IntN(8) == 0 {
			shape[i] += rng.Int64N(shape[i])
		}
		if elements*shape[i] > 1<<15 {
			shape[i] = 2
		}
		elements *= shape[i]
	}
	side := func(order []int) layout.Layout {
		strides, step := make([]int64, len(shape)), int64(1)
		for _, axis := range order {
			strides[axis] = step
			step *= shape[axis]
		}
		l, err := layout.Strided(shape, strides, 64*rng.Int64N(3)+rng.Int64N(1+rng.Int64N(64)))
		if err != nil {
			panic(err)
		}
		return l
	}
	order := rng.Perm(len(shape))
	if c.Dst = side(order); c.Op != oracle.OpFill {
		// Mostly the outermost axis stays where it is.
		inner := order[:len(order)-rng.IntN(2)]
		rng.Shuffle(len(inner), func(i, j int) { inner[i], inner[j] = inner[j], inner[i] })
		c.Src = side(order)
	}
	return c
}
