package cpu

import (
	"sync"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/layout"
)

// Dequantize sets the elements of dst to (src - zero) * scale + add.
func (q *queue) Dequantize(dst, src device.Operand, by device.Scaling) error {
	const op = "Dequantize"
	check := func() error { return backend.CheckDequantize(&dst, &src, &by) }
	return q.scale(op, check, [sideCount]*device.Operand{&dst, &src, &by.Scale, &by.Zero, &by.Add}, func(c *scaling) {
		c.quantizes, c.subtract, c.how = false, by.Subtract, plain
	})
}

// Quantize sets the elements of dst to round(src / scale) + zero.
func (q *queue) Quantize(dst, src device.Operand, by device.Quantization) error {
	const op = "Quantize"
	check := func() error { return backend.CheckQuantize(&dst, &src, &by) }
	if by.FindScale {
		return q.quantizeBlocks(op, check, &dst, &src, &by.Scale)
	}
	return q.scale(op, check, [sideCount]*device.Operand{&dst, &src, &by.Scale, &by.Zero, nil}, func(c *scaling) {
		c.quantizes, c.precision, c.how = true, by.Precision, device.Rounding{Unsaturated: by.Unsaturated}
	})
}

// The sides of a call that scales.
const (
	sideDst = iota
	sideSrc
	sideScale
	sideZero
	sideAdd
	sideCount
)

// scale checks, prepares and executes a call.
func (q *queue) scale(op string, check func() error, operands [sideCount]*device.Operand, prepare func(*scaling)) error {
	if err := q.begin(op); err != nil {
		return err
	}
	defer q.end()
	if err := check(); err != nil {
		return err
	}
	var regions [sideCount]region
	for i, o := range operands {
		if o == nil || o.Buffer == nil {
			continue
		}
		var err error
		if regions[i], err = q.use(op, [sideCount]string{"dst", "src", "scale", "zero", "add"}[i], o.Buffer); err != nil {
			return err
		}
	}
	if operands[sideDst].Layout.Count() == 0 {
		return nil
	}
	c := scalings.Get().(*scaling)
	prepare(c)
	c.load(&operands, &regions)
	return q.do(op, c, regions[:]...)
}

// scaling is a Dequantize or a Quantize ready to run: loops over axes, innermost last. Elements
// are converted through 32-bit floats, a piece at a time.
type scaling struct {
	operands  [sideCount]scaled
	how       device.Rounding // to dst
	quantizes bool
	subtract  bool         // for a dequantization
	whole     bool         // its difference or sum is of integers that floats cannot represent
	uniform   bool         // the terms are the same along the innermost axis
	line      int64        // elements of a line, if all lines are whole with uniform terms; or 0
	chooses   bool         // lines are looked up in tables of the results for codes of few bits
	piece     int64        // the most elements of a piece
	precision layout.DType // for a quantization

	origin [sideCount]int64
	rank   int
	axes   [maxAxes]scaleAxis
	length int64 // of a run: the innermost axes along which dst and src are dense
	count  int64 // of elements
	bytes  int64
	share  share
}

type scaleAxis struct {
	n  int64
	by [sideCount]int64
}

// scaled is an operand of a scaling; without a type it is absent.
type scaled struct {
	dtype  layout.DType
	base   unsafe.Pointer
	is     *number
	values [256]float32 // for a type of at most 8 bits
}

var scalings = sync.Pool{New: func() any { return new(scaling) }}

func (c *scaling) release() {
	for i := range c.operands {
		c.operands[i].dtype, c.operands[i].base, c.operands[i].is = layout.Invalid, nil, nil
	}
	scalings.Put(c)
}

// load takes checked operands that have elements.
func (c *scaling) load(operands *[sideCount]*device.Operand, regions *[sideCount]region) {
	var layouts [sideCount]layout.Layout
	var all [sideCount]*layout.Layout
	dst := operands[sideDst]
	for i, o := range operands {
		if all[i] = &layouts[i]; o == nil || o.Buffer == nil {
			layouts[i], _ = layout.Strided(dst.Layout.Shape(), make([]int64, dst.Layout.Rank()), 0) // of a valid shape
			continue
		}
		layouts[i] = o.Layout
		x := &c.operands[i]
		if x.dtype, x.base, x.is = o.Type, regions[i].base, numbers[o.Type]; x.is.bits <= 8 && i >= sideScale || x.is.bits <= 4 {
			x.tabulate()
		}
	}
	c.bytes = (dst.Layout.Count()*int64(dst.Type.Bits()) + 7) / 8
	layout.Simplify(all[:]...)
	d := all[sideDst]
	c.count, c.rank = d.Count(), d.Rank()
	for i := range all {
		c.origin[i] = all[i].Offset()
	}
	for k := range c.rank {
		c.axes[k].n = d.Dim(k)
		for i := range all {
			c.axes[k].by[i] = all[i].Stride(k)
		}
	}
	if c.rank == 0 {
		c.rank, c.axes[0] = 1, scaleAxis{n: 1}
	}
	c.plan()
	c.length = c.axes[c.rank-1].n
	if in := &c.axes[c.rank-1].by; in[sideDst] != 1 || in[sideSrc] != 1 {
		return
	}
	for k := c.rank - 2; k >= 0 && c.axes[k].by[sideDst] == c.length && c.axes[k].by[sideSrc] == c.length; k-- {
		c.length *= c.axes[k].n
	}
}

func (c *scaling) perform(sc *scratch) (int64, error) {
	c.execute(sc)
	return c.bytes, nil
}

// execute runs the scaling and returns when it is done.
func (c *scaling) execute(sc *scratch) {
	cost := max(c.bytes, 2*c.count)
	n := parallelism(c.count, cost)
	bits := int(c.operands[sideDst].is.bits)
	if bits < 8 && !separable(c.origin[sideDst], bits, c.rank, func(k int) (n, step int64) { return c.axes[k].n, c.axes[k].by[sideDst] }) {
		n = 1
	}
	if n == 1 {
		c.part(0, c.count, sc)
		return
	}
	c.share.work, c.share.units = c, c.count
	c.share.grain = (grainOf(c.count, cost, n) + 63) &^ 63
	allWorkers.run(&c.share, n-1, sc)
}

// part does the elements with the numbers [lo, hi).
func (c *scaling) part(lo, hi int64, sc *scratch) {
	var index [maxAxes]int64
	p, last := piece{at: c.origin, sc: sc}, c.rank-1
	move := func(k int, by int64) {
		for i := range p.at {
			p.at[i] += by * c.axes[k].by[i]
		}
	}
	for k, rest := last, lo; k >= 0; k-- {
		index[k] = rest % c.axes[k].n
		rest /= c.axes[k].n
		move(k, index[k])
	}
	c.begin(&p, hi-lo)
	for lo < hi {
		n := min(hi-lo, c.length-lo%c.length, c.piece)
		d := p.at[sideDst]
		c.read(&p, n)
		for done := int64(0); done < n; {
			m, k, count := min(n-done, c.axes[last].n-index[last]), last, int64(0)
			if m == c.axes[last].n && last > 0 { // a row, or several consecutive rows
				if k, count = last-1, 1; c.line > 0 {
					count = min((n-done)/m, c.axes[last-1].n-index[last-1])
				}
			}
			rows := max(count, 1)
			if c.line > 0 {
				c.note(&p, rows, m)
			} else {
				c.scaleRow(&p, done, m)
			}
			done += rows * m
			if count == 0 {
				count = m
			}
			index[k] += count
			move(k, count)
			for ; k > 0 && index[k] == c.axes[k].n; k-- { // the next index over the outer axes
				move(k, -index[k])
				index[k] = 0
				index[k-1]++
				move(k-1, 1)
			}
		}
		c.write(&p, d, n)
		lo += n
	}
	p.out.fence()
	for i := range sc.conversions { // they outlive the buffers
		sc.conversions[i].drop()
	}
}

// converter is a conversion with its own memory.
type converter struct {
	conversion
	ends
}

// set configures a conversion between elements at the given steps.
func (c *converter) set(dst, src layout.DType, how device.Rounding, d, s int64) {
	c.conversion = conversion{dBits: dst.Bits(), sBits: src.Bits(), d: d, s: s}
	c.clipLo, c.clipHi = 0, 1<<63-1
	if dst != src {
		c.cast = casterOf(dst, src, how)
	}
}

// convert is castRow, or a copy if both sides are 32-bit floats.
func (c *converter) convert(d, s, n int64, sc *scratch) {
	switch {
	case c.cast != nil:
		c.castRow(&c.ends, d, s, n, sc)
	case c.d == 1 && c.s == 1:
		copy(span(c.dst, 4*d, 4*n), span(c.src, 4*s, 4*n))
	default:
		moveRow(c.dst, c.src, 4*d, 4*s, axis{N: n, D: 4 * c.d, S: 4 * c.s}, 32)
	}
}

// floatsOf returns space for floats.
func floatsOf(b *[]byte, n int64) []float32 {
	return unsafe.Slice((*float32)(room(b, 4*n)), n)
}
