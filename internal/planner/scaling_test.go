package planner_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/layout"
)

// TestPlanScaling names the kernels: blocks that lie densely go by 32 bytes of dst, and
// what does not by elements; launches are kept, with whatever terms there are.
func TestPlanScaling(t *testing.T) {
	c := planner.NewCache(parallel, 8, func([]byte) (int, error) { return 0, nil }, func(int) {})
	dst := dense(6, 4, 32)
	block := strided([]int64{6, 4, 32}, []int64{4, 1, 0}, 3)
	each := strided([]int64{6, 4, 32}, []int64{0, 0, 1}, 0)
	half := func(l layout.Layout) planner.Operand { return of(l, layout.Float16) }
	for _, x := range []struct {
		from  layout.DType
		terms []planner.Operand
		want  string
	}{
		{layout.Uint4, []planner.Operand{half(block)}, "dequantize_16_4"},
		{layout.Uint4, []planner.Operand{half(block), of(block, layout.Uint4)}, "dequantize_16_4"},
		{layout.Uint4, []planner.Operand{half(each)}, "dequantize_16_32"},
		{layout.Uint4, []planner.Operand{half(block), of(block, layout.Int32)}, "dequantize_16_32"},
		{layout.Uint2, []planner.Operand{half(block)}, "dequantize_16_2"},
	} {
		e, err := c.Get(scaling(planner.OpDequantize, dst, layout.Float16, x.from, x.terms...))
		require.NoError(t, err)
		assert.Equal(t, x.want, e.Spec.String())
		again, err := c.Get(scaling(planner.OpDequantize, dst, layout.Float16, x.from, x.terms...))
		require.NoError(t, err)
		assert.Same(t, e, again)
	}
	many := dense(6000, 400, 32)
	far := strided([]int64{6000, 400, 32}, []int64{1, 1 << 26, 0}, 0) // a block's terms are too far apart for 32 bits
	e, err := c.Get(scaling(planner.OpDequantize, many, layout.Float16, layout.Uint2, half(far)))
	require.NoError(t, err)
	assert.Equal(t, "dequantize_16_32", e.Spec.String())
	for want, scale := range map[string]layout.Layout{"codes_8_32": block, "quantize_8_32": each} {
		e, err := c.Get(scaling(planner.OpQuantize, dst, layout.Int8, layout.Float32, of(scale, layout.Float32)))
		require.NoError(t, err)
		assert.Equal(t, want, e.Spec.String())
	}
	found := scaling(planner.OpQuantize, dst, layout.Uint4, layout.Float16, half(block))
	found.FindScale = true
	e, err = c.Get(found)
	require.NoError(t, err)
	assert.Equal(t, "blocks_4_32", e.Spec.String())
}

// A device that ends long loops is given no block that needs them.
func TestBlockRounds(t *testing.T) {
	for n, kind := range map[int64]error{8192: nil, 8193: planner.ErrRounds} {
		o := scaling(planner.OpQuantize, dense(3, n), layout.Int8, layout.Float32, of(strided([]int64{3, n}, []int64{1, 0}, 0), layout.Float32))
		o.FindScale = true
		_, err := planner.Plan(o, planner.Target{MostRounds: 1 << 16})
		require.ErrorIs(t, err, kind)
	}
}
