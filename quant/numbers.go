package quant

import (
	"cmp"
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// numbers is a format of the numbers that codes represent, in a checkpoint type; "": the
// type in the source's own definition.
func numbers(name, about, typ string) *Format {
	return &Format{
		Name:     name,
		About:    about,
		suffix:   ".weight",
		anyCodes: true,
		numbers:  true,
		arrays: func(p Params) []array {
			order := ggufLead(p) + " k"
			if p.Transposed {
				order = "e | k | n"
			}
			return []array{dense(values, ".weight", p.Type, order, bitsOf(p.Type))}
		},
		bits: func(t Tensor) []int64 { return []int64{bitsOf(t.Type)} },
		params: func(_ Params, t Tensor, _ extents) (Params, error) {
			if d := dtypeOf(t.Type); d != layout.Float16 && d != layout.BFloat16 && d != layout.Float32 && d != layout.Float64 || typ != "" && t.Type != typ {
				return Params{}, layout.Errorf(layout.ErrInvalid, name, "tensor %s of type %s", quote.Name(t.Name), t.Type)
			}
			if slices.Contains(t.Dims, 0) {
				return Params{}, layout.Errorf(layout.ErrInvalid, name, "tensor %s of shape %v has no numbers", quote.Name(t.Name), layout.Shape(t.Dims))
			}
			return Params{Bits: bitsOf(t.Type), details: details{Type: t.Type, Batch: len(t.Dims) == 3}}, nil
		},
		accept: func(f *Format, p Params, _ extents) (Params, error) {
			p.Type = typ
			return p, nil
		},
	}
}

var (
	floats    = numbers("float", "the numbers themselves: float32, of GPTQ's and AWQ's weights float64", "")
	floats32  = numbers("float32", "the numbers themselves, as float32", "F32")
	floats16  = numbers("float16", "the numbers themselves, as float16", "F16")
	bfloats16 = numbers("bfloat16", "the numbers themselves, as bfloat16", "BF16")
)

// planNumbers plans the numbers that codes represent: (code - zero) * scale + minimum. All
// operands are first moved to plain order.
func (w *Weight) planNumbers(out *Weight) (*Plan, error) {
	f, p := out.Format, w.Params
	if w.Format.numbers {
		return nil, f.refuse("the weight has numbers already")
	}
	if p.Flat || !w.has(scales) && !w.has(superScales) && p.ScaleAxes != unscaled {
		return nil, f.refuse("codes without scales, or of a matrix whose shape is not known")
	}
	if p.Sidecar.Rows > 0 && p.Sidecar.Numbers == "" {
		return nil, f.refuse("the tensor compute_dtype is not there, which says how the weight's numbers are rounded")
	}
	if out.Params.Type == "" {
		out.Params.Type = cmp.Or(p.Sidecar.Numbers, "F32")
		if w.Format.wide {
			out.Params.Type = "F64"
		}
	}
	// Transformers has experts as [E, in, out]; the numbers themselves lie as their codes do.
	out.Params.Transposed = strings.HasPrefix(w.Format.suffix, "_") && f != floats
	a := f.arrays(out.Params)[0]
	if suffix := w.arrays[0].suffix; suffix == "" || strings.HasPrefix(suffix, "_") {
		a.suffix = "" // the codes' name is the matrix's name with a suffix, or that name
	}
	out.ext = maps.Clone(w.ext)
	if p.Sidecar.Rows > 0 {
		out.ext[axisN] = p.Sidecar.Rows
	}
	dims, err := a.dims(out.ext)
	if err != nil {
		return nil, err
	}
	if n := p.Sidecar.Outputs; n > 0 && dims[0]*dims[1]%n == 0 { // pieces have other shapes
		dims = []int64{n, dims[0] * dims[1] / n}
	}
	out.arrays, out.Tensors = []array{a}, []Tensor{{Name: joined(out.Name, a.suffix), Type: a.typ, Dims: dims}}
	plan := &Plan{From: w, To: out, groupRatio: 1}
	params := p
	params.Sorted = false
	plan.plain, err = w.plan(&Weight{Name: w.Name, Format: plain, Params: params}, plainArrays(w))
	return plan, err
}

// plain is the order in which numbers are computed: rows of n, with element sizes that are
// powers of two in bits.
var plain = &Format{Name: "numbers", anyCodes: true}

// plainArrays returns the arrays of a weight in plain order.
func plainArrays(w *Weight) (out []array) {
	straight := w.Params
	straight.Head = 0
	lead := strings.ReplaceAll(ggufLead(straight), "|", " ")
	add := func(r role, order string) {
		if w.has(r) && (r != zeros || w.Params.Zeros) {
			bits := w.bits(r)
			pitch := int64(2)
			for pitch < bits {
				pitch *= 2
			}
			if r == gridIndex || r == signIndex {
				pitch = 32 // of an index
			}
			a := array{unwritten + r.String(), "U8", order, pitch, []slot{{role: r, order: order, pitch: pitch, bits: bits}}}
			if r == codes {
				a = signed(a, w.Params)
			}
			out = append(out, a)
		}
	}
	add(codes, lead+"k")
	add(gridIndex, lead+"j")
	add(signIndex, lead+"q")
	if w.Params.Blocks == "IQ1_S" {
		add(deltas, lead+"g")
	} else {
		add(deltas, lead+"q")
	}
	ofGroups := lead + "g"
	switch {
	case w.Params.Sidecar.ByColumn:
		ofGroups = "k"
	case w.Format == fp8:
		ofGroups = w.Params.scaleOrder()
	case w.Format == llmInt8:
		ofGroups = "n"
	}
	for _, r := range []role{scales, zeros, mins, floatZeros} {
		add(r, ofGroups)
	}
	if w.Params.Sidecar.Nested {
		add(superScales, "b")
		add(scaleNumbers, "c")
		return out
	}
	add(superScales, lead+"s")
	add(superMins, lead+"s")
	add(tensorScale, "")
	add(tensorDivisor, "")
	add(groups, "k")
	return out
}

// runNumbers is Run for a plan of numbers.
func (p *Plan) runNumbers(s *tensor.Stream, src Memory, at int64) (dst Memory, err error) {
	have, err := p.plain.run(s, src, at)
	if err != nil {
		return nil, err
	}
	c := &computation{stream: s, weight: p.plain.To, offset: p.From.offset, have: have}
	defer func() { err = errors.Join(err, c.release()) }()
	t := p.To.Tensors[0]
	out, err := tensor.Empty(s, layout.Uint8, t.bytes(p.To.arrays[0]))
	if err != nil {
		return nil, err
	}
	dst = Memory{t.Name: out}
	if p.To.Params.Transposed {
		err = c.runTransposed(out, dtypeOf(t.Type))
	} else {
		err = c.run(out, dtypeOf(t.Type))
	}
	if err != nil {
		return nil, errors.Join(err, dst.Release())
	}
	return dst, nil
}

// computation computes the numbers of a weight in plain order.
type computation struct {
	stream *tensor.Stream
	weight *Weight
	offset float32 // of scales that are codes
	have   Memory
	made   []*tensor.Tensor // to be released
	err    error            // the first one
}

func (c *computation) release() error {
	var all []error
	for _, t := range c.made {
		all = append(all, t.Release())
	}
	return errors.Join(append(all, c.have.Release())...)
}

// keep registers t for release.
func (c *computation) keep(t *tensor.Tensor, err error) *tensor.Tensor {
	if t != nil {
		c.made = append(c.made, t)
	}
	if c.err == nil {
		c.err = err
	}
	return t
}

// of returns a role's numbers with a type and a shape, nil if there are none.
func (c *computation) of(r role, t layout.DType, dims ...int64) *tensor.Tensor {
	for i, a := range c.weight.arrays {
		if a.has(r) && c.err == nil {
			l, err := layout.Contiguous(dims...)
			if err != nil {
				return c.keep(nil, err)
			}
			return c.keep(tensor.BorrowBuffer(c.stream, c.have[c.weight.Tensors[i].Name].Buffer(), t, l))
		}
	}
	return nil
}

// scaled returns numbers times a scale.
func (c *computation) scaled(x, scale, zero *tensor.Tensor) *tensor.Tensor {
	if c.err != nil || x == nil {
		return nil
	}
	return c.keep(x.Dequantize(layout.Float32, tensor.Scaling{Scale: scale, Zero: zero}))
}

// one returns a single number for all elements.
func one[T layout.Element](c *computation, n T) *tensor.Tensor {
	return c.keep(tensor.FromSlice(c.stream, []T{n}, 1))
}

// runTransposed computes numbers in an order with n innermost.
func (c *computation) runTransposed(dst *tensor.Tensor, to layout.DType) error {
	ext := c.weight.ext
	e, rows, k := ext[axisE], ext[axisN], ext[axisK]
	x := c.keep(tensor.Empty(c.stream, layout.Uint8, dst.Count()))
	if c.err != nil {
		return c.err
	}
	if err := c.run(x, to); err != nil {
		return err
	}
	view := func(of *tensor.Tensor, strides ...int64) *tensor.Tensor {
		l, err := layout.Strided([]int64{e, rows, k}, strides, 0)
		if err != nil {
			return c.keep(nil, err)
		}
		return c.keep(tensor.BorrowBuffer(c.stream, of.Buffer(), to, l))
	}
	from, out := view(x, rows*k, k, 1), view(dst, rows*k, 1, rows)
	if c.err != nil {
		return c.err
	}
	return out.CopyFrom(from)
}

func (c *computation) run(dst *tensor.Tensor, to layout.DType) error {
	p, ext := c.weight.Params, c.weight.ext
	rows, k := ext[axisN], ext[axisK]
	if p.Batch {
		rows *= ext[axisE]
	}
	if p.Rank == 4 {
		rows *= ext[axisU]
	}
	if rows == 0 || k == 0 {
		return nil
	}
	switch {
	case p.Sidecar.Rows > 0:
		return c.runColumns(dst, to, p.Sidecar.Rows, k)
	case p.Table == gridTable:
		return c.runGrid(dst, to, rows, k)
	}
	g, blocks := max(1, ext[axisG]), tensor.Blocks{Axis: 1, Size: cmp.Or(p.Group, k)}
	scale, least := c.scale(rows, g), c.least(rows, g)
	zero := c.of(zeros, wholeOf(c.weight.bits(zeros), false), rows, g)
	if zero == nil {
		if n := p.zero(least != nil); n > 0 {
			zero = one(c, uint8(n))
		}
	}
	if p.Blocks != "" && p.Table == "e2m1" {
		least = one(c, float32(0)) // ggml's table has no negative zero
	}
	if index := c.unordered(); index != nil {
		scale, zero, blocks = c.picked(scale, index), c.picked(zero, index), tensor.Blocks{}
	}
	x := c.of(codes, p.codeType(), rows, k)
	if p.Table == "iq4nl" {
		x = c.mapped(x, iq4nl)
	}
	if numbers := fourBits[p.Table]; numbers != nil {
		x = c.looked(x, c.keep(tensor.FromSlice(c.stream, numbers, int64(len(numbers)))))
	}
	l, err := layout.Contiguous(rows, k)
	if err := errors.Join(c.err, err); err != nil {
		return err
	}
	out := c.keep(tensor.BorrowBuffer(c.stream, dst.Buffer(), to, l))
	if c.err != nil {
		return c.err
	}
	return x.DequantizeInto(out, tensor.Scaling{Scale: scale, Zero: zero, Add: least, Subtract: c.weight.has(superMins), Blocks: blocks})
}

// iq4nl maps the codes of IQ4_NL and IQ4_XS to numbers.
var iq4nl = bytesOf(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113)

func bytesOf(numbers ...int8) (out []byte) {
	for _, n := range numbers {
		out = append(out, byte(n))
	}
	return out
}

// mapped returns the table's entry for each code.
func (c *computation) mapped(x *tensor.Tensor, table []byte) *tensor.Tensor {
	if c.err != nil {
		return nil
	}
	out := c.keep(tensor.Empty(c.stream, layout.Int8, x.Shape()...))
	if c.err == nil {
		c.err = mapTo(out, x, table)
	}
	return out
}

// looked returns the entry of a table of numbers for each code.
func (c *computation) looked(x, table *tensor.Tensor) *tensor.Tensor {
	if c.err != nil || x == nil {
		return nil
	}
	return c.keep(x.Lookup(table))
}

// nested computes scales that are codes with their own scales.
func (c *computation) nested(rows, g int64) *tensor.Tensor {
	x := c.looked(c.of(scales, layout.Uint8, rows*g), c.of(scaleNumbers, layout.Float32, nestedCodes))
	by := tensor.Scaling{
		Scale: c.of(superScales, layout.Float32, c.weight.ext[axisB]), Add: one(c, c.offset), Blocks: tensor.Blocks{Size: nestedBlock},
	}
	if c.err != nil {
		return nil
	}
	return c.shaped(c.keep(x.Dequantize(layout.Float32, by)), rows, g)
}

// rounded converts numbers to another floating-point type.
func (c *computation) rounded(x *tensor.Tensor, to layout.DType) *tensor.Tensor {
	if c.err != nil || x.DType() == to {
		return x
	}
	return c.keep(x.Dequantize(to, tensor.Scaling{Scale: one(c, float32(1))}))
}

// runColumns computes (code - zero) * scale as HQQ does: each step is rounded to the type
// that the checkpoint specifies.
func (c *computation) runColumns(dst *tensor.Tensor, to layout.DType, rows, k int64) error {
	p := c.weight.Params
	dims := []int64{rows, 1}
	if p.Sidecar.ByColumn {
		dims = []int64{1, k}
	}
	step := dtypeOf(p.Sidecar.Numbers)
	scale := c.rounded(c.of(scales, dtypeOf(p.Scale), dims...), step)
	zero := c.rounded(c.of(floatZeros, dtypeOf(p.Scale), dims...), step)
	x, unit := c.of(codes, p.codeType(), rows, k), one(c, float32(1))
	if c.err != nil {
		return c.err
	}
	x = c.keep(x.Dequantize(step, tensor.Scaling{Scale: unit, Add: zero, Subtract: true}))
	if c.err == nil && to != step {
		x = c.keep(x.Dequantize(step, tensor.Scaling{Scale: scale}))
		scale = unit
	}
	l, err := layout.Contiguous(rows, k)
	if err := errors.Join(c.err, err); err != nil {
		return err
	}
	out := c.keep(tensor.BorrowBuffer(c.stream, dst.Buffer(), to, l))
	if c.err != nil {
		return c.err
	}
	return x.DequantizeInto(out, tensor.Scaling{Scale: scale})
}

// scale returns one scale per group.
func (c *computation) scale(rows, g int64) *tensor.Tensor {
	p, s := c.weight.Params, c.weight.ext[axisS]
	switch {
	case p.Sidecar.Nested:
		return c.nested(rows, g)
	case p.Table == "e4m3" || p.Table == "e5m2":
		return c.ofFloats8(rows, g)
	case !c.weight.has(scales):
		return c.of(superScales, layout.Float16, rows, s)
	case c.weight.has(superScales):
		var zero *tensor.Tensor
		if p.ScaleZero > 0 {
			zero = one(c, uint8(p.ScaleZero))
		}
		x := c.of(scales, wholeOf(c.weight.bits(scales), p.ScaleSigned), rows, s, g/s)
		return c.shaped(c.scaled(x, c.of(superScales, layout.Float16, rows, s, 1), zero), rows, g)
	}
	x := c.of(scales, scaleType(p.Scale), rows, g)
	if p.Table == "of 127" {
		return c.divided(x, one(c, float32(127)))
	}
	if c.weight.has(tensorDivisor) {
		return c.divided(x, c.of(tensorDivisor, layout.Float32, 1))
	}
	if c.weight.has(tensorScale) {
		return c.scaled(x, c.of(tensorScale, layout.Float32, 1), nil)
	}
	return x
}

// least returns the number added or subtracted for each group, nil if there is none.
func (c *computation) least(rows, g int64) *tensor.Tensor {
	if !c.weight.has(superMins) {
		return c.of(mins, dtypeOf(c.weight.Params.Scale), rows, g)
	}
	s := c.weight.ext[axisS]
	x := c.of(mins, wholeOf(c.weight.bits(mins), false), rows, s, g/s)
	return c.shaped(c.scaled(x, c.of(superMins, layout.Float16, rows, s, 1), nil), rows, g)
}

// ofFloats8 returns FP8's scales for each row and group of k: rows that share one have copies.
func (c *computation) ofFloats8(rows, g int64) *tensor.Tensor {
	p := c.weight.Params
	of := func(dims ...int64) *tensor.Tensor { return c.of(scales, scaleType(p.Scale), dims...) }
	switch p.scaleOrder() {
	case unscaled:
		return one(c, float32(1))
	case "":
		return of(1)
	case "r g":
		index := make([]int32, rows)
		for i := range index {
			index[i] = int32(int64(i) / p.Rows)
		}
		x, at := of(c.weight.ext[axisR], g), c.keep(tensor.FromSlice(c.stream, index, rows))
		if c.err != nil {
			return nil
		}
		return c.keep(x.Gather(0, at, layout.OutOfRangeError))
	}
	return of(rows, g)
}

// divided returns scales divided by a number. Division is not a device's operation: the host
// divides the scales.
func (c *computation) divided(x, by *tensor.Tensor) *tensor.Tensor {
	x = c.rounded(x, layout.Float32)
	if c.err != nil {
		return nil
	}
	b, err := x.Bytes()
	d, e := by.Bytes()
	if c.keep(nil, errors.Join(err, e)); c.err != nil {
		return nil
	}
	all, of := make([]float32, len(b)/4), math.Float32frombits(binary.LittleEndian.Uint32(d))
	for i := range all {
		all[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])) / of
	}
	return c.keep(tensor.FromSlice(c.stream, all, x.Shape()...))
}

func (c *computation) shaped(x *tensor.Tensor, dims ...int64) *tensor.Tensor {
	if x == nil {
		return nil
	}
	return c.keep(x.Reshape(dims...))
}

// picked returns, for each k, the entry of a row.
func (c *computation) picked(x, index *tensor.Tensor) *tensor.Tensor {
	if c.err != nil || x == nil || x.Count() == 1 {
		return x
	}
	return c.keep(x.Gather(1, index, layout.OutOfRangeError))
}

// unordered returns the group of each k, nil if groups are in order.
func (c *computation) unordered() *tensor.Tensor {
	x := c.of(groups, layout.Int32, c.weight.ext[axisK])
	if x == nil || c.weight.Params.Group == 0 {
		return nil
	}
	b, err := x.Bytes()
	c.keep(nil, err)
	for i, g := range int32s(b) {
		if int64(g) != int64(i)/c.weight.Params.Group {
			return x
		}
	}
	return nil
}

// zero returns the codes' zero point if none are stored.
func (p Params) zero(hasMins bool) int64 {
	switch {
	case p.Table == "ternary":
		return 1
	case p.Table == "of 127":
		return 128
	case p.Table != "" || p.Signed || hasMins:
		return 0
	}
	return 1 << (p.Bits - 1)
}

// codeType is the type of codes in plain order.
func (p Params) codeType() layout.DType {
	switch p.Table {
	case "e2m1":
		return layout.Float4E2M1
	case "e4m3":
		return layout.Float8E4M3FN
	case "e5m2":
		return layout.Float8E5M2
	}
	return wholeOf(p.Bits, p.Signed)
}

// wholeOf returns the type of integers of the given bits, in plain order.
func wholeOf(bits int64, signed bool) layout.DType {
	switch {
	case bits <= 2:
		return layout.Uint2
	case bits <= 4:
		return layout.Uint4
	case signed:
		return layout.Int8
	}
	return layout.Uint8
}

// scaleType is the type of scales named as in checkpoints; bytes are powers of two.
func scaleType(typ string) layout.DType {
	if typ == "U8" {
		return layout.Float8E8M0
	}
	return dtypeOf(typ)
}
