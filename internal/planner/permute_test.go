package planner_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/layout"
)

// chain is a layout that is viewed over some axes, which a permutation brings into
// another order: dst is contiguous.
type chain struct {
	name    string
	bits    int
	dims    []int64
	perm    []int
	strides []int64 // nil: contiguous
	offset  int64
}

// layouts returns both sides of the copy.
func (c chain) layouts() (dst, src layout.Layout) {
	view := dense(c.dims...)
	if c.strides != nil {
		view = strided(c.dims, c.strides, c.offset)
	}
	src, err := view.Permute(c.perm...)
	if err != nil {
		panic(err)
	}
	return like(src), src
}

// weights are formats of quantised weights, K = 512 by N = 1024.
var weights = []chain{
	{name: "AWQ to rows of K", bits: 4, dims: []int64{512, 128, 2, 4}, perm: []int{0, 1, 3, 2}},
	{name: "AWQ to GPTQ", bits: 4, dims: []int64{64, 8, 128, 2, 4}, perm: []int{0, 2, 4, 3, 1}},
	{name: "AWQ to rows of N", bits: 4, dims: []int64{512, 128, 2, 4}, perm: []int{1, 3, 2, 0}},
	{name: "GPTQ to rows of K", bits: 4, dims: []int64{64, 1024, 8}, perm: []int{0, 2, 1}},
	{name: "GPTQ, 2 bits", bits: 2, dims: []int64{32, 1024, 16}, perm: []int{0, 2, 1}},
	{name: "GPTQ, 8 bits", bits: 8, dims: []int64{128, 1024, 4}, perm: []int{0, 2, 1}},
	{name: "Marlin from rows of K", bits: 4, dims: []int64{32, 2, 4, 2, 16, 4, 2, 8}, perm: []int{0, 4, 7, 2, 5, 3, 6, 1}},
	{name: "Marlin from GPTQ", bits: 4, dims: []int64{32, 2, 16, 4, 2, 8, 4, 2}, perm: []int{0, 2, 5, 6, 3, 7, 4, 1}},
	{name: "Marlin from AWQ", bits: 4, dims: []int64{32, 2, 4, 2, 16, 4, 2, 2, 4}, perm: []int{0, 4, 8, 7, 2, 5, 3, 6, 1}},
	{name: "Marlin from rows of N", bits: 4, dims: []int64{16, 4, 2, 8, 32, 2, 4, 2}, perm: []int{4, 0, 3, 6, 1, 7, 2, 5}},
	{name: "Marlin, 8 bits", bits: 8, dims: []int64{32, 2, 4, 2, 16, 4, 2, 8}, perm: []int{0, 4, 7, 2, 5, 6, 3, 1}},
	{name: "Marlin's zeros from AWQ", bits: 4, dims: []int64{512, 16, 4, 2, 2, 4}, perm: []int{0, 1, 5, 4, 3, 2}},
	{name: "Machete", bits: 4, dims: []int64{8, 2, 4, 2, 8, 8, 4, 2, 4, 2}, perm: []int{5, 0, 1, 2, 4, 8, 6, 9, 7, 3}},
	{name: "Marlin's scales", bits: 16, dims: []int64{512, 16, 8, 8}, perm: []int{0, 1, 3, 2}},
	{name: "Triton's scales", bits: 8, dims: []int64{128, 4, 8, 4, 32}, perm: []int{2, 0, 4, 3, 1}},
	{name: "torchao", bits: 4, dims: []int64{128, 8, 8, 2, 4, 4, 2}, perm: []int{0, 2, 1, 5, 3, 6, 4}},
	{name: "TensorRT-LLM", bits: 4, dims: []int64{8, 2, 4, 4, 2, 256, 4}, perm: []int{5, 0, 6, 1, 3, 4, 2}},
	{name: "bitsandbytes", bits: 4, dims: []int64{1 << 18, 2}, perm: []int{0, 1}, strides: []int64{2, -1}, offset: 1},
	{name: "HQQ", bits: 4, dims: []int64{256, 1024, 2}, perm: []int{2, 0, 1}, strides: []int64{2048, 2, -1}, offset: 1},
	{name: "HQQ, 2 bits", bits: 2, dims: []int64{128, 1024, 4}, perm: []int{2, 0, 1}, strides: []int64{4096, 4, -1}, offset: 3},
	{name: "Q4_0", bits: 4, dims: []int64{16384, 2, 16}, perm: []int{0, 1, 2}, strides: []int64{36, 1, 2}, offset: 4},
	{name: "Q4_0, an odd number", bits: 4, dims: []int64{16383, 2, 16}, perm: []int{0, 1, 2}, strides: []int64{36, 1, 2}, offset: 4},
	{name: "MXFP4", bits: 4, dims: []int64{16384, 2, 16}, perm: []int{0, 1, 2}, strides: []int64{34, 1, 2}, offset: 2},
	{name: "Q4_K", bits: 4, dims: []int64{2048, 4, 2, 32}, perm: []int{0, 1, 2, 3}, strides: []int64{288, 64, 1, 2}, offset: 32},
	{name: "Q6_K's crumbs", bits: 2, dims: []int64{2048, 2, 4, 32}, perm: []int{0, 1, 2, 3}, strides: []int64{840, 128, 1, 4}, offset: 512},
}

// TestPermute: weights are permuted by words, to and from.
func TestPermute(t *testing.T) {
	h, rnd := hostOf(t), rand.New(rand.NewPCG(16, 16))
	for _, c := range weights {
		t.Run(c.name, func(t *testing.T) {
			dst, src := c.layouts()
			for _, sides := range [][2]layout.Layout{{dst, src}, {src, dst}} {
				l, err := planner.Plan(copying(sides[0], sides[1], c.bits), planner.Target{})
				require.NoError(t, err)
				assert.Equal(t, fmt.Sprintf("permute_%d", c.bits), l.Spec.String())
				h.check(t, rnd, sides[0], sides[1], c.bits, planner.Target{})
				l, err = planner.Plan(copying(sides[0], sides[1], c.bits), planner.Target{CPU: true})
				require.NoError(t, err)
				assert.NotEqual(t, planner.Permute, l.Spec.Form)
			}
		})
	}
}

// TestPlanPermuteTransposed: a transposition of blocks that lie at odd places goes by
// words, a plain one does not.
func TestPlanPermuteTransposed(t *testing.T) {
	blocks := strided([]int64{128, 32, 4096}, []int64{34, 1, 4352}, 2) // Q8_0
	for _, c := range []struct {
		dst, src layout.Layout
		form     planner.Form
	}{
		{blocks, like(blocks), planner.Permute},
		{dense(4096, 4096), strided([]int64{4096, 4096}, []int64{1, 4096}, 0), planner.Transpose},
	} {
		l, err := planner.Plan(copying(c.dst, c.src, 8), planner.Target{})
		require.NoError(t, err)
		assert.Equal(t, c.form, l.Spec.Form)
	}
}

// TestPermuteGaps: fields within bytes go by words, where the bytes' other bits are not
// the copy's: parts of quants and scales.
func TestPermuteGaps(t *testing.T) {
	h, rnd := hostOf(t), rand.New(rand.NewPCG(16, 18))
	for _, c := range []struct {
		name     string
		bits     int
		dims     []int64
		src, dst []int64 // strides
		from, to int64   // offsets
	}{
		{"Q6_K's low nibbles into bytes", 4, []int64{512, 2, 2, 64}, []int64{420, 128, 1, 2}, []int64{512, 256, 128, 2}, 0, 0},
		{"Q6_K's crumbs into bytes", 2, []int64{512, 2, 4, 32}, []int64{840, 128, 1, 4}, []int64{1024, 512, 128, 4}, 512, 2},
		{"Q6_K's crumbs, an odd number", 2, []int64{511, 2, 4, 32}, []int64{840, 128, 1, 4}, []int64{1024, 512, 128, 4}, 512, 2},
		{"Q4_K into high nibbles", 4, []int64{512, 4, 2, 32}, []int64{288, 64, 1, 2}, []int64{512, 128, 64, 2}, 32, 1},
		{"MXFP4 into bytes", 4, []int64{4097, 2, 16}, []int64{34, 1, 2}, []int64{64, 32, 2}, 2, 0},
		{"Q4_K's scales, 6 bits", 2, []int64{2048, 2, 4, 3}, []int64{576, 16, 4, 1}, []int64{64, 32, 4, 1}, 16, 0},
		{"Q4_K's scales, 4 bits", 2, []int64{2048, 2, 4, 2}, []int64{576, 2, 4, 1}, []int64{64, 32, 4, 1}, 48, 16},
		{"Q4_K's scales, 2 bits", 2, []int64{2048, 2, 4}, []int64{576, 16, 4}, []int64{64, 32, 4}, 19, 18},
		{"q4_K_8x8's scales, 6 bits", 2, []int64{32, 16, 2, 4, 4, 3}, []int64{73728, 576, 16, 4, 9216, 1}, []int64{73728, 4608, 16, 48, 4, 1}, 16, 128},
		{"q4_K_8x8's scales, 2 bits", 2, []int64{32, 16, 2, 4, 4}, []int64{73728, 576, 16, 4, 9216}, []int64{73728, 4608, 16, 48, 4}, 36882, 131},
	} {
		t.Run(c.name, func(t *testing.T) {
			from, to := strided(c.dims, c.src, c.from), strided(c.dims, c.dst, c.to)
			for _, sides := range [][2]layout.Layout{{from, to}, {to, from}} {
				l := h.check(t, rnd, sides[0], sides[1], c.bits, planner.Target{})
				assert.Equal(t, planner.Permute, l.Spec.Form)
			}
		})
	}
}

// TestPlanNotPermute: what has no words of powers of two, or has long rows, is not
// permuted.
func TestPlanNotPermute(t *testing.T) {
	for _, c := range []struct {
		name   string
		bits   int
		src    layout.Layout
		launch string
	}{
		{"rows of nibbles", 4, strided([]int64{4096, 512}, []int64{1001, 1}, 1), "rows.4"},
		{"reversed rows", 4, strided([]int64{4096, 512}, []int64{1024, -1}, 511), "reversed.4"},
		{"every second nibble", 4, strided([]int64{4096, 512}, []int64{1024, 2}, 0), "strided.1 field_1"},
		{"transposed nibbles", 4, strided([]int64{4096, 4096}, []int64{1, 4096}, 0), "transpose.4 transpose_4"},
		{"words of 3 by 5", 4, strided([]int64{4096, 5, 3}, []int64{15, 1, 5}, 0), "shuffle.4 gather_4"},
		{"a few words", 4, strided([]int64{32, 4, 2}, []int64{8, 1, 4}, 0), "shuffle.4 gather_4"},
		{"repeated", 4, strided([]int64{4096, 8, 4, 2}, []int64{8, 0, 1, 4}, 0), "broadcast.4 gather_4"},
	} {
		l, err := planner.Plan(copying(like(c.src), c.src, c.bits), planner.Target{})
		require.NoError(t, err, c.name)
		assert.NotEqual(t, planner.Permute, l.Spec.Form, c.name)
		if name := classed(&l) + " " + l.Spec.String(); len(c.launch) < len(name) {
			assert.Equal(t, c.launch, name[:len(c.launch)], c.name)
		}
	}
}

// TestPermuteRandom: random orders of digits, most of them powers of two, with gaps,
// offsets and axes that run backwards.
func TestPermuteRandom(t *testing.T) {
	h, rnd := hostOf(t), rand.New(rand.NewPCG(16, 17))
	permuted := map[planner.Spec]int{}
	for range 60 {
		bits := 2 << rnd.IntN(4)
		rank := 3 + rnd.IntN(5)
		dims := make([]int64, rank)
		left := int64(1 << 17)
		for i := range dims[1:] {
			dims[i+1] = 1 << (1 + rnd.IntN(4))
			left /= dims[i+1]
		}
		dims[0] = max(left-rnd.Int64N(left/4+1), 1)
		sides := [2]layout.Layout{digits(rnd, dims, false), digits(rnd, dims, true)}
		d := rnd.IntN(2)
		l := h.check(t, rnd, sides[d], sides[1-d], bits, planner.Target{})
		if l.Spec.Form == planner.Permute {
			permuted[l.Spec]++
		}
	}
	assert.Len(t, permuted, 4)
}

// digits returns a layout of one order of axes, or a random one, and a gap at its
// outermost axis now and then.
func digits(rnd *rand.Rand, dims []int64, shuffled bool) layout.Layout {
	order := make([]int, len(dims))
	for i := range order {
		order[i] = len(dims) - 1 - i
	}
	if shuffled {
		rnd.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	strides := make([]int64, len(dims))
	step, offset := int64(1), []int64{0, 0, 64, 1, 3, 20}[rnd.IntN(6)]
	for i, axis := range order {
		if i == len(order)-1 {
			step += []int64{0, 0, 8, 4, 1}[rnd.IntN(5)]
		}
		strides[axis] = step
		if shuffled && rnd.IntN(6) == 0 {
			strides[axis] = -step
			offset += (dims[axis] - 1) * step
		}
		step *= dims[axis]
	}
	return strided(dims, strides, offset)
}

// TestPermuteRagged: tiles fit extents that are not powers of two, so that little is done
// in vain.
func TestPermuteRagged(t *testing.T) {
	for _, c := range []chain{
		{name: "66 times 64 columns", bits: 4, dims: []int64{8, 1792, 4224, 8}, perm: []int{0, 1, 3, 2}},
		{name: "65 times 64 columns", bits: 2, dims: []int64{11, 688, 4160, 16}, perm: []int{0, 1, 3, 2}},
		{name: "AWQ, 65 times 64 columns", bits: 4, dims: []int64{688, 8, 520, 2, 4}, perm: []int{0, 2, 4, 3, 1}},
		{name: "Q4_0, 132 blocks a row", bits: 16, dims: []int64{1728, 132, 2, 8, 4}, perm: []int{0, 1, 2, 3, 4}, strides: []int64{9504, 9, 4, 1188, 1}, offset: 1},
	} {
		dst, src := c.layouts()
		for _, sides := range [][2]layout.Layout{{dst, src}, {src, dst}} {
			l, err := planner.Plan(copying(sides[0], sides[1], c.bits), planner.Target{})
			require.NoError(t, err)
			require.Equal(t, planner.Permute, l.Spec.Form, c.name)
			blocks := int64(binary.LittleEndian.Uint32(l.Params))
			tile := int64(256*8*4) << max(0, 3-c.bits) // bytes: a 2-bit tile has twice as many words
			assert.LessOrEqual(t, blocks*tile, l.Bytes*11/10, c.name)
		}
	}
}

// BenchmarkPlanPermute plans a permutation of many axes afresh.
func BenchmarkPlanPermute(b *testing.B) {
	dst, src := weights[8].layouts()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := planner.Plan(copying(dst, src, 4), planner.Target{}); err != nil {
			b.Fatal(err)
		}
	}
}
