package planner_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/layout"
)

func dense(dims ...int64) layout.Layout {
	l, err := layout.Contiguous(dims...)
	if err != nil {
		panic(err)
	}
	return l
}

func strided(dims, strides []int64, offset int64) layout.Layout {
	l, err := layout.Strided(dims, strides, offset)
	if err != nil {
		panic(err)
	}
	return l
}

// like is the row-major layout of another's shape.
func like(l layout.Layout) layout.Layout { return dense(l.Shape()...) }

// classed is a launch's class and the width of its kernel's elements.
func classed(l *planner.Launch) string {
	if l.Groups == 0 {
		return l.Kernel()
	}
	return fmt.Sprintf("%s.%d", l.Class, l.Spec.DstBits)
}

func TestPlanCopy(t *testing.T) {
	gpu, cpu := planner.Target{}, planner.Target{CPU: true}
	square := strided([]int64{4096, 4096}, []int64{1, 4096}, 0)
	for _, c := range []struct {
		name   string
		bits   int
		src    layout.Layout
		target planner.Target
		launch string // see classed, and the kernel's name
	}{
		{"scalar", 32, dense(), gpu, "dense.32 element_32"},
		{"scalar nibble", 4, dense(), gpu, "dense.4 run_4"},
		{"empty", 32, dense(3, 0), gpu, "nothing"},
		{"contiguous floats", 32, dense(64, 64), gpu, "dense.128 element_128"},
		{"contiguous, an odd number", 32, dense(1001), gpu, "dense.32 element_32"},
		{"contiguous bytes, an odd number", 8, dense(1001), gpu, "dense.8 run_8"},
		{"contiguous bytes in chars", 8, dense(1001), cpu, "dense.8"},
		{"nibbles from an odd one", 4, strided([]int64{1 << 20}, []int64{1}, 1), gpu, "dense.4 run_4"},
		{"nibbles from an odd one, serial", 4, strided([]int64{1 << 20}, []int64{1}, 1), cpu, "dense.4 run_4_serial"},
		{"crumbs that are bytes", 2, strided([]int64{64, 16}, []int64{32, 1}, 64), gpu, "strided.32 element_32"},
		{"rows of floats", 32, strided([]int64{64, 60}, []int64{64, 1}, 0), gpu, "rows.128 element_128"},
		{"rows of bytes at odd places", 8, strided([]int64{64, 61}, []int64{67, 1}, 5), gpu, "rows.8 run_8_periods"},
		{"long rows of bytes at odd places", 8, strided([]int64{64, 70001}, []int64{70003, 1}, 5), gpu, "rows.8 run_8"},
		{"a long row of bytes, repeated", 8, strided([]int64{64, 70001}, []int64{0, 1}, 5), gpu, "broadcast.8 run_8_periods"},
		{"heads", 32, strided([]int64{8, 16, 512, 64}, []int64{512 * 16 * 64, 64, 16 * 64, 1}, 0), gpu, "rows.128 element_128"},
		{"every second float", 32, strided([]int64{64, 64}, []int64{128, 2}, 0), gpu, "strided.32 element_32"},
		{"every second byte", 8, strided([]int64{64, 64}, []int64{128, 2}, 0), gpu, "strided.8 element_8"},
		{"reversed", 16, strided([]int64{64, 64}, []int64{64, -1}, 63), gpu, "reversed.16 repack_16_back1_periods"},
		{"reversed nibbles", 4, strided([]int64{64, 64}, []int64{64, -1}, 63), cpu, "reversed.4 repack_4_back1_serial"},
		{"short rows reversed", 4, strided([]int64{64, 15}, []int64{15, -1}, 14), gpu, "reversed.4 repack_4_back1"},
		{"repeated column", 32, strided([]int64{64, 64}, []int64{1, 0}, 0), gpu, "broadcast.32"},
		{"repeated row", 32, strided([]int64{64, 64}, []int64{0, 1}, 0), gpu, "broadcast.16 run_16_periods"},
		{"transposed floats", 32, square, gpu, "transpose.32"},
		{"transposed nibbles", 4, square, gpu, "transpose.4"},
		{"transposed doubles", 64, square, cpu, "transpose.64"},
		{"colours innermost", 32, strided([]int64{8, 224, 224, 3}, []int64{3 * 224 * 224, 224, 1, 224 * 224}, 0), gpu, "shuffle.32"},
		{"planes of bytes to pixels", 8, strided([]int64{8, 224, 224, 3}, []int64{3 * 224 * 224, 224, 1, 224 * 224}, 0), gpu, "shuffle.8 shuffle_8"},
		{"pixels mirrored", 8, strided([]int64{224, 224, 3}, []int64{3 * 224, -3, 1}, 3*223), gpu, "rows.8 shuffle_8"},
		{"2^34 bytes, strided", 8, strided([]int64{1 << 17, 1 << 17}, []int64{1 << 18, 2}, 0), gpu, "strided.8 element_8"},
		{"steps of 2^33", 32, strided([]int64{3, 5}, []int64{1 << 33, 1 << 40}, 0), gpu, "general.32 element_32_wide"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := planner.Plan(copying(like(c.src), c.src, c.bits), c.target)
			require.NoError(t, err)
			got := classed(&l)
			if len(c.launch) > len(got) {
				got += " " + l.Spec.String()
			}
			assert.Equal(t, c.launch, got)
			assert.Equal(t, (c.src.Count()*int64(c.bits)+7)/8, l.Bytes)
			if l.Groups > 0 {
				assert.Contains(t, planner.Specs(), l.Spec)
			}
		})
	}
}

// TestPlanSpaced: short rows with gaps between them in dst are written by elements.
func TestPlanSpaced(t *testing.T) {
	for _, c := range []struct {
		bits     int
		n, pitch int64
		kernel   string
	}{
		{8, 3, 4, "element_8"}, {8, 103, 105, "element_8"}, {8, 104, 105, "run_8_periods"}, {8, 31, 31, "run_8"},
		{16, 15, 16, "element_16"}, {16, 103, 104, "element_16"}, {16, 105, 106, "run_16_periods"}, {4, 7, 9, "run_4"},
	} {
		l, err := planner.Plan(copying(strided([]int64{999, c.n}, []int64{c.pitch, 1}, 0), dense(999, c.n), c.bits), planner.Target{})
		require.NoError(t, err)
		assert.Equal(t, c.kernel, l.Spec.String(), "%v", c)
	}
}

// TestPlanPartialSectors: rows of wider elements that begin anywhere in sectors of dst go by chunks where
// passes of a block would write parts of sectors.
func TestPlanPartialSectors(t *testing.T) {
	for _, c := range []struct {
		bits     int
		n, pitch int64 // of dst
		offset   int64
		step     int64 // of src
		kernel   string
	}{
		{32, 1025, 1025, 0, 1, "run_16_periods"}, {32, 1025, 1025, 0, -1, "repack_32_back1_periods"}, {32, 1025, 1025, 0, 2, "element_32"},
		{32, 1025, 1032, 0, 1, "element_32"}, {32, 1025, 1032, 5, 1, "run_16_periods"},
		{32, 255, 255, 0, 1, "element_32"}, {32, 633, 633, 0, 1, "run_16_periods"}, {64, 1025, 1025, 0, 1, "element_64"},
		{32, 3, 3, 0, 1, "element_32"}, {64, 4095, 4096, 0, 1, "element_64"},
	} {
		src := strided([]int64{9999, c.n}, []int64{2*c.n + 1, c.step}, c.n)
		l, err := planner.Plan(copying(strided([]int64{9999, c.n}, []int64{c.pitch, 1}, c.offset), src, c.bits), planner.Target{})
		require.NoError(t, err)
		assert.Equal(t, c.kernel, l.Spec.String(), "%v", c)
	}
	for _, c := range []struct {
		bits     int
		n, pitch int64
		offset   int64
		kernel   string
	}{
		{32, 112, 114, 115, "fill_32"}, {32, 20, 23, 1, "fill_32"}, {32, 112, 120, 0, "fill_128"}, {32, 3, 5, 0, "fill_32"},
		{64, 33, 35, 1, "fill_64"}, {32, 1 << 20, 1 << 20, 1, "gather_16_fill"},
	} {
		l, err := planner.Plan(filling(strided([]int64{999, c.n}, []int64{c.pitch, 1}, c.offset), c.bits), planner.Target{})
		require.NoError(t, err)
		assert.Equal(t, c.kernel, l.Spec.String(), "%v", c)
	}
}

// TestPlanRepeated: rows that src repeats, and elements that it repeats along rows, are read once,
// or several ahead.
func TestPlanRepeated(t *testing.T) {
	for _, c := range []struct {
		bits   int
		n      int64
		row    bool
		kernel string
	}{
		{16, 100, true, "run_16_periods"}, {32, 100, true, "run_16_periods"}, {64, 16, true, "run_16_periods"}, {128, 16, true, "run_16_periods"},
		{32, 4096, true, "spread_128"}, {32, 16, true, "element_128"},
		{4, 16, false, "gather_4_repeat_periods"}, {8, 16, false, "gather_8_repeat_periods"}, {16, 16, false, "gather_16_repeat_periods"},
		{8, 100, false, "gather_8_repeat_periods"}, {32, 16, false, "element_32"},
	} {
		src := strided([]int64{1 << 20, c.n}, []int64{1, 0}, 0)
		if c.row {
			src = strided([]int64{1 << 20, c.n}, []int64{0, 1}, 0)
		}
		l, err := planner.Plan(copying(dense(1<<20, c.n), src, c.bits), planner.Target{})
		require.NoError(t, err)
		assert.Equal(t, c.kernel, l.Spec.String(), "%v", c)
	}
}

// TestPlanHuge plans what no machine has memory for: nothing overflows, and what
// is beyond a grid is refused.
func TestPlanHuge(t *testing.T) {
	for _, target := range []planner.Target{{}, {CPU: true}} {
		for bits := 2; bits <= 128; bits *= 2 {
			for _, src := range []layout.Layout{
				dense(1 << 40),
				strided([]int64{1 << 40}, []int64{1}, 1),
				strided([]int64{1 << 33, 3}, []int64{3, 1}, 7),
				strided([]int64{3, 1 << 33}, []int64{1, 3}, 7),
				strided([]int64{1 << 20, 1 << 20}, []int64{1, 1 << 20}, 0),
				strided([]int64{1 << 31, 5}, []int64{-5, -1}, 5<<31-1),
				strided([]int64{1 << 16, 1 << 16, 3}, []int64{0, 3, 1}, 0),
			} {
				l, err := planner.Plan(copying(like(src), src, bits), target)
				if err != nil {
					assert.ErrorIs(t, err, layout.ErrUnsupported)
					continue
				}
				assert.Positive(t, l.Groups)
				assert.Contains(t, planner.Specs(), l.Spec)
			}
		}
	}
	_, err := planner.Plan(copying(dense(1<<31, 1<<20), strided([]int64{1 << 31, 1 << 20}, []int64{3 << 20, 2}, 0), 32), planner.Target{})
	assert.ErrorIs(t, err, layout.ErrUnsupported)
}

// TestPlanBytesOverflow: 3<<64 bits counted as no bytes, and nothing was to be done.
func TestPlanBytesOverflow(t *testing.T) {
	for n, rule := range map[int64]string{1 << 29: "blocks of work", 1 << 31: "overflows int64"} {
		src := strided([]int64{3 << 28, n}, []int64{7, 0}, 0)
		_, err := planner.Plan(copying(dense(3<<28, n), src, 128), planner.Target{})
		assert.ErrorIs(t, err, layout.ErrUnsupported)
		assert.ErrorContains(t, err, rule)
	}
}

// TestPlanFillAndConvert names the kernels.
func TestPlanFillAndConvert(t *testing.T) {
	for _, c := range []struct {
		bits   int
		dst    layout.Layout
		kernel string
	}{
		{32, dense(64), "fill_128"},
		{32, dense(63), "fill_32"},
		{8, dense(63), "gather_8_fill"},
		{8, strided([]int64{9}, []int64{3}, 0), "fill_8"},
		{4, strided([]int64{9}, []int64{3}, 0), "gather_4_fill"},
		{2, dense(64), "fill_128"},
		{8, strided([]int64{99, 7}, []int64{9, 1}, 0), "fill_8"},
		{8, strided([]int64{999, 32}, []int64{33, 1}, 0), "gather_8_fill_periods"},
	} {
		l, err := planner.Plan(filling(c.dst, c.bits), planner.Target{})
		require.NoError(t, err)
		assert.Equal(t, c.kernel, l.Spec.String())
		assert.Equal(t, "fill", l.Class)
	}
	for _, c := range []struct {
		dst, src int
		signed   bool
		kernel   string
	}{
		{8, 4, true, "repack_8_s4"}, {8, 4, false, "repack_8_u4"}, {8, 2, true, "repack_8_s2"},
		{4, 8, true, "repack_4_u8"}, {2, 8, false, "repack_2_u8"},
	} {
		l, err := planner.Plan(packing(dense(5, 7), dense(5, 7), c.dst, c.src, c.signed), planner.Target{})
		require.NoError(t, err)
		assert.Equal(t, c.kernel, l.Spec.String())
		assert.Equal(t, "convert", l.Class)
		assert.Equal(t, (35*int64(c.dst)+7)/8, l.Bytes)
		// Elements that are no neighbours are looked for one by one.
		l, err = planner.Plan(packing(dense(35), strided([]int64{35}, []int64{2}, 0), c.dst, c.src, c.signed), planner.Target{})
		require.NoError(t, err)
		assert.Equal(t, "gather"+strings.TrimPrefix(c.kernel, "repack"), l.Spec.String())
	}
}

// TestPlanCast: one kernel serves all types of a width, but for pairs that have
// one of their own; on a GPU, what is dense on both sides has others.
func TestPlanCast(t *testing.T) {
	for _, c := range []struct {
		to, from layout.DType
		how      device.Rounding
		kernel   string
		dense    string // "": has none
	}{
		{layout.Int2, layout.Uint4, device.Rounding{}, "cast_2_32", "lookup_2_4"},
		{layout.Int4, layout.Uint16, device.Rounding{}, "cast_4_32", "value_4_16"},
		{layout.Int8, layout.Float64, device.Rounding{}, "cast_8_64", ""},
		{layout.Int16, layout.Float32, device.Rounding{}, "cast_16_32", "value_16_32"},
		{layout.Int32, layout.Uint4, device.Rounding{}, "cast_32_32", "lookup_32_4"},
		{layout.Int64, layout.Float64, device.Rounding{}, "cast_64_64", ""},
		{layout.Float32, layout.Float16, device.Rounding{}, "cast_float_float16", "value_32_16"},
		{layout.Float32, layout.Int8, device.Rounding{}, "cast_float_int8", "lookup_32_8"},
		{layout.Float16, layout.Float32, device.Rounding{Legacy: true, Unsaturated: true, Scale: device.RoundNearest}, "cast_float16_float", "value_16_32"},
		{layout.Float4E2M1, layout.Float16, device.Rounding{}, "cast_float4e2m1_float16", "value_4_16"},
		{layout.Float4E2M1, layout.Float16, device.Rounding{Legacy: true}, "cast_4_32", "value_4_16"},
		{layout.Float8E4M3FN, layout.BFloat16, device.Rounding{}, "cast_float8e4m3fn_bfloat16", "value_8_16"},
		{layout.Float8E4M3FN, layout.BFloat16, device.Rounding{Unsaturated: true}, "cast_8_32", "value_8_16"},
	} {
		for _, target := range []planner.Target{{}, {CPU: true}} {
			for _, src := range []layout.Layout{
				strided([]int64{5, 256}, []int64{1, 1 << 40}, 3), // steps beyond 32 bits need no kernel of their own
				dense(5, 256), strided([]int64{5, 256}, []int64{257, 1}, 3), strided([]int64{5, 256}, []int64{1 << 40, 1}, 3),
			} {
				l, err := planner.Plan(casting(dense(5, 256), src, c.to, c.from, c.how), target)
				require.NoError(t, err)
				want := c.kernel
				if target.CPU {
					want += "_serial"
				} else if src.Stride(1) == 1 && c.dense != "" {
					want = c.dense
				}
				assert.Equal(t, want, l.Spec.String())
				assert.Equal(t, "convert", l.Class)
				assert.Equal(t, (1280*int64(c.to.Bits())+7)/8, l.Bytes)
				assert.Contains(t, planner.Specs(), l.Spec)
			}
		}
	}
	// Rows that are shorter are put together from elements.
	l, err := planner.Plan(casting(dense(5, 3), strided([]int64{5, 3}, []int64{4, 1}, 0), layout.Float32, layout.Float16, device.Rounding{}), planner.Target{})
	require.NoError(t, err)
	assert.Equal(t, planner.Cast, l.Spec.Form)
	// Too many rows for a block each.
	many := strided([]int64{1 << 31, 24}, []int64{25, 1}, 0)
	l, err = planner.Plan(casting(many, many, layout.Float16, layout.Float8E4M3FN, device.Rounding{}), planner.Target{CPU: true})
	require.NoError(t, err)
	assert.Positive(t, l.Groups)
	l, err = planner.Plan(casting(dense(0), dense(0), layout.Float32, layout.Float16, device.Rounding{}), planner.Target{})
	require.NoError(t, err)
	assert.Equal(t, "nothing", l.Kernel())
	seen := map[uint64]layout.DType{}
	for _, dtype := range layout.DTypes() {
		if dtype == layout.String || dtype == layout.Complex64 || dtype == layout.Complex128 {
			continue
		}
		lo, hi := planner.Numbers(dtype, dtype, device.Rounding{})
		assert.Equal(t, lo, hi)
		assert.NotContains(t, seen, lo, "%v looks like %v", dtype, seen[lo])
		seen[lo] = dtype
	}
}

// TestLaunchFitsOtherOffsets plans at one offset and asks for another one.
func TestLaunchFitsOtherOffsets(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		c := oracle.Random(rng, oracle.Limits{Ops: []oracle.Op{oracle.OpCopy}})
		if c.DstType == layout.String {
			continue
		}
		bits := c.DstType.Bits()
		l, err := planner.Plan(copying(c.Dst, c.Src, bits), planner.Target{})
		require.NoError(t, err)
		dMore, sMore := rng.Int64N(1<<20)*128, rng.Int64N(1<<20)*128
		dst, err := c.Dst.Rebase(c.Dst.Offset() + dMore)
		require.NoError(t, err)
		src, err := c.Src.Rebase(c.Src.Offset() + sMore)
		require.NoError(t, err)
		moved, err := planner.Plan(copying(dst, src, bits), planner.Target{})
		require.NoError(t, err)
		if moved.Groups == 0 {
			continue
		}
		d, s := l.Base(planner.Dst, dst.Offset()), l.Base(planner.Src, src.Offset())
		wantD, wantS := moved.Base(planner.Dst, dst.Offset()), moved.Base(planner.Src, src.Offset())
		assert.Equal(t, [2]int64{wantD, wantS}, [2]int64{d, s}, "%v", c)
		assert.Equal(t, moved.Params, l.Params, "%v", c)
		assert.Equal(t, moved.Spec, l.Spec, "%v", c)
	}
}

// TestMagic divides as kernels do.
func TestMagic(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	divide := func(x, n uint32) uint32 {
		magic, shift := planner.MagicOf(int64(n))
		return uint32((uint64(uint32(uint64(x)*uint64(magic)>>32) + x)) >> shift)
	}
	for i := range 200000 {
		n := uint32(i + 1)
		if i > 5000 {
			n = rng.Uint32()>>(1+rng.UintN(30)) | 1
		}
		for _, x := range []uint32{0, 1, n - 1, n, n + 1, 1<<31 - 1, rng.Uint32() >> 1, rng.Uint32() >> 1 / n * n} {
			if x &= 1<<31 - 1; divide(x, n) != x/n {
				t.Fatalf("%d / %d = %d", x, n, divide(x, n))
			}
		}
	}
}

// The reader below takes parameters apart as kernels do, in Go.

type reader struct {
	blocks, cut, flat, words, span     uint32
	extent, d, s, length               int64
	outer, inner, run                  []digit
	outerAxes, innerAxes, runAxesCount uint32
}

type digit struct {
	n    uint32
	d, s int64
}

func read(params []byte) reader {
	le := binary.LittleEndian
	u := func(i int) uint32 { return le.Uint32(params[4*i:]) }
	v := func(at int) int64 { return int64(le.Uint64(params[at:])) }
	r := reader{
		blocks: u(0), outerAxes: u(1), innerAxes: u(2), runAxesCount: u(3), cut: u(4), flat: u(5), words: u(6), span: u(7),
		extent: v(32), d: v(40), s: v(48), length: v(56),
	}
	at := 128
	axes := func(n uint32) []digit {
		all := make([]digit, n)
		for i := range all {
			all[i] = digit{le.Uint32(params[at:]), v(at + 16), v(at + 24)}
			at += 32
		}
		return all
	}
	r.outer, r.inner, r.run = axes(r.outerAxes), axes(r.innerAxes), axes(r.runAxesCount)
	return r
}

// elements calls f with the positions of every element of a block of an
// element form, from the bases.
func (r reader) elements(block uint32, f func(d, s int64)) {
	d, s := int64(0), int64(0)
	first := int64(0)
	for i, a := range r.outer {
		x := int64(block % a.n)
		block /= a.n
		d, s = d+x*a.d, s+x*a.s
		if i == 0 {
			first = x
		}
	}
	left := min(int64(r.cut), r.extent-first*int64(r.cut)) * int64(r.flat)
	for item := range left {
		x, dd, ss := item, d, s
		for _, a := range r.inner {
			i := x % int64(a.n)
			x /= int64(a.n)
			dd, ss = dd+i*a.d, ss+i*a.s
		}
		f(dd+x*r.d, ss+x*r.s)
	}
}

// TestElements runs the plans of element forms in Go: each element once.
func TestElements(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	ran := 0
	for range 3000 {
		c := oracle.Random(rng, oracle.Limits{Ops: []oracle.Op{oracle.OpCopy}})
		if c.DstType == layout.String {
			continue
		}
		bits := c.DstType.Bits()
		l, err := planner.Plan(copying(c.Dst, c.Src, bits), planner.Target{})
		require.NoError(t, err)
		if l.Spec.Form != planner.Element {
			continue
		}
		ran++
		per := int64(l.Spec.DstBits) / int64(bits)
		want := map[[2]int64]bool{}
		d, s := c.Dst, c.Src
		layout.Simplify(&d, &s)
		positions(d, s, func(d, s int64) {
			want[[2]int64{d / per, s / per}] = true
		})
		dBase, sBase := l.Base(planner.Dst, c.Dst.Offset()), l.Base(planner.Src, c.Src.Offset())
		r := read(l.Params)
		seen := map[[2]int64]bool{}
		for b := range r.blocks {
			r.elements(b, func(d, s int64) {
				at := [2]int64{dBase + d, sBase + s}
				require.False(t, seen[at], "%v: twice", c)
				seen[at] = true
			})
		}
		require.Equal(t, want, seen, "%v", c)
	}
	assert.Greater(t, ran, 200)
}

func positions(d, s layout.Layout, f func(d, s int64)) {
	index := make([]int64, d.Rank())
	for {
		f(d.At(index...), s.At(index...))
		k := d.Rank() - 1
		for ; k >= 0; k-- {
			if index[k]++; index[k] < d.Dim(k) {
				break
			}
			index[k] = 0
		}
		if k < 0 {
			return
		}
	}
}

func ExamplePlan() {
	src, _ := layout.Contiguous(8, 512, 16, 64)
	src, _ = src.Permute(0, 2, 1, 3)
	dst, _ := layout.Contiguous(8, 16, 512, 64)
	o := planner.Operation{Op: planner.OpCopy}
	o.Operands[planner.Dst] = planner.Operand{Type: layout.Float32, Layout: &dst}
	o.Operands[planner.Src] = planner.Operand{Type: layout.Float32, Layout: &src}
	l, err := planner.Plan(&o, planner.Target{})
	fmt.Println(l.Class, l.Kernel(), l.Spec, l.Bytes, err)
	// Output: rows element.128 element_128 16777216 <nil>
}
