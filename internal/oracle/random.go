package oracle

import (
	"math/rand/v2"
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/layout"
)

// Limits bounds what Random makes; zero fields mean the defaults.
type Limits struct {
	MaxBytes int64          // from the start of a buffer to either side's end; a string counts 1; 4 MiB
	MaxRank  int            // 12
	Types    []layout.DType // all 26, and Bit
	Ops      []Op           // all; at least one must be possible for Types
	Once     bool           // no two elements of a put that sets go to one place: see Case.Once
}

// class is a kind of layout that has a kernel or fast path.
type class struct {
	weight   int
	ranks    [2]int // lowest and highest
	dims     dims
	dst, src side
	shared   bool
}

// dims is the choice of extents.
type dims int

const (
	mixed  dims = iota
	tiny        // 1 to 4
	edges       // around the sides of tiles
	skinny      // one small, the others long
	digits      // powers of two, except the first
)

// side describes the layout of one side of an operation.
type side struct {
	order          order
	gap, neg, zero float64 // chances for each axis
	pitch          float64 // the chance of a gap at the outermost axis
	crossed        bool    // the two innermost axes interleave, such as 3x2:{2,3}
}

// order is the order of axes in memory.
type order int

const (
	rowMajor order = iota
	swapped        // the last two axes exchanged
	reversed
	shuffled
)

var classes = []class{
	{weight: 3, ranks: [2]int{0, 3}}, // contiguous, at any offset
	{weight: 4, ranks: [2]int{2, 3}, dims: edges, src: side{order: swapped}},
	{weight: 2, ranks: [2]int{2, 3}, dims: edges, dst: side{order: swapped}},
	{weight: 2, ranks: [2]int{2, 3}, dims: skinny, src: side{order: swapped}},
	{weight: 4, ranks: [2]int{2, 6}, src: side{order: shuffled}},
	{weight: 1, ranks: [2]int{2, 6}, dst: side{order: shuffled}},
	{weight: 1, ranks: [2]int{3, 6}, dims: tiny, src: side{order: reversed}},
	{weight: 2, ranks: [2]int{3, 4}, dims: edges, src: side{order: reversed}},
	{weight: 2, ranks: [2]int{3, 5}, dims: edges, dst: side{order: shuffled}, src: side{order: shuffled}},
	{weight: 3, ranks: [2]int{1, 4}, src: side{gap: .5}},
	{weight: 2, ranks: [2]int{1, 4}, dst: side{gap: .5}},
	{weight: 3, ranks: [2]int{1, 4}, src: side{neg: .5}},
	{weight: 1, ranks: [2]int{1, 4}, dst: side{neg: .5}},
	{weight: 3, ranks: [2]int{1, 4}, src: side{zero: .5}},
	{weight: 2, ranks: [2]int{1, 3}, src: side{order: shuffled, zero: .3}, dims: edges},
	{weight: 2, ranks: [2]int{6, 8}, dims: tiny, dst: side{order: shuffled}, src: side{order: shuffled}},
	{weight: 1, ranks: [2]int{9, 12}, dims: tiny, dst: side{order: shuffled, neg: .2}, src: side{order: shuffled, gap: .1, neg: .2, zero: .2}},
	{weight: 3, ranks: [2]int{3, 9}, dims: digits, src: side{order: shuffled, neg: .1, pitch: .3}},
	{weight: 2, ranks: [2]int{3, 9}, dims: digits, dst: side{order: shuffled, pitch: .3}, src: side{neg: .1, pitch: .3}},
	{weight: 1, ranks: [2]int{2, 4}, dst: side{crossed: true}},
	{weight: 2, ranks: [2]int{1, 4}, src: side{order: shuffled, gap: .2}, shared: true},
	{weight: 5, ranks: [2]int{1, 8}, dst: side{order: shuffled, gap: .2, neg: .3}, src: side{order: shuffled, gap: .2, neg: .3, zero: .2}},
}

var edgeDims = []int64{7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257}

// Random makes a case that keeps the rules of device.Queue, except that some takes have indices
// out of range. The same rng state and limits give the same case.
func Random(rng *rand.Rand, limits Limits) Case {
	if limits.MaxBytes <= 0 {
		limits.MaxBytes = 4 << 20
	}
	if limits.MaxRank <= 0 {
		limits.MaxRank = 12
	}
	if len(limits.Types) == 0 {
		limits.Types = append(layout.DTypes(), layout.Bit)
	}
	if len(limits.Ops) == 0 {
		limits.Ops = operations
	}
	g := generator{rng, limits}
	var c Case
	for !slices.Contains(limits.Ops, c.Op) {
		c = Case{}
		g.operation(&c)
	}
	g.limits.MaxBytes = max(limits.MaxBytes, 256) // room for offsets
	k := g.class()
	elements, choose := g.elements(&c, k), func(n int64) bool { return g.layouts(&c, k, n) }
	switch c.Op {
	case OpTake, OpPut:
		g.limits.MaxBytes = max(limits.MaxBytes, 1<<10)
		elements, choose = max(min(g.limits.MaxBytes/16, 1<<12)>>g.IntN(8), 1), func(n int64) bool { return g.indexed(&c, n) }
	case OpMap:
		choose = func(n int64) bool {
			ok := g.layouts(&c, k, n)
			g.mapped(&c)
			return ok
		}
	case OpWhere:
		elements, choose = max(elements/2, 1), func(n int64) bool { return g.where(&c, n) }
	}
	for ; ; elements = max(elements/2, 1) {
		if choose(elements) {
			return c
		}
	}
}

type generator struct {
	*rand.Rand
	limits Limits
}

func (g generator) chance(p float64) bool { return g.Float64() < p }

// between returns a number in [lo, hi].
func (g generator) between(lo, hi int64) int64 { return lo + g.Int64N(hi-lo+1) }

// operation chooses operation and types, often types below a byte, the hard ones.
func (g generator) operation(c *Case) {
	t := g.limits.Types[g.IntN(len(g.limits.Types))]
	narrow := slices.DeleteFunc(slices.Clone(g.limits.Types), func(t layout.DType) bool { return t.Container() == layout.Invalid && t != layout.Bit })
	if len(narrow) > 0 && g.chance(.3) {
		t = narrow[g.IntN(len(narrow))]
	}
	c.Op, c.DstType, c.SrcType = OpCopy, t, t
	if t != layout.Bit && g.chance(.2) {
		c.Op, c.AtType = []Op{OpTake, OpPut}[g.IntN(2)], []layout.DType{layout.Int32, layout.Int64}[g.IntN(2)]
		if g.chance(.1) {
			c.Wrong = 1 + g.IntN(3)
		}
		switch {
		case c.Op == OpPut && device.Reduces(t) && g.chance(.3):
			c.Reduction = device.ReduceAdd + device.Reduction(g.IntN(4))
		case c.Op == OpPut:
			c.Once = g.limits.Once || g.chance(.5)
		}
		return
	}
	if g.chance(.125) && g.scaling(c, t) {
		return
	}
	if t != layout.Bit && g.chance(.12) {
		c.Op = OpWhere
		return
	}
	if narrow, wide := g.widths(2, 8), g.widths(2, 32); len(narrow) > 0 && g.chance(.1) {
		c.Op, c.SrcType, c.DstType = OpMap, narrow[g.IntN(len(narrow))], wide[g.IntN(len(wide))]
		return
	}
	switch container := t.Container(); {
	case container != layout.Invalid && numeric.KindOf(t) != numeric.FloatKind && g.chance(.15):
		c.Op = OpConvert
		if g.chance(.5) {
			c.DstType = container
		} else {
			c.SrcType = container
		}
	case isNumber(t) && g.chance(.25):
		c.Op, c.DstType = OpConvert, g.number()
		if g.chance(.5) {
			c.DstType, c.SrcType = c.SrcType, c.DstType
		}
		c.How = device.Rounding{Unsaturated: g.chance(.3), Scale: device.RoundDirection(g.IntN(3)), Legacy: g.chance(.3)}
	case g.chance(.12):
		c.Op, c.SrcType = OpFill, layout.Invalid
	case g.chance(.25):
		alike := slices.DeleteFunc(slices.Clone(g.limits.Types), func(u layout.DType) bool { return u.Bits() != t.Bits() })
		c.SrcType = alike[g.IntN(len(alike))]
	}
}

// widths lists the types of least to most bits.
func (g generator) widths(least, most int) []layout.DType {
	return slices.DeleteFunc(slices.Clone(g.limits.Types), func(t layout.DType) bool { return t.Bits() < least || t.Bits() > most })
}

// number chooses a type of numbers: one exists.
func (g generator) number() layout.DType {
	for {
		if u := g.limits.Types[g.IntN(len(g.limits.Types))]; isNumber(u) {
			return u
		}
	}
}

func (g generator) class() class {
	sum := 0
	for _, k := range classes {
		sum += k.weight
	}
	n, at := g.IntN(sum), 0
	for ; n >= classes[at].weight; at++ {
		n -= classes[at].weight
	}
	return classes[at]
}

// elements chooses the approximate number of elements of a case: mostly few, sometimes as many
// as the limits allow.
func (g generator) elements(c *Case, k class) int64 {
	most := g.limits.MaxBytes * 8 / int64(max(c.DstType.Bits(), c.SrcType.Bits(), 8))
	usual := int64(1 << 12)
	if k.dims == edges || k.dims == skinny {
		usual = 1 << 15
	} else if k.dims == digits {
		usual = 1 << 18
	}
	if !g.chance(.02) {
		most = min(most, usual)
	}
	return max(most>>g.IntN(8), 1)
}

// layouts chooses extents and layouts; false if they exceed the limits.
func (g generator) layouts(c *Case, k class, elements int64) bool {
	rank := int(g.between(int64(k.ranks[0]), int64(k.ranks[1])))
	shape := g.shape(k.dims, min(rank, g.limits.MaxRank), elements)
	var ok bool
	if c.Dst, ok = g.side(shape, k.dst); !ok {
		return false
	}
	if c.Op == OpFill {
		return g.fits(c.Dst, c.DstType)
	}
	if c.Src, ok = g.side(shape, k.src); !ok {
		return false
	}
	if c.Shared = k.shared; c.Shared && !g.share(c) {
		return false
	}
	if c.scales() && !g.terms(c, shape) {
		return false
	}
	return g.fits(c.Dst, c.DstType) && g.fits(c.Src, c.SrcType)
}

// indexed chooses extents, layouts and indices of a take or a put; false if they exceed
// the limits.
func (g generator) indexed(c *Case, elements int64) bool {
	shape := g.shape(mixed, min(int(g.between(0, 5)), g.limits.MaxRank), elements)
	if g.chance(.03) {
		shape = g.shape(tiny, g.limits.MaxRank, elements)
	}
	fixed, repeats := &c.Dst, .4
	if c.Op == OpPut { // whose source may repeat elements, too, but mostly has each once
		fixed = &c.Src
	}
	var ok bool
	if *fixed, ok = g.side(shape, []side{{}, {}, {order: shuffled, gap: .3, neg: .3}, {crossed: true}}[g.IntN(4)]); !ok {
		return false
	}
	if c.Op == OpPut && g.chance(.2) {
		if *fixed, ok = g.side(shape, side{gap: .2, zero: .3}); !ok {
			return false
		}
	}
	if c.Once {
		repeats = .1
	}
	if *c.moved(), ok = g.side(shape, side{order: []order{rowMajor, shuffled}[g.IntN(2)], gap: .2, neg: .2, zero: repeats}); !ok {
		return false
	}
	// Often, all indices of inner axes are equal: rows are taken.
	at := side{order: shuffled, gap: .2, neg: .2, zero: .3}
	if c.At, ok = g.side(shape, at); !ok {
		return false
	}
	if n := len(shape); n > 0 && g.chance(.5) {
		strides := c.At.Strides()
		for i := g.IntN(n); i < n; i++ {
			strides[i] = 0
		}
		var err error
		if c.At, err = layout.Strided(shape, strides, c.At.Offset()+4096); err != nil {
			return false
		}
	}
	c.By = nil
	for range g.between(1, 3) {
		x := layout.Index{Offset: g.Int64N(20), Extent: g.between(1, 40), Stride: g.between(-20, 40)}
		if g.chance(.4) {
			x.Stride = 16 * g.between(0, 8)
		}
		if c.Once {
			x.OutOfRange = layout.OutOfRangeSkip
			x.Stride *= g.between(1, 20)
		} else if g.chance(.3) {
			x.OutOfRange = layout.OutOfRange(g.IntN(5))
		}
		if g.chance(.02) {
			x.Extent, x.OutOfRange = 0, layout.OutOfRangeSkip
		}
		c.By = append(c.By, x)
	}
	// Indices that walk backwards need room before their target.
	for _, x := range c.By {
		if x.Stride < 0 && x.Extent > 0 {
			if !transform(c.moved(), 1, -x.Stride*(x.Extent-1)) {
				return false
			}
		}
	}
	ofDst, ofSrc, ofAt := c.Sizes()
	return max(ofDst, ofSrc, ofAt) <= g.limits.MaxBytes
}

func (g generator) fits(l layout.Layout, t layout.DType) bool {
	return slots(l, t) <= g.limits.MaxBytes
}

// slots returns the number of bytes of a buffer for a layout, from its start; for strings: the
// number of strings.
func slots(l layout.Layout, t layout.DType) int64 {
	highest := l.Offset()
	for axis := range l.Rank() {
		if l.Dim(axis) == 0 {
			return 0
		}
		if s := l.Stride(axis); s > 0 {
			highest += (l.Dim(axis) - 1) * s
		}
	}
	highest = min(highest, 1<<40) // beyond any buffer, and still far from overflow
	switch b := int64(t.Bits()); {
	case t == layout.String:
		return highest + 1
	case b >= 8:
		return (highest + 1) * (b / 8)
	default:
		return highest/(8/b) + 1
	}
}

func (g generator) shape(how dims, rank int, elements int64) []int64 {
	shape := make([]int64, rank)
	for i := range shape {
		var d int64
		switch {
		case how == tiny:
			d = g.between(1, 4)
		case how == edges:
			d = edgeDims[g.IntN(len(edgeDims))]
		case how == digits && i == rank-1:
			d = max(elements-g.between(0, elements/4), 1)
		case how == digits:
			d = 1 << g.between(1, 4)
		case how == skinny && i > 0:
			d = g.between(1, max(elements, 1))
		case g.chance(.1):
			d = 1
		case g.chance(.5) || how == skinny:
			d = g.between(2, 7)
		case g.chance(.5):
			d = edgeDims[g.IntN(len(edgeDims))]
		default:
			d = g.between(1, elements)
		}
		if d > elements {
			d = g.between(1, elements)
		}
		elements /= d
		shape[i] = d
	}
	if how == digits {
		slices.Reverse(shape)
	} else {
		g.Shuffle(rank, func(i, j int) { shape[i], shape[j] = shape[j], shape[i] })
	}
	if rank > 0 && g.chance(.01) {
		shape[g.IntN(rank)] = 0
	}
	return shape
}

// side lays a shape out; false if no such layout exists.
func (g generator) side(shape []int64, how side) (layout.Layout, bool) {
	axes := make([]int, len(shape)) // outermost first
	for i := range axes {
		axes[i] = i
	}
	switch last := len(axes) - 1; {
	case how.order == swapped && last > 0:
		axes[last], axes[last-1] = axes[last-1], axes[last]
	case how.order == reversed:
		slices.Reverse(axes)
	case how.order == shuffled:
		g.Shuffle(len(axes), func(i, j int) { axes[i], axes[j] = axes[j], axes[i] })
	}

	strides := make([]int64, len(shape))
	offset := g.offset()
	step := int64(1) // beyond everything that inner axes cover
	if n := len(axes); how.crossed && n >= 2 {
		// Strides p and p+1 have no common factor: x*p+y*(p+1) determines x and y if neither
		// reaches the other's stride.
		a, b := axes[n-2], axes[n-1]
		p := max(shape[a], shape[b], 1)
		strides[a], strides[b] = p, p+1
		step = (shape[a]+shape[b])*(p+1) + 1
		axes = axes[:n-2]
	}
	for i := len(axes) - 1; i >= 0; i-- {
		axis := axes[i]
		if g.chance(how.zero) {
			continue // a stride of 0
		}
		if g.chance(how.gap) || i == 0 && g.chance(how.pitch) {
			if g.chance(.5) {
				step *= g.between(2, 4) // a slice with a step
			} else {
				step += g.between(1, 5) // a cropped inner axis
			}
		}
		strides[axis] = step
		if g.chance(how.neg) && shape[axis] > 0 {
			strides[axis] = -step
			offset += (shape[axis] - 1) * step
		}
		step *= max(shape[axis], 1)
		if step > 1<<40 {
			return layout.Layout{}, false
		}
	}
	l, err := layout.Strided(shape, strides, offset)
	return l, err == nil
}

// offset chooses the begin of a side.
func (g generator) offset() int64 {
	switch g.IntN(4) {
	case 0:
		return 0
	case 1:
		return g.between(1, 9)
	case 2:
		return 16 * g.between(1, 8)
	default:
		return g.between(1, 200)
	}
}

// share moves the sides into one buffer without overlap: interleaved element by element, or one
// behind the other; false if impossible.
func (g generator) share(c *Case) bool {
	if c.Op == OpCopy && g.chance(.5) {
		odd := g.Int64N(2)
		return transform(&c.Dst, 2, odd) && transform(&c.Src, 2, 1-odd)
	}
	first, second := &c.Dst, &c.Src
	t, u := c.DstType, c.SrcType
	if g.chance(.5) {
		first, second, t, u = second, first, u, t
	}
	shift := slots(*first, t) + g.Int64N(9)
	switch b := int64(u.Bits()); {
	case b > 8:
		shift = (shift + b/8 - 1) / (b / 8)
	case b > 0:
		shift *= 8 / b
	}
	return transform(second, 1, shift)
}

// transform multiplies all distances of a layout, and adds to its offset.
func transform(l *layout.Layout, times, add int64) bool {
	strides := l.Strides()
	for i := range strides {
		strides[i] *= times
	}
	out, err := layout.Strided(l.Shape(), strides, times*l.Offset()+add)
	*l = out
	return err == nil
}
