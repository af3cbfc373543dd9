package kernels_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/kernels"
	"github.com/restride/restride/layout"
)

// TestPlanScaling names the kernels: blocks that lie densely go by 32 bytes of dst, and
// what does not by elements; launches are kept, with whatever terms there are.
func TestPlanScaling(t *testing.T) {
	c := kernels.NewCache(parallel, 8, func([]byte) (int, error) { return 0, nil }, func(int) {})
	dst := dense(6, 4, 32)
	block := strided([]int64{6, 4, 32}, []int64{4, 1, 0}, 3)
	each := strided([]int64{6, 4, 32}, []int64{0, 0, 1}, 0)
	by := kernels.Scaling{To: layout.Float16, From: layout.Uint4, Scale: layout.Float16}
	for _, x := range []struct {
		terms kernels.TermLayouts
		zero  layout.DType
		want  string
	}{
		{kernels.TermLayouts{&block, nil, nil}, layout.Invalid, "dequantize_16_4"},
		{kernels.TermLayouts{&block, &block, nil}, layout.Uint4, "dequantize_16_4"},
		{kernels.TermLayouts{&each, nil, nil}, layout.Invalid, "dequantize_16_32"},
		{kernels.TermLayouts{&block, &block, nil}, layout.Int32, "dequantize_16_32"},
	} {
		by.Zero = x.zero
		e, err := c.Scale(&dst, &dst, &x.terms, by)
		require.NoError(t, err)
		assert.Equal(t, x.want, e.Spec.String())
		again, err := c.Scale(&dst, &dst, &x.terms, by)
		require.NoError(t, err)
		assert.Same(t, e, again)
	}
	by.Zero, by.From = layout.Invalid, layout.Uint2
	e, err := c.Scale(&dst, &dst, &kernels.TermLayouts{&block, nil, nil}, by)
	require.NoError(t, err)
	assert.Equal(t, "dequantize_16_2", e.Spec.String())
	many := dense(6000, 400, 32)
	far := strided([]int64{6000, 400, 32}, []int64{1, 1 << 26, 0}, 0) // a block's terms take more than 32 bits
	e, err = c.Scale(&many, &many, &kernels.TermLayouts{&far, nil, nil}, by)
	require.NoError(t, err)
	assert.Equal(t, "dequantize_16_32", e.Spec.String())
	codes := kernels.Scaling{Quantize: true, To: layout.Int8, From: layout.Float32, Scale: layout.Float32}
	for want, scale := range map[string]*layout.Layout{"codes_8_32": &block, "quantize_8_32": &each} {
		e, err := c.Scale(&dst, &dst, &kernels.TermLayouts{scale}, codes)
		require.NoError(t, err)
		assert.Equal(t, want, e.Spec.String())
	}
	found := kernels.Scaling{Quantize: true, FindScale: true, To: layout.Uint4, From: layout.Float16, Scale: layout.Float16}
	e, err = c.Scale(&dst, &dst, &kernels.TermLayouts{&block, nil, nil}, found)
	require.NoError(t, err)
	assert.Equal(t, "blocks_4_32", e.Spec.String())
}

// A device that ends long loops is given no block that takes them.
func TestBlockRounds(t *testing.T) {
	by := kernels.Scaling{Quantize: true, FindScale: true, To: layout.Int8, From: layout.Float32, Scale: layout.Float32}
	for n, kind := range map[int64]error{8192: nil, 8193: kernels.ErrRounds} {
		scale := strided([]int64{3, n}, []int64{1, 0}, 0)
		_, err := kernels.PlanScaling(dense(3, n), dense(3, n), kernels.TermLayouts{&scale}, by, kernels.Target{MostRounds: 1 << 16})
		require.ErrorIs(t, err, kind)
	}
}
