package device

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
)

type bytesOf struct{ size int64 }

func (b *bytesOf) Size() int64 { return b.size }
func (b *bytesOf) Free() error { return nil }

type stringsOf struct{ bytesOf }

func (*stringsOf) HoldsStrings() {}

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

// says checks an error, "" being none: it is ErrInvalid and names the rule.
func says(t *testing.T, err error, rule string, args ...any) {
	t.Helper()
	if rule == "" {
		assert.NoError(t, err, args...)
		return
	}
	if assert.ErrorIs(t, err, ErrInvalid, args...) {
		assert.ErrorContains(t, err, rule, args...)
	}
}

func TestCheckRange(t *testing.T) {
	b := &bytesOf{10}
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
	b, words := &bytesOf{10}, &stringsOf{bytesOf{3}}
	full := map[layout.DType]int64{
		layout.Int2: 40, layout.Int4: 20, layout.Bool: 10, layout.Float16: 5, layout.Float32: 2, layout.Int64: 1, layout.Complex128: 0,
	}
	for dtype, n := range full {
		says(t, CheckOperand("Copy", "dst", &Operand{b, dense(t, 0, n), dtype}), "", dtype)
		says(t, CheckOperand("Copy", "dst", &Operand{b, dense(t, 0, n+1), dtype}), "dst "+dtype.String(), dtype)
		says(t, CheckOperand("Copy", "dst", &Operand{b, dense(t, n), dtype}), "reaches beyond", dtype)
		says(t, CheckOperand("Copy", "dst", &Operand{b, dense(t, math.MaxInt64), dtype}), "reaches beyond", dtype)
		says(t, CheckOperand("Copy", "dst", &Operand{b, dense(t, 1<<40, 0), dtype}), "", dtype)
		says(t, CheckOperand("Copy", "dst", &Operand{words, dense(t, 0, 1), dtype}), "its buffer holds strings", dtype)
	}
	says(t, CheckOperand("Copy", "src", &Operand{words, dense(t, 0, 3), layout.String}), "")
	says(t, CheckOperand("Copy", "src", &Operand{words, dense(t, 1, 3), layout.String}), "reaches beyond its buffer of size 3")
	says(t, CheckOperand("Copy", "src", &Operand{b, dense(t, 0, 1), layout.String}), "its buffer holds bytes")
	says(t, CheckOperand("Copy", "src", &Operand{nil, dense(t, 0, 1), layout.Int8}), "src has no buffer")
	says(t, CheckOperand("Copy", "src", &Operand{b, dense(t, 0, 1), layout.Invalid}), "src has no element type")
	says(t, CheckOperand("Copy", "src", &Operand{b, dense(t, 0, 1), 255}), "src has no element type")
	says(t, CheckOperand("Copy", "src", &Operand{&bytesOf{math.MaxInt64}, dense(t, 0, math.MaxInt64), layout.Int2}), "")
}

func TestCheckPairs(t *testing.T) {
	a, b := &bytesOf{64}, &bytesOf{64}
	words := &stringsOf{bytesOf{8}}
	eight := dense(t, 0, 8)
	at := func(b Buffer, l layout.Layout, dtype layout.DType) Operand { return Operand{b, l, dtype} }
	type row struct {
		dst, src Operand
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
		says(t, CheckConvert(&c.dst, &c.src, Rounding{}), c.rule, "%v to %v", c.src, c.dst)
	}
	// Of all pairs of types, those of numbers will do.
	for _, to := range layout.DTypes() {
		for _, from := range layout.DTypes() {
			if to == layout.String || from == layout.String {
				continue
			}
			dst, src := at(a, dense(t, 0, 4), to), at(b, dense(t, 0, 4), from)
			complexes := []layout.DType{layout.Complex64, layout.Complex128}
			ok := !slices.Contains(complexes, to) && !slices.Contains(complexes, from)
			assert.Equal(t, ok, CheckConvert(&dst, &src, Rounding{}) == nil, "%v to %v", from, to)
		}
	}
}

func TestCheckFill(t *testing.T) {
	a, words := &bytesOf{64}, &stringsOf{bytesOf{8}}
	for _, dtype := range layout.DTypes() {
		if dtype == layout.String {
			continue
		}
		dst := Operand{a, dense(t, 0, 4), dtype}
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
	text := Operand{words, dense(t, 0, 8), layout.String}
	says(t, CheckFill(&Operand{a, broadcast, layout.Int8}, []byte{1}), "two indices share")
	says(t, CheckFill(&Operand{a, dense(t, 64), layout.Int8}, []byte{1}), "reaches beyond")
	says(t, CheckFill(&text, nil), "FillString")
	says(t, CheckFillString(&text), "")
	says(t, CheckFillString(&Operand{words, broadcast, layout.String}), "two indices share")
	says(t, CheckFillString(&Operand{words, dense(t, 8), layout.String}), "reaches beyond")
	says(t, CheckFillString(&Operand{a, dense(t, 0, 1), layout.String}), "holds bytes")
	says(t, CheckFillString(&Operand{nil, dense(t, 0, 1), layout.String}), "no buffer")
}

// Of a call whose form was checked, all that may be wrong with its places is found.
func TestCheckPlaces(t *testing.T) {
	a, b, short := &bytesOf{64}, &bytesOf{64}, &bytesOf{31}
	words := &stringsOf{bytesOf{64}}
	eight := dense(t, 0, 8)
	far := dense(t, 64, 8)
	for _, c := range []struct {
		dst, src     Buffer
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
		dst, src := Operand{c.dst, c.dOff, layout.Float32}, Operand{c.src, c.sOff, layout.Float32}
		says(t, CheckCopyPlaces(&dst, &src), c.copy)
		says(t, CheckCopy(&dst, &src), c.copy)
		says(t, CheckConvertPlaces(&dst, &src), c.values)
		says(t, CheckConvert(&dst, &src, Rounding{}), c.values)
	}
	pattern := []byte{1, 2, 3, 4}
	for _, c := range []struct {
		dst     Buffer
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
		dst := Operand{c.dst, c.l, layout.Float32}
		says(t, CheckFillPlaces(&dst, c.pattern), c.rule)
		says(t, CheckFill(&dst, c.pattern), c.rule)
	}
}

// Checks are on the path of every launch.
func TestChecksAllocateNothing(t *testing.T) {
	a, b := &bytesOf{1 << 20}, &bytesOf{1 << 20}
	l := dense(t, 0, 2, 3, 4, 5)
	p, err := l.Permute(3, 1, 0, 2)
	require.NoError(t, err)
	dst, src := Operand{a, p, layout.Float32}, Operand{b, dense(t, 0, 5, 3, 2, 4), layout.Float32}
	same := Operand{a, dense(t, 120, 5, 3, 2, 4), layout.Float32}
	pattern := make([]byte, 4)
	at := Operand{&bytesOf{1 << 20}, dense(t, 0, 5, 3, 2, 4), layout.Int64}
	by := []Index{{Offset: 3, Extent: 9, Stride: 100}}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if errors.Join(CheckCopy(&dst, &src), CheckCopy(&dst, &same), CheckFill(&dst, pattern), CheckTake(&dst, &src, &at, by)) != nil {
			t.Error("refused")
		}
	}))
}

func TestCounters(t *testing.T) {
	var c Counters
	c.Allocated(100)
	c.Allocated(50)
	c.Freed(100)
	c.Allocated(20)
	c.Upload(7)
	c.Upload(0)
	c.Download(3)
	c.Launch(11)
	c.Peer(5)
	c.Wait()
	assert.Equal(t, Stats{
		HostToDevice: 7, DeviceToHost: 3, DeviceToDevice: 11, PeerToDevice: 5, Uploads: 2, Downloads: 1, Launches: 1, PeerCopies: 1, Waits: 1,
		Live: 70, Peak: 150, Buffers: 2, Reserved: 99,
	}, c.Stats(99))
}

func TestCountersConcurrently(t *testing.T) {
	var c Counters
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 1000 {
				c.Allocated(3)
				c.Upload(1)
				c.Download(2)
				c.Launch(4)
				c.Freed(3)
				c.Stats(0)
			}
		})
	}
	group.Wait()
	got := c.Stats(0)
	assert.True(t, got.Peak >= 3 && got.Peak <= 24, "peak %d", got.Peak)
	got.Peak = 0
	assert.Equal(t, Stats{HostToDevice: 8000, DeviceToHost: 16000, DeviceToDevice: 32000, Uploads: 8000, Downloads: 8000, Launches: 8000}, got)
}

func TestErrors(t *testing.T) {
	build := &DriverError{Call: "clBuildProgram", Code: -11, Name: "CL_BUILD_PROGRAM_FAILURE", Log: "line 3: no"}
	err := fmt.Errorf("opencl:0: %w", build)
	require.ErrorIs(t, err, ErrDriver)
	assert.NotErrorIs(t, err, ErrInvalid)
	assert.NotErrorIs(t, err, ErrOutOfMemory)
	var driver *DriverError
	require.ErrorAs(t, err, &driver)
	assert.Equal(t, int64(-11), driver.Code)
	assert.EqualError(t, err, "opencl:0: clBuildProgram: CL_BUILD_PROGRAM_FAILURE (-11)\nline 3: no")
	assert.EqualError(t, &DriverError{Call: "cuInit", Code: 100, Name: "CUDA_ERROR_NO_DEVICE"}, "cuInit: CUDA_ERROR_NO_DEVICE (100)")

	require.ErrorIs(t, ErrClosed, ErrInvalid)
	assert.NotErrorIs(t, ErrInvalid, ErrClosed)
	for _, kind := range []error{ErrUnsupported, ErrDriver, ErrOutOfMemory, ErrNoDevice} {
		assert.NotErrorIs(t, kind, ErrInvalid)
	}
}

func TestInfoID(t *testing.T) {
	assert.Equal(t, "cpu", Info{Backend: "cpu", Index: 0}.ID())
	assert.Equal(t, "cuda:1", Info{Backend: "cuda", Index: 1}.ID())
	o := Operand{Layout: dense(t, 5, 2, 3), Type: layout.Float32}
	assert.Equal(t, "float[2,3]:{3,1}+5", o.String())
}
