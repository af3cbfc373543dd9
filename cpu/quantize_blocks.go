package cpu

import (
	"sync"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// quantizeBlocks is Quantize where scales are found.
func (q *Queue) quantizeBlocks(op string, check func() error, dst, src, scale *device.Operand) error {
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
	if err := q.hold(op, regions[:]...); err != nil {
		return err
	}
	defer q.letGo(regions[:]...)
	if dst.Layout.Count() == 0 {
		return nil
	}
	b := blocksPool.Get().(*blocks)
	defer b.drop()
	if err := b.load(&operands, &regions); err != nil {
		return err
	}
	b.execute(&q.sc)
	q.launched(b.bytes)
	return nil
}

const blockSides = sideScale + 1

// blocks is a Quantize that finds scales, made ready to run: loops over the axes of blocks,
// the innermost last.
type blocks struct {
	code     blockCode
	operands [blockSides]scaled
	origin   [blockSides]int64
	axes     []blockAxis
	n        int64             // elements of a block
	step     [blockSides]int64 // from one to the next
	count    int64             // of blocks
	bytes    int64
	share    share
}

type blockAxis struct {
	n  int64
	by [blockSides]int64
}

var blocksPool = sync.Pool{New: func() any { return new(blocks) }}

func (b *blocks) drop() {
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

// separable reports whether codes below a byte, of 64 blocks at a time, share no byte.
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
	var in, out job // conversions from src, and to dst
	in.convert(layout.Float32, b.operands[sideSrc].dtype, plain)
	out.convert(b.operands[sideDst].dtype, layout.Float32, plain)
	in.src, in.b = b.operands[sideSrc].base, axis{d: 1, s: b.step[sideSrc]}
	out.dst, out.b, out.bytes = b.operands[sideDst].base, axis{d: b.step[sideDst], s: 1}, b.bytes
	values := floatsOf(&sc.values, castPiece)
	in.dst, out.src = pointerTo(values), pointerTo(values)
	last := &b.axes[len(b.axes)-1]
	joined := last.by[sideDst] == b.n*b.step[sideDst] && last.by[sideSrc] == b.n*b.step[sideSrc]
	for lo < hi {
		at := b.spot(lo)
		if b.n > castPiece {
			b.long(&in, &out, values, &at, sc)
			lo++
			continue
		}
		some := int64(1)
		if joined { // blocks that follow each other, converted at once
			some = min(castPiece/b.n, hi-lo, last.n-lo%last.n)
		}
		in.valueRow(0, at[sideSrc], some*b.n, sc)
		for i := range some {
			block := values[i*b.n:][:b.n]
			scale, factor := b.code.scale(largest(block, 0, true))
			b.code.codes(block, factor)
			b.operands[sideScale].set(at[sideScale]+i*last.by[sideScale], scale)
		}
		out.valueRow(at[sideDst], 0, some*b.n, sc)
		lo += some
	}
	out.settle()
}

// long is part for a block that is longer than a piece: it is read twice.
func (b *blocks) long(in, out *job, values []float32, at *[blockSides]int64, sc *scratch) {
	x := float32(0)
	for done := int64(0); done < b.n; done += castPiece {
		m := min(b.n-done, castPiece)
		in.valueRow(0, at[sideSrc]+done*b.step[sideSrc], m, sc)
		x = largest(values[:m], x, done == 0)
	}
	scale, factor := b.code.scale(x)
	for done := int64(0); done < b.n; done += castPiece {
		m := min(b.n-done, castPiece)
		in.valueRow(0, at[sideSrc]+done*b.step[sideSrc], m, sc)
		bound(values[:m])
		b.code.codes(values[:m], factor)
		out.valueRow(at[sideDst]+done*b.step[sideDst], 0, m, sc)
	}
	b.operands[sideScale].set(at[sideScale], scale)
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
