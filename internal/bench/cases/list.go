package cases

import (
	"fmt"
	"slices"

	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/layout"
)

// widths are the types of each width that every library has.
var widths = []layout.DType{layout.Uint8, layout.Float16, layout.Float32, layout.Float64, layout.Complex128}

// All returns the list. A name is a layout and the width of its elements in bits. Cases
// a to f are those with published figures of other libraries.
func All() []Case {
	l := list{}
	l.figures()
	l.images()
	l.attention()
	l.rows()
	l.broadcasts()
	l.packed()
	l.weights()
	l.conversions()
	l.fills()
	l.takes()
	l.puts()
	l.choices()
	l.scaled()
	return l.cases
}

type list struct{ cases []Case }

// add adds a copy, whose tensor grows along axes.
func (l *list) add(name, class string, t layout.DType, dims []int64, src view, grow ...int) *Case {
	l.cases = append(l.cases, Case{
		Name: fmt.Sprintf("%s/%d", name, t.Bits()), Class: class, Op: oracle.OpCopy, DstType: t, SrcType: t, dims: dims, src: src, grow: grow,
	})
	return &l.cases[len(l.cases)-1]
}

// convert adds a conversion of n elements. Its name has the narrower width.
func (l *list) convert(name string, to, from layout.DType, n int64) {
	narrow := to
	if from.Bits() < to.Bits() {
		narrow = from
	}
	c := l.add(name, "convert", narrow, []int64{n}, nil, 0)
	c.Op, c.DstType, c.SrcType = oracle.OpConvert, to, from
}

// fill adds a fill of a part of a tensor.
func (l *list) fill(name string, t layout.DType, dims []int64, dst view) {
	c := l.add(name, "fill", t, dims, nil, 0)
	c.Op, c.SrcType, c.dst = oracle.OpFill, layout.Invalid, dst
}

// take adds a take along an axis of a table.
func (l *list) take(name string, t layout.DType, dims []int64, table view, axis int) *Case {
	c := l.add(name, "take", t, dims, table, 0)
	c.Op, c.axis = oracle.OpTake, axis
	return c
}

// each adds a copy of every width. The dims are those of 32-bit elements; the first
// scales with the width, so that bytes stay the same.
func (l *list) each(name, class string, dims []int64, src view, grow ...int) {
	for _, t := range widths {
		d := slices.Clone(dims)
		d[0] = d[0] * 32 / int64(t.Bits())
		l.add(name, class, t, d, src, grow...)
	}
}

// figures are cases a to f.
func (l *list) figures() {
	for _, m := range []struct {
		t    layout.DType
		dims []int64
	}{
		{layout.Int2, []int64{16384, 16384}},
		{layout.Int4, []int64{8192, 16384}},
		{layout.Uint8, []int64{8192, 8192}},
		{layout.Float16, []int64{4096, 8192}},
		{layout.Float32, []int64{4096, 4096}},
		{layout.Float64, []int64{4096, 2048}},
		{layout.Complex128, []int64{2048, 2048}},
	} {
		l.add("a-transpose", "transpose", m.t, m.dims, permute(1, 0), 0, 1)
	}
	l.each("b-nchw-nhwc", "transpose", []int64{32, 64, 112, 112}, permute(0, 2, 3, 1), 0)
	l.each("c-heads", "rows", []int64{8, 512, 16, 64}, permute(0, 2, 1, 3), 0)
	l.each("d-every-second", "strided", []int64{4096, 8192}, every(1, 2), 0)
	l.each("e-reversed", "reversed", []int64{4096, 4096}, flip(1), 0)
	l.each("f-shuffle", "shuffle", []int64{16, 20, 24, 12, 14, 13}, permute(5, 2, 1, 3, 0, 4), 0)
}

// images are crops, flips and moves of channels.
func (l *list) images() {
	for _, t := range []layout.DType{layout.Float16, layout.Float32} {
		l.add("nhwc-nchw", "transpose", t, []int64{1024 / int64(t.Bits()), 112, 112, 64}, permute(0, 3, 1, 2), 0)
	}
	for _, t := range []layout.DType{layout.Uint8, layout.Float32} {
		n := 16 + 384/int64(t.Bits())
		l.add("rgb-nhwc-nchw", "shuffle", t, []int64{n, 512, 512, 3}, permute(0, 3, 1, 2), 0)
		l.add("rgb-nchw-nhwc", "shuffle", t, []int64{n, 3, 512, 512}, permute(0, 2, 3, 1), 0)
	}
	l.add("crop", "rows", layout.Uint8, []int64{512, 3, 256, 256}, chain(cut(2, 16, 240, 1), cut(3, 16, 240, 1)), 0).next = 1
	l.add("crop-nhwc-nchw", "shuffle", layout.Uint8, []int64{96, 512, 512, 3}, chain(cut(1, 32, 480, 1), cut(2, 32, 480, 1), permute(0, 3, 1, 2)), 0).next = 3
	l.add("flip-nhwc", "reversed", layout.Uint8, []int64{64, 512, 512, 3}, flip(2), 0)
}

// attention are the copies around attention, in 16 bits.
func (l *list) attention() {
	const t = layout.Float16
	l.add("attention-split", "rows", t, []int64{20, 512, 3, 16, 64}, permute(2, 0, 3, 1, 4), 0)
	l.add("attention-merge", "rows", t, []int64{64, 16, 512, 64}, permute(0, 2, 1, 3), 0)
	l.add("attention-keys", "transpose", t, []int64{64, 16, 512, 64}, permute(0, 1, 3, 2), 0)
	l.add("kv-cache-read", "rows", t, []int64{32, 16, 2048, 64}, cut(2, 0, 1000, 1), 0).next = 1
	l.add("kv-cache-write", "rows", t, []int64{64, 512, 16, 64}, permute(0, 2, 1, 3), 0).dst = window(2, 4, 1)
	l.add("kv-cache-append", "rows", t, []int64{8192, 16, 1, 64}, nil, 0).dst = window(2, 8, 1) // a token each
	l.add("kv-cache-pages", "rows", t, []int64{2048, 16, 16, 64}, permute(0, 2, 1, 3), 0)
	l.add("kv-cache-heads", "broadcast", t, []int64{16, 8, 4, 1024, 64}, repeat(2), 0)
}

// rows are copies of long and short rows.
func (l *list) rows() {
	l.add("short-rows", "rows", layout.Float32, []int64{4 << 20, 4}, cut(1, 0, 3, 1), 0)
	l.add("every-third-row", "rows", layout.Float32, []int64{3 * 4096, 4096}, every(0, 3), 0)
	l.add("rows-reversed", "rows", layout.Float32, []int64{4096, 4096}, flip(0), 0)
	l.add("columns-into", "rows", layout.Float32, []int64{4096, 4096}, nil, 0).dst = window(1, 2, 1)
	l.add("columns-from", "rows", layout.Float32, []int64{4096, 8192}, middle(1), 0)
	l.add("every-second-into", "strided", layout.Float32, []int64{4096, 4096}, nil, 0).dst = window(1, 2, 2)
	l.add("odd-byte", "unaligned", layout.Uint8, []int64{1 << 26}, from(1), 0)
	l.add("odd-half", "unaligned", layout.Float16, []int64{1 << 25}, from(3), 0)
}

func (l *list) broadcasts() {
	l.add("expand-rows", "broadcast", layout.Float32, []int64{4096, 4096}, repeat(0), 0)
	l.add("expand-columns", "broadcast", layout.Float32, []int64{4096, 4096}, repeat(1), 0)
	l.add("expand-bias", "broadcast", layout.Float32, []int64{32, 64, 112, 112}, repeat(0, 2, 3), 0)
	l.add("expand-mask", "broadcast", layout.Float16, []int64{2, 16, 1024, 1024}, repeat(1), 0)
}

// packed are copies of elements below a byte that cannot be moved as whole bytes, and packing
// and unpacking.
func (l *list) packed() {
	l.add("c-heads", "rows", layout.Int4, []int64{64, 512, 16, 64}, permute(0, 2, 1, 3), 0)
	l.add("odd-nibble", "sub-byte", layout.Int4, []int64{1 << 27}, from(1), 0)
	l.add("odd-nibble-into", "sub-byte", layout.Int4, []int64{1 << 27}, nil, 0).dst = from(1)
	l.add("odd-crumb", "sub-byte", layout.Int2, []int64{1 << 28}, from(3), 0)
	l.add("odd-rows", "sub-byte", layout.Int4, []int64{1 << 14, 1<<13 + 1}, cut(1, 0, 1<<13, 1), 0)
	l.add("e-reversed", "sub-byte", layout.Int4, []int64{1 << 14, 1 << 13}, flip(1), 0)
	for _, t := range []layout.DType{layout.Int4, layout.Int2} {
		l.convert("unpack", t.Container(), t, 1<<26)
		l.convert("pack", t, t.Container(), 1<<26)
	}
}

// weights are relayouts of a model's weights: of convolutions, into tiles of matrix
// units, and of block scales into the order of these.
func (l *list) weights() {
	for _, t := range []layout.DType{layout.Uint8, layout.Float16} {
		l.add("weights-oihw-ohwi", "shuffle", t, []int64{32768 / int64(t.Bits()), 2048, 3, 3}, permute(0, 2, 3, 1), 0)
	}
	l.add("weights-oihw-hwio", "transpose", layout.Float16, []int64{2048, 2048, 3, 3}, permute(2, 3, 1, 0), 0)
	for _, t := range []layout.DType{layout.Float4E2M1, layout.Float16} {
		l.add("weights-tiles", "rows", t, []int64{512, 16, 1024 / int64(t.Bits()), 64}, permute(0, 2, 1, 3), 0)
	}
	l.nibbles()
	l.add("scales-swizzle", "shuffle", layout.Uint8, []int64{512, 4, 32, 256, 4}, permute(0, 3, 2, 1, 4), 0)
}

// nibbles are relayouts of weights of 4 bits, 4096 by 12288, between the formats of
// quantised models, and swaps of short axes of wider elements.
func (l *list) nibbles() {
	const t = layout.Uint4
	l.add("gptq-nk", "transpose", t, []int64{512, 12288, 8}, permute(1, 0, 2), 0, 1)
	l.add("gptq-kn", "shuffle", t, []int64{512, 12288, 8}, permute(0, 2, 1), 0, 1)
	l.add("awq-kn", "shuffle", t, []int64{4096, 1536, 2, 4}, permute(0, 1, 3, 2), 0, 1)
	l.add("gptq-marlin", "shuffle", t, []int64{256, 2, 192, 4, 2, 8, 4, 2}, permute(0, 2, 5, 6, 3, 7, 4, 1), 0, 2)
	l.add("q4-0-nibbles", "shuffle", t, []int64{1572864, 18, 2}, chain(cut(1, 2, 18, 1), permute(0, 2, 1)), 0).next = 2
	l.add("words-reversed", "reversed", t, []int64{4096, 1536, 8}, flip(2), 0, 1)
	for _, t := range []layout.DType{layout.Uint8, layout.Float16, layout.Float32} {
		l.add("small-axes", "shuffle", t, []int64{1 << 25 / int64(t.Bits()), 2, 8}, permute(0, 2, 1), 0)
	}
}

// conversions are between number types. Sources are random bits, which include NaNs and numbers
// out of range. Elements are fewer than in other cases, since OpenCL on processors needs 20 ns
// for each.
func (l *list) conversions() {
	l.convert("half-to-float", layout.Float32, layout.Float16, 1<<21)
	l.convert("float-to-half", layout.Float16, layout.Float32, 1<<21)
	l.convert("float-to-bfloat", layout.BFloat16, layout.Float32, 1<<21)
	l.convert("float8-to-half", layout.Float16, layout.Float8E4M3FN, 1<<21)
	l.convert("float4-to-half", layout.Float16, layout.Float4E2M1, 1<<21)
	l.convert("half-to-float4", layout.Float4E2M1, layout.Float16, 1<<21)
	l.convert("int8-to-float", layout.Float32, layout.Int8, 1<<21)
}

// fills are like Pad's: of the inside of images, and of columns.
func (l *list) fills() {
	l.fill("fill-inside", layout.Float32, []int64{32, 64, 112, 112}, inside(1, 2, 3))
	l.fill("fill-columns", layout.Float16, []int64{1 << 22, 4}, window(1, 4, 1))
}

// takes are of rows of embeddings, long and short, of the pages of a KV cache, and of
// single elements.
func (l *list) takes() {
	l.take("take-rows", layout.Float16, []int64{16384, 4096}, nil, 0)
	l.take("take-short-rows", layout.Float32, []int64{1 << 21, 16}, nil, 0)
	l.take("take-pages", layout.Float16, []int64{8192, 16, 8, 64}, permute(2, 0, 1, 3), 1)
	l.take("take-elements", layout.Float32, []int64{2048, 8192}, nil, 1).own = true
}

// puts are takes the other way round.
func (l *list) puts() {
	for _, c := range []*Case{
		l.take("put-rows", layout.Float16, []int64{16384, 4096}, nil, 0),
		l.take("put-short-rows", layout.Float32, []int64{1 << 21, 16}, nil, 0),
	} {
		c.Op, c.Class = oracle.OpPut, "put"
	}
	c := l.take("put-elements", layout.Float32, []int64{2048, 8192}, nil, 1)
	c.Op, c.Class, c.own = oracle.OpPut, "put", true
}

// choices are between attention's scores and a number, by a mask that heads share; between
// elements of two tensors; and lookups of codes of 4 and 8 bits in a table.
func (l *list) choices() {
	c := l.add("where-mask", "where", layout.Float16, []int64{2, 16, 1024, 1024}, nil, 0)
	c.Op, c.cond, c.b = oracle.OpWhere, repeat(1), repeat(0, 1, 2, 3)
	l.add("where-elements", "where", layout.Float32, []int64{4096, 4096}, nil, 0).Op = oracle.OpWhere
	c = l.add("map-nibbles", "map", layout.Uint4, []int64{1 << 25}, nil, 0)
	c.Op, c.DstType = oracle.OpMap, layout.Float16
	l.add("map-bytes", "map", layout.Uint8, []int64{1 << 26}, nil, 0).Op = oracle.OpMap
}

// scaled are weights of 4 bits by groups of 128, with a zero point each, 8-bit ones by rows,
// and activations to 8 bits by rows. Elements are as few as in conversions'.
func (l *list) scaled() {
	c := l.add("dequantize-groups", "scale", layout.Uint4, []int64{512, 32, 128}, nil, 0)
	c.Op, c.DstType, c.scale, c.scaleType, c.zeroType = oracle.OpDequantize, layout.Float16, repeat(2), layout.Float16, layout.Uint4
	c = l.add("dequantize-rows", "scale", layout.Int8, []int64{1024, 2048}, nil, 0)
	c.Op, c.DstType, c.scale, c.scaleType = oracle.OpDequantize, layout.Float32, repeat(1), layout.Float32
	c = l.add("quantize-rows", "scale", layout.Int8, []int64{1024, 2048}, nil, 0)
	c.Op, c.SrcType, c.scale, c.scaleType = oracle.OpQuantize, layout.Float32, repeat(1), layout.Float32
}
