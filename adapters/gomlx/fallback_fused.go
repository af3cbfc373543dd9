package gomlx

import "github.com/gomlx/compute"

// The fused operations, some of whose operands are optional or are in their options.

func (f *function) FusedSoftmax(x compute.Value, axis int) (compute.Value, error) {
	return f.unary("FusedSoftmax", func(g compute.Function, x compute.Value) (compute.Value, error) { return g.FusedSoftmax(x, axis) }, x)
}

func (f *function) FusedGelu(x compute.Value, exact bool) (compute.Value, error) {
	return f.unary("FusedGelu", func(g compute.Function, x compute.Value) (compute.Value, error) { return g.FusedGelu(x, exact) }, x)
}

func (f *function) FusedLayerNorm(x compute.Value, axes []int, epsilon float64, gamma, beta compute.Value) (compute.Value, error) {
	keep(&axes)
	return f.oneResult("FusedLayerNorm", func(g compute.Function, in []compute.Value) (compute.Value, error) {
		return g.FusedLayerNorm(in[0], axes, epsilon, in[1], in[2])
	}, x, gamma, beta)
}

func (f *function) FusedDense(x, weight, bias compute.Value, options compute.DenseConfig) (compute.Value, error) {
	return f.oneResult("FusedDense", func(g compute.Function, in []compute.Value) (compute.Value, error) {
		return g.FusedDense(in[0], in[1], in[2], options)
	}, x, weight, bias)
}

// copied is keep for options.
func copied[T any](options *T) *T {
	if options == nil {
		return nil
	}
	own := *options
	return &own
}

// attention returns the operands of attention, including those in its options.
func attention(query, key, value compute.Value, options *compute.ScaledDotProductAttentionConfig) []compute.Value {
	in := []compute.Value{query, key, value}
	if options != nil {
		in = append(in, options.QuerySeqLen, options.KeyValueSeqLen, options.Bias, options.Mask)
	}
	return in
}

// attentionOptions returns the options with another function's operands.
func attentionOptions(options *compute.ScaledDotProductAttentionConfig, in []compute.Value) *compute.ScaledDotProductAttentionConfig {
	if options == nil {
		return nil
	}
	o := *options
	o.QuerySeqLen, o.KeyValueSeqLen, o.Bias, o.Mask = in[3], in[4], in[5], in[6]
	return &o
}

func (f *function) FusedScaledDotProductAttention(query, key, value compute.Value, axes compute.AttentionAxesLayout, options *compute.ScaledDotProductAttentionConfig) (compute.Value, []compute.Value, error) {
	options = copied(options)
	v, err := f.several("FusedScaledDotProductAttention", func(g compute.Function, in []compute.Value) ([]compute.Value, error) {
		output, states, err := g.FusedScaledDotProductAttention(in[0], in[1], in[2], axes, attentionOptions(options, in))
		return append([]compute.Value{output}, states...), err
	}, attention(query, key, value, options)...)
	if err != nil {
		return nil, nil, err
	}
	return v[0], v[1:], nil
}

func (f *function) FusedScaledDotProductAttentionVJP(query, key, value compute.Value, axes compute.AttentionAxesLayout, options *compute.ScaledDotProductAttentionConfig, output compute.Value, states []compute.Value, dOutput compute.Value) (dQuery, dKey, dValue compute.Value, err error) {
	options = copied(options)
	in := attention(query, key, value, options)
	n := len(in)
	in = append(append(in, output, dOutput), states...)
	return f.threeResults("FusedScaledDotProductAttentionVJP", func(g compute.Function, in []compute.Value) (a, b, c compute.Value, err error) {
		return g.FusedScaledDotProductAttentionVJP(in[0], in[1], in[2], axes, attentionOptions(options, in), in[n], in[n+2:], in[n+1])
	}, in...)
}

// quantized returns the operands in a quantization.
func quantized(q *compute.Quantization) []compute.Value {
	if q == nil {
		return nil
	}
	return []compute.Value{q.Scale, q.ZeroPoint}
}

// requantized returns a quantization with another function's operands, the last of in.
func requantized(q *compute.Quantization, in []compute.Value) *compute.Quantization {
	if q == nil {
		return nil
	}
	o := *q
	o.Scale, o.ZeroPoint = in[len(in)-2], in[len(in)-1]
	return &o
}

func (f *function) QuantizedEmbeddingLookup(data, indices compute.Value, q *compute.Quantization) (compute.Value, error) {
	q = copied(q)
	return f.oneResult("QuantizedEmbeddingLookup", func(g compute.Function, in []compute.Value) (compute.Value, error) {
		return g.QuantizedEmbeddingLookup(in[0], in[1], requantized(q, in))
	}, append([]compute.Value{data, indices}, quantized(q)...)...)
}

func (f *function) FusedQuantizedDense(x, weights, bias compute.Value, q *compute.Quantization, activation compute.ActivationType) (compute.Value, error) {
	q = copied(q)
	return f.oneResult("FusedQuantizedDense", func(g compute.Function, in []compute.Value) (compute.Value, error) {
		return g.FusedQuantizedDense(in[0], in[1], in[2], requantized(q, in), activation)
	}, append([]compute.Value{x, weights, bias}, quantized(q)...)...)
}

func (f *function) FusedAttentionQKVProjection(x, wQKV, biasQ, biasK, biasV compute.Value, queryDim, keyValueDim int) (query, key, value compute.Value, err error) {
	return f.threeResults("FusedAttentionQKVProjection", func(g compute.Function, in []compute.Value) (a, b, c compute.Value, err error) {
		return g.FusedAttentionQKVProjection(in[0], in[1], in[2], in[3], in[4], queryDim, keyValueDim)
	}, x, wQKV, biasQ, biasK, biasV)
}
