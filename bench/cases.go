package bench

import (
	"fmt"
	"slices"

	"github.com/restride/restride/layout"
)

// widths has the types that stand for their width. Every library has them.
var widths = []layout.DType{layout.Uint8, layout.Float16, layout.Float32, layout.Float64, layout.Complex128}

// Cases returns the list. Names are a layout and the width of its elements. Those
// from a to f are the ones that other libraries have been measured on.
func Cases() []Case {
	l := list{}
	l.figures()
	l.images()
	l.attention()
	l.rows()
	l.broadcasts()
	l.packed()
	return l.cases
}

type list struct{ cases []Case }

// add adds a copy, whose tensor grows along the axes.
func (l *list) add(name, class string, t layout.DType, dims []int64, src view, grow ...int) *Case {
	l.cases = append(l.cases, Case{
		Name: fmt.Sprintf("%s/%d", name, t.Bits()), Class: class, DstType: t, SrcType: t, dims: dims, src: src, grow: grow,
	})
	return &l.cases[len(l.cases)-1]
}

// each adds a copy of every width. Its dims are those of 32-bit elements: the
// first axis makes up for others.
func (l *list) each(name, class string, dims []int64, src view, grow ...int) {
	for _, t := range widths {
		d := slices.Clone(dims)
		d[0] = d[0] * 32 / int64(t.Bits())
		l.add(name, class, t, d, src, grow...)
	}
}

// figures are the cases a to f.
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
	l.each("e-reversed", "reverse", []int64{4096, 4096}, flip(1), 0)
	l.each("f-shuffle", "shuffle", []int64{16, 20, 24, 12, 14, 13}, permute(5, 2, 1, 3, 0, 4), 0)
}

// images are channels moved to and fro.
func (l *list) images() {
	for _, t := range []layout.DType{layout.Float16, layout.Float32} {
		l.add("nhwc-nchw", "transpose", t, []int64{1024 / int64(t.Bits()), 112, 112, 64}, permute(0, 3, 1, 2), 0)
	}
	for _, t := range []layout.DType{layout.Uint8, layout.Float32} {
		n := 16 + 384/int64(t.Bits())
		l.add("rgb-nhwc-nchw", "shuffle", t, []int64{n, 512, 512, 3}, permute(0, 3, 1, 2), 0)
		l.add("rgb-nchw-nhwc", "shuffle", t, []int64{n, 3, 512, 512}, permute(0, 2, 3, 1), 0)
	}
	l.add("crop", "rows", layout.Uint8, []int64{512, 3, 256, 256}, both(cut(2, 16, 240, 1), cut(3, 16, 240, 1)), 0).next = 1
}

// attention are the copies around it, in models of 16 bits.
func (l *list) attention() {
	const t = layout.Float16
	l.add("attention-split", "rows", t, []int64{20, 512, 3, 16, 64}, permute(2, 0, 3, 1, 4), 0)
	l.add("attention-merge", "rows", t, []int64{64, 16, 512, 64}, permute(0, 2, 1, 3), 0)
	l.add("attention-keys", "transpose", t, []int64{64, 16, 512, 64}, permute(0, 1, 3, 2), 0)
	l.add("kv-cache-read", "rows", t, []int64{32, 16, 2048, 64}, cut(2, 0, 1000, 1), 0).next = 1
	l.add("kv-cache-write", "rows", t, []int64{64, 512, 16, 64}, permute(0, 2, 1, 3), 0).dst = window(2, 4, 1)
	l.add("kv-cache-heads", "broadcast", t, []int64{16, 8, 4, 1024, 64}, repeat(2), 0)
}

// rows are copies of long and short ones, in and out of others.
func (l *list) rows() {
	l.add("short-rows", "rows", layout.Float32, []int64{4 << 20, 4}, cut(1, 0, 3, 1), 0)
	l.add("every-third-row", "rows", layout.Float32, []int64{3 * 4096, 4096}, every(0, 3), 0)
	l.add("rows-reversed", "rows", layout.Float32, []int64{4096, 4096}, flip(0), 0)
	l.add("columns-into", "rows", layout.Float32, []int64{4096, 4096}, nil, 0).dst = window(1, 2, 1)
	l.add("every-second-into", "strided", layout.Float32, []int64{4096, 4096}, nil, 0).dst = window(1, 2, 2)
	l.add("odd-byte", "unaligned", layout.Uint8, []int64{1 << 26}, from(1), 0)
	l.add("odd-half", "unaligned", layout.Float16, []int64{1 << 25}, from(3), 0)
}

// broadcasts repeat what they read.
func (l *list) broadcasts() {
	l.add("expand-rows", "broadcast", layout.Float32, []int64{4096, 4096}, repeat(0), 0)
	l.add("expand-columns", "broadcast", layout.Float32, []int64{4096, 4096}, repeat(1), 0)
}

// packed are copies of elements below a byte that do not lie as bytes do, and
// what packs and unpacks them.
func (l *list) packed() {
	l.add("c-heads", "rows", layout.Int4, []int64{64, 512, 16, 64}, permute(0, 2, 1, 3), 0)
	l.add("odd-nibble", "sub-byte", layout.Int4, []int64{1 << 27}, from(1), 0)
	l.add("odd-nibble-into", "sub-byte", layout.Int4, []int64{1 << 27}, nil, 0).dst = from(1)
	l.add("odd-crumb", "sub-byte", layout.Int2, []int64{1 << 28}, from(3), 0)
	l.add("odd-rows", "sub-byte", layout.Int4, []int64{1 << 14, 1<<13 + 1}, cut(1, 0, 1<<13, 1), 0)
	l.add("e-reversed", "sub-byte", layout.Int4, []int64{1 << 14, 1 << 13}, flip(1), 0)
	for _, t := range []layout.DType{layout.Int4, layout.Int2} {
		l.add("unpack", "convert", t, []int64{1 << 26}, nil, 0).DstType = t.Container()
		l.add("pack", "convert", t, []int64{1 << 26}, nil, 0).SrcType = t.Container()
	}
}

func permute(perm ...int) view {
	return func(l layout.Layout) (layout.Layout, error) { return l.Permute(perm...) }
}

func cut(axis int, start, end, step int64) view {
	return func(l layout.Layout) (layout.Layout, error) { return l.Slice(axis, start, end, step) }
}

// every takes an element of so many of an axis of any length.
func every(axis int, step int64) view {
	return func(l layout.Layout) (layout.Layout, error) { return l.Slice(axis, 0, l.Dim(axis), step) }
}

// flip reverses an axis of any length.
func flip(axis int) view {
	return func(l layout.Layout) (layout.Layout, error) { return l.Slice(axis, -1, -l.Dim(axis)-1, -1) }
}

func both(first, then view) view {
	return func(l layout.Layout) (layout.Layout, error) {
		l, err := first(l)
		if err != nil {
			return l, err
		}
		return then(l)
	}
}

// from begins so many elements later.
func from(offset int64) view {
	return func(l layout.Layout) (layout.Layout, error) { return l.Rebase(offset) }
}

// repeat has one element along an axis, as often as the tensor has some.
func repeat(axis int) view {
	return func(l layout.Layout) (layout.Layout, error) {
		dims := l.Shape()
		one := dims.Clone()
		one[axis] = 1
		l, err := layout.Contiguous(one...)
		if err != nil {
			return l, err
		}
		return l.Expand(dims...)
	}
}

// window is a part of a tensor that is times as long along an axis: every so many
// elements from a quarter on.
func window(axis int, times, step int64) view {
	return func(l layout.Layout) (layout.Layout, error) {
		dims := l.Shape()
		n := dims[axis]
		dims[axis] *= times
		l, err := layout.Contiguous(dims...)
		if err != nil {
			return l, err
		}
		start := int64(0)
		if step < times {
			start = n * times / 4
		}
		return l.Slice(axis, start, start+n*step, step)
	}
}
