package cpu

import (
	"sync"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/simd"
	"github.com/restride/restride/layout"
)

// quantizeBlocks is Quantize with computed scales.
func (q *queue) quantizeBlocks(op string, check func() error, dst, src, scale *device.Operand) error {
	if err := q.begin(op); err != nil {
		return err
	}
	defer q.end()
	if err := check(); err != nil {
		return err
	}
	operands := [blockSides]*device.Operand{dst, src, scale}
	var regions [blockSides]region
	for i, o := range operands {
		var err error
		if regions[i], err = q.use(op, [blockSides]string{"dst", "src", "scale"}[i], o.Buffer); err != nil {
			return err
		}
	}
	if dst.Layout.Count() == 0 {
		return nil
	}
	b := blocksPool.Get().(*blocks)
	if err := b.load(&operands, &regions); err != nil {
		b.release()
		return err
	}
	return q.do(op, b, regions[:]...)
}

const blockSides = sideScale + 1

// blocks is a Quantize with computed scales, ready to run: loops over the axes of blocks,
// innermost last.
type blocks struct {
	code     *blockCode
	operands [blockSides]scaled
	origin   [blockSides]int64
	axes     []blockAxis
	n        int64             // per block
	step     [blockSides]int64 // between elements
	count    int64             // of blocks
	bytes    int64
	share    share
}

type blockAxis struct {
	n  int64
	by [blockSides]int64
}

var blocksPool = sync.Pool{New: func() any { return new(blocks) }}

func (b *blocks) release() {
	for i := range b.operands {
		b.operands[i].base = nil
	}
	blocksPool.Put(b)
}

// load takes checked operands that have elements.
func (b *blocks) load(operands *[blockSides]*device.Operand, regions *[blockSides]region) error {
	var outer [blockSides]layout.Layout
	var all [blockSides]*layout.Layout
	last := operands[sideDst].Layout.Rank() - 1
	for i, o := range operands {
		l := &o.Layout
		b.operands[i].dtype, b.operands[i].base, b.operands[i].is = o.Type, regions[i].base, numbers[o.Type]
		b.n, b.step[i] = l.Dim(last), l.Stride(last)
		var err error
		if outer[i], err = layout.Strided(l.Shape()[:last], l.Strides()[:last], l.Offset()); err != nil {
			return err
		}
		all[i] = &outer[i]
	}
	layout.Simplify(all[:]...)
	b.count, b.axes = outer[sideDst].Count(), b.axes[:0]
	b.bytes = (b.count*b.n*int64(b.operands[sideDst].is.bits) + 7) / 8
	b.code = blockCodes[b.operands[sideDst].dtype]
	for i := range outer {
		b.origin[i] = outer[i].Offset()
	}
	for k := range outer[sideDst].Rank() {
		a := blockAxis{n: outer[sideDst].Dim(k)}
		for i := range outer {
			a.by[i] = outer[i].Stride(k)
		}
		b.axes = append(b.axes, a)
	}
	if len(b.axes) == 0 {
		b.axes = append(b.axes, blockAxis{n: 1})
	}
	return nil
}

func (b *blocks) perform(sc *scratch) (int64, error) {
	b.execute(sc)
	return b.bytes, nil
}

// execute runs it and returns when it is done.
func (b *blocks) execute(sc *scratch) {
	cost := 4 * b.count * b.n
	n := parallelism(b.count, cost)
	if bits := int(b.operands[sideDst].is.bits); bits < 8 && !b.separable(bits) {
		n = 1
	}
	if n == 1 {
		b.part(0, b.count, sc)
		return
	}
	b.share.work, b.share.units = b, b.count
	b.share.grain = (grainOf(b.count, cost, n) + 63) &^ 63
	allWorkers.run(&b.share, n-1, sc)
}

// separable reports whether codes below a byte share no byte between groups of 64 blocks.
func (b *blocks) separable(bits int) bool {
	outer := len(b.axes)
	return separable(b.origin[sideDst], bits, outer+1, func(k int) (n, step int64) {
		if k == outer {
			return b.n, b.step[sideDst]
		}
		return b.axes[k].n, b.axes[k].by[sideDst]
	})
}

// part does the blocks with the numbers [lo, hi).
func (b *blocks) part(lo, hi int64, sc *scratch) {
	p := piece{sc: sc, values: floatsOf(&sc.values, castPiece)}
	if sc.terms == nil {
		sc.terms = new(simd.Terms)
	}
	last := &b.axes[len(b.axes)-1]
	var scales converter // from the computed scales
	p.in.set(layout.Float32, b.operands[sideSrc].dtype, plain, 1, b.step[sideSrc])
	p.out.set(b.code.codes, layout.Float32, plain, b.step[sideDst], 1)
	scales.set(b.operands[sideScale].dtype, layout.Float32, plain, last.by[sideScale], 1)
	p.in.src, p.out.dst, p.out.past = b.operands[sideSrc].base, b.operands[sideDst].base, streams(b.bytes)
	scales.dst = b.operands[sideScale].base
	p.in.dst, p.out.src, scales.src = pointerTo(p.values), pointerTo(p.values), unsafe.Pointer(&sc.terms.Add)
	joined := last.by[sideDst] == b.n*b.step[sideDst] && last.by[sideSrc] == b.n*b.step[sideSrc]
	for lo < hi {
		at, some := b.spot(lo), int64(1)
		if joined && b.n <= castPiece { // consecutive blocks, converted at once
			some = min(castPiece/b.n, hi-lo, last.n-lo%last.n)
		}
		if b.n > castPiece {
			b.long(&p, &at)
		} else {
			p.in.convert(0, at[sideSrc], some*b.n, sc)
			b.encode(&p, p.values[:some*b.n])
			p.out.convert(at[sideDst], 0, some*b.n, sc)
		}
		scales.convert(at[sideScale], 0, some, sc)
		lo += some
	}
	p.out.fence()
}

// encode replaces the numbers of some blocks by their codes, and stores the scales as the added
// terms.
func (b *blocks) encode(p *piece, values []float32) {
	t, lined, terms := p.sc.terms, b.n%lineFloats == 0, b.n
	if lined {
		terms /= lineFloats
	}
	found := lined && kernels.BoundFloat != nil
	if found {
		first := (*byte)(pointerTo(values))
		kernels.BoundFloat(first, first, int64(len(values)/lineFloats), termsOf(p), false)
	}
	for i := range int64(len(values)) / b.n {
		var x, factor float32
		if block := values[i*b.n:][:b.n]; found {
			x = largestOf(block, t.Zero[2*i*terms:][:2*terms])
		} else {
			x = largest(block, 0, true)
		}
		t.Add[i], factor = b.code.scale(x)
		fill(t.Scale[i*terms:][:terms], factor)
	}
	b.code.code(p, values, lined)
}

// largestOf is largest, with the values that BoundFloat found in a block's lines.
func largestOf(block, found []float32) float32 {
	most, least := found[0], found[1]
	for i := 2; i < len(found); i += 2 {
		most, least = max(most, found[i]), min(least, found[i+1])
	}
	switch {
	case most > -least:
		return most
	case most < -least:
		return least
	}
	i := 0
	for block[i] != most && block[i] != least { // the first of both, or of zeros
		i++
	}
	return block[i]
}

// long encodes a block that is longer than a piece, and reads it twice.
func (b *blocks) long(p *piece, at *[blockSides]int64) {
	x, t := float32(0), p.sc.terms
	for done := int64(0); done < b.n; done += castPiece {
		m := min(b.n-done, castPiece)
		p.in.convert(0, at[sideSrc]+done*b.step[sideSrc], m, p.sc)
		x = largest(p.values[:m], x, done == 0)
	}
	scale, factor := b.code.scale(x)
	t.Add[0] = scale
	fill(t.Scale[:linesFor(castPiece)], factor)
	for done := int64(0); done < b.n; done += castPiece {
		m := min(b.n-done, castPiece)
		p.in.convert(0, at[sideSrc]+done*b.step[sideSrc], m, p.sc)
		bound(p.values[:m])
		b.code.code(p, p.values[:m], true)
		p.out.convert(at[sideDst]+done*b.step[sideDst], 0, m, p.sc)
	}
}

// spot returns where a block lies on all sides.
func (b *blocks) spot(number int64) [blockSides]int64 {
	at := b.origin
	for k := len(b.axes) - 1; k >= 0; k-- {
		a := &b.axes[k]
		x := number % a.n
		number /= a.n
		for i := range at {
			at[i] += x * a.by[i]
		}
	}
	return at
}
