package backend

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

type buffer struct{ size int64 }

func (b *buffer) Size() int64 { return b.size }
func (b *buffer) Free() error { return nil }

type stringBuffer struct{ buffer }

func (*stringBuffer) HoldsStrings() {}

func dense(t *testing.T, offset int64, dims ...int64) layout.Layout {
	t.Helper()
	l, err := layout.Contiguous(dims...)
	require.NoError(t, err)
	l, err = l.Rebase(offset)
	require.NoError(t, err)
	return l
}

func strided(t *testing.T, dims, strides []int64, offset int64) layout.Layout {
	t.Helper()
	l, err := layout.Strided(dims, strides, offset)
	require.NoError(t, err)
	return l
}

// says checks an error, "" being none: it is device.ErrInvalid and names the rule.
func says(t *testing.T, err error, rule string, args ...any) {
	t.Helper()
	if rule == "" {
		assert.NoError(t, err, args...)
		return
	}
	if assert.ErrorIs(t, err, device.ErrInvalid, args...) {
		assert.ErrorContains(t, err, rule, args...)
	}
}

func TestCheckRange(t *testing.T) {
	b := &buffer{10}
	for _, c := range []struct {
		off, n int64
		rule   string
	}{
		{0, 0, ""}, {0, 10, ""}, {10, 0, ""}, {3, 7, ""},
		{-1, 1, "outside"}, {0, -1, "outside"}, {0, 11, "outside"}, {11, 0, "outside"}, {10, 1, "outside"},
		{math.MaxInt64, 1, "outside"}, {1, math.MaxInt64, "outside"}, {math.MinInt64, math.MaxInt64, "outside"},
	} {
		says(t, CheckRange("Write", b, c.off, c.n), c.rule, "%+v", c)
	}
	says(t, CheckRange("Write", nil, 0, 0), "the buffer is nil")
}

func TestCheckOperand(t *testing.T) {
	b, words := &buffer{10}, &stringBuffer{buffer{3}}
	full := map[layout.DType]int64{
		layout.Int2: 40, layout.Int4: 20, layout.Bool: 10, layout.Float16: 5, layout.Float32: 2, layout.Int64: 1, layout.Complex128: 0,
	}
	for dtype, n := range full {
		says(t, CheckOperand("Copy", "dst", &device.Operand{Buffer: b, Layout: dense(t, 0, n), Type: dtype}), "", dtype)
		says(t, CheckOperand("Copy", "dst", &device.Operand{Buffer: b, Layout: dense(t, 0, n+1), Type: dtype}), "dst "+dtype.String(), dtype)
		says(t, CheckOperand("Copy", "dst", &device.Operand{Buffer: b, Layout: dense(t, n), Type: dtype}), "reaches beyond", dtype)
		says(t, CheckOperand("Copy", "dst", &device.Operand{Buffer: b, Layout: dense(t, math.MaxInt64), Type: dtype}), "reaches beyond", dtype)
		says(t, CheckOperand("Copy", "dst", &device.Operand{Buffer: b, Layout: dense(t, 1<<40, 0), Type: dtype}), "", dtype)
		says(t, CheckOperand("Copy", "dst", &device.Operand{Buffer: words, Layout: dense(t, 0, 1), Type: dtype}), "its buffer holds strings", dtype)
	}
	says(t, CheckOperand("Copy", "src", &device.Operand{Buffer: words, Layout: dense(t, 0, 3), Type: layout.String}), "")
	says(t, CheckOperand("Copy", "src", &device.Operand{Buffer: words, Layout: dense(t, 1, 3), Type: layout.String}), "reaches beyond its buffer of size 3")
	says(t, CheckOperand("Copy", "src", &device.Operand{Buffer: b, Layout: dense(t, 0, 1), Type: layout.String}), "its buffer holds bytes")
	says(t, CheckOperand("Copy", "src", &device.Operand{Buffer: nil, Layout: dense(t, 0, 1), Type: layout.Int8}), "src has no buffer")
	says(t, CheckOperand("Copy", "src", &device.Operand{Buffer: b, Layout: dense(t, 0, 1), Type: layout.Invalid}), "src has no element type")
	says(t, CheckOperand("Copy", "src", &device.Operand{Buffer: b, Layout: dense(t, 0, 1), Type: 255}), "src has no element type")
	says(t, CheckOperand("Copy", "src", &device.Operand{Buffer: &buffer{math.MaxInt64}, Layout: dense(t, 0, math.MaxInt64), Type: layout.Int2}), "")
}

func TestCheckPairs(t *testing.T) {
	a, b := &buffer{64}, &buffer{64}
	words := &stringBuffer{buffer{8}}
	eight := dense(t, 0, 8)
	at := func(b device.Buffer, l layout.Layout, dtype layout.DType) device.Operand {
		return device.Operand{Buffer: b, Layout: l, Type: dtype}
	}
	type row struct {
		dst, src device.Operand
		rule     string
	}
	for _, c := range []row{
		{at(a, eight, layout.Int8), at(b, eight, layout.Int8), ""},
		{at(a, eight, layout.Float32), at(b, eight, layout.Int32), ""},
		{at(a, eight, layout.Int8), at(a, dense(t, 8, 8), layout.Int8), ""},
		{at(words, dense(t, 0, 4), layout.String), at(words, dense(t, 4, 4), layout.String), ""},
		{at(a, strided(t, []int64{8}, []int64{2}, 0), layout.Int4), at(a, strided(t, []int64{8}, []int64{2}, 1), layout.Int4), ""},
		{at(a, eight, layout.Int8), at(b, strided(t, []int64{8}, []int64{0}, 5), layout.Int8), ""},
		{at(a, dense(t, 0, 0), layout.Int8), at(a, dense(t, 0, 0), layout.Int8), ""},
		{at(a, eight, layout.Int8), at(b, dense(t, 0, 2, 4), layout.Int8), "the shapes differ"},
		{at(a, dense(t, 0, 0, 3), layout.Int8), at(b, dense(t, 0, 3, 0), layout.Int8), "the shapes differ"},
		{at(a, eight, layout.Int8), at(b, eight, layout.Int4), "of 4 and of 8 bits"},
		{at(words, eight, layout.String), at(b, eight, layout.Int8), "of 8 and of 0 bits"},
		{at(a, strided(t, []int64{8}, []int64{0}, 0), layout.Int8), at(b, eight, layout.Int8), "two indices share an element"},
		{at(a, eight, layout.Int8), at(a, eight, layout.Int8), "they share elements"},
		{at(a, eight, layout.Int8), at(a, strided(t, []int64{8}, []int64{-1}, 14), layout.Int8), "they share elements"},
		{at(a, dense(t, 57, 8), layout.Int8), at(b, eight, layout.Int8), "dst int8[8]:{1}+57 reaches beyond"},
		{at(a, eight, layout.Int8), at(b, dense(t, 57, 8), layout.Int8), "src int8[8]:{1}+57 reaches beyond"},
		{at(nil, eight, layout.Int8), at(b, eight, layout.Int8), "dst has no buffer"},
		{at(a, eight, layout.Int8), at(nil, eight, layout.Int8), "src has no buffer"},
	} {
		says(t, CheckCopy(&c.dst, &c.src), c.rule, "%v to %v", c.src, c.dst)
	}
	for _, c := range []row{
		{at(a, eight, layout.Int8), at(b, eight, layout.Int4), ""},
		{at(a, eight, layout.Uint2), at(b, eight, layout.Uint8), ""},
		{at(a, eight, layout.Int8), at(a, dense(t, 16, 8), layout.Int4), ""},
		{at(a, dense(t, 3, 8), layout.Int8), at(a, dense(t, 22, 8), layout.Int4), ""},
		{at(a, dense(t, 0, 0), layout.Int8), at(a, dense(t, 0, 0), layout.Int4), ""},
		{at(a, eight, layout.Int8), at(a, dense(t, 15, 8), layout.Int4), "they share bytes"},
		{at(a, eight, layout.Int4), at(a, dense(t, 3, 8), layout.Int8), "they share bytes"},
		{at(a, eight, layout.Float16), at(b, eight, layout.Int64), ""},
		{at(a, eight, layout.Int4), at(b, eight, layout.Int4), ""},
		{at(a, eight, layout.Float16), at(a, dense(t, 6, 8), layout.Float32), ""},
		{at(a, eight, layout.Float16), at(a, dense(t, 3, 8), layout.Float32), "they share bytes"},
		{at(a, dense(t, 4, 8), layout.Float32), at(a, dense(t, 7, 8), layout.Uint16), "they share bytes"},
		{at(a, dense(t, 4, 8), layout.Float32), at(a, eight, layout.Uint16), ""},
		{at(a, eight, layout.Complex64), at(b, eight, layout.Int64), "complex numbers are not converted"},
		{at(a, eight, layout.Int8), at(b, dense(t, 0, 1), layout.Complex128), "the shapes differ"},
		{at(words, eight, layout.String), at(b, eight, layout.Int8), "strings are not converted on a device"},
		{at(a, eight, layout.Int8), at(b, dense(t, 0, 9), layout.Int4), "the shapes differ"},
		{at(a, strided(t, []int64{8}, []int64{0}, 0), layout.Int8), at(b, eight, layout.Int4), "two indices share"},
	} {
		says(t, CheckConvert(&c.dst, &c.src, device.Rounding{}), c.rule, "%v to %v", c.src, c.dst)
	}
	// Of all pairs of types, exactly the pairs of numbers are accepted.
	for _, to := range layout.DTypes() {
		for _, from := range layout.DTypes() {
			if to == layout.String || from == layout.String {
				continue
			}
			dst, src := at(a, dense(t, 0, 4), to), at(b, dense(t, 0, 4), from)
			complexes := []layout.DType{layout.Complex64, layout.Complex128}
			ok := !slices.Contains(complexes, to) && !slices.Contains(complexes, from)
			assert.Equal(t, ok, CheckConvert(&dst, &src, device.Rounding{}) == nil, "%v to %v", from, to)
		}
	}
}

func TestCheckFill(t *testing.T) {
	a, words := &buffer{64}, &stringBuffer{buffer{8}}
	for _, dtype := range layout.DTypes() {
		if dtype == layout.String {
			continue
		}
		dst := device.Operand{Buffer: a, Layout: dense(t, 0, 4), Type: dtype}
		for n := range 20 {
			rule := fmt.Sprintf("a pattern of %d bytes", n)
			if n == max(dtype.Bits()/8, 1) {
				rule = ""
			}
			says(t, CheckFill(&dst, make([]byte, n)), rule, "%v, %d bytes", dtype, n)
		}
		says(t, CheckFillString(&dst), "only strings", dtype)
	}
	broadcast := strided(t, []int64{4}, []int64{0}, 0)
	text := device.Operand{Buffer: words, Layout: dense(t, 0, 8), Type: layout.String}
	says(t, CheckFill(&device.Operand{Buffer: a, Layout: broadcast, Type: layout.Int8}, []byte{1}), "two indices share")
	says(t, CheckFill(&device.Operand{Buffer: a, Layout: dense(t, 64), Type: layout.Int8}, []byte{1}), "reaches beyond")
	says(t, CheckFill(&text, nil), "FillString")
	says(t, CheckFillString(&text), "")
	says(t, CheckFillString(&device.Operand{Buffer: words, Layout: broadcast, Type: layout.String}), "two indices share")
	says(t, CheckFillString(&device.Operand{Buffer: words, Layout: dense(t, 8), Type: layout.String}), "reaches beyond")
	says(t, CheckFillString(&device.Operand{Buffer: a, Layout: dense(t, 0, 1), Type: layout.String}), "holds bytes")
	says(t, CheckFillString(&device.Operand{Buffer: nil, Layout: dense(t, 0, 1), Type: layout.String}), "no buffer")
}

// After a check of a call's form, the check of buffers finds every other error.
func TestCheckBuffers(t *testing.T) {
	a, b, short := &buffer{64}, &buffer{64}, &buffer{31}
	words := &stringBuffer{buffer{64}}
	eight := dense(t, 0, 8)
	far := dense(t, 64, 8)
	for _, c := range []struct {
		dst, src     device.Buffer
		dOff, sOff   layout.Layout
		copy, values string
	}{
		{a, b, eight, eight, "", ""},
		{a, a, eight, dense(t, 8, 8), "", ""},
		{a, a, eight, eight, "they share elements", "they share bytes"},
		{short, b, eight, eight, "dst float[8]:{1}+0 reaches beyond", "dst float[8]:{1}+0 reaches beyond"},
		{a, short, eight, eight, "src float[8]:{1}+0 reaches beyond", "src float[8]:{1}+0 reaches beyond"},
		{a, b, far, eight, "dst float[8]:{1}+64 reaches beyond", "dst float[8]:{1}+64 reaches beyond"},
		{a, b, eight, far, "src float[8]:{1}+64 reaches beyond", "src float[8]:{1}+64 reaches beyond"},
		{words, b, eight, eight, "its buffer holds strings", "its buffer holds strings"},
		{a, words, eight, eight, "its buffer holds strings", "its buffer holds strings"},
		{nil, b, eight, eight, "dst has no buffer", "dst has no buffer"},
		{a, nil, eight, eight, "src has no buffer", "src has no buffer"},
	} {
		dst, src := device.Operand{Buffer: c.dst, Layout: c.dOff, Type: layout.Float32}, device.Operand{Buffer: c.src, Layout: c.sOff, Type: layout.Float32}
		says(t, CheckCopyBuffers(&dst, &src), c.copy)
		says(t, CheckCopy(&dst, &src), c.copy)
		says(t, CheckConvertBuffers(&dst, &src), c.values)
		says(t, CheckConvert(&dst, &src, device.Rounding{}), c.values)
	}
	pattern := []byte{1, 2, 3, 4}
	for _, c := range []struct {
		dst     device.Buffer
		l       layout.Layout
		pattern []byte
		rule    string
	}{
		{a, eight, pattern, ""},
		{a, eight, pattern[1:], "a pattern of 3 bytes"},
		{short, eight, pattern, "reaches beyond"},
		{a, far, pattern, "reaches beyond"},
		{words, eight, pattern, "its buffer holds strings"},
		{nil, eight, pattern, "dst has no buffer"},
	} {
		dst := device.Operand{Buffer: c.dst, Layout: c.l, Type: layout.Float32}
		says(t, CheckFillBuffers(&dst, c.pattern), c.rule)
		says(t, CheckFill(&dst, c.pattern), c.rule)
	}
}

// Checks are on the path of every launch.
func TestChecksAllocateNothing(t *testing.T) {
	a, b := &buffer{1 << 20}, &buffer{1 << 20}
	l := dense(t, 0, 2, 3, 4, 5)
	p, err := l.Permute(3, 1, 0, 2)
	require.NoError(t, err)
	dst, src := device.Operand{Buffer: a, Layout: p, Type: layout.Float32}, device.Operand{Buffer: b, Layout: dense(t, 0, 5, 3, 2, 4), Type: layout.Float32}
	same := device.Operand{Buffer: a, Layout: dense(t, 120, 5, 3, 2, 4), Type: layout.Float32}
	pattern := make([]byte, 4)
	at := device.Operand{Buffer: &buffer{1 << 20}, Layout: dense(t, 0, 5, 3, 2, 4), Type: layout.Int64}
	by := []layout.Index{{Offset: 3, Extent: 9, Stride: 100}}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if errors.Join(CheckCopy(&dst, &src), CheckCopy(&dst, &same), CheckFill(&dst, pattern), CheckTake(&dst, &src, &at, by), CheckPut(&dst, &src, &at, device.ReduceSet, by)) != nil {
			t.Error("refused")
		}
	}))
}
