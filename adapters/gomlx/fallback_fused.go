package gomlx

import (
	"github.com/gomlx/compute"
	"github.com/restride/restride/adapters/gomlx/internal/core"
)

// The operations of the Go backend that have operands within their options.

// copied copies options: the caller may change them.
func copied[T any](options *T) *T {
	if options == nil {
		return nil
	}
	own := *options
	return &own
}

// attention returns the operands of attention, including those in its options.
func attention(query, key, value compute.Value, options *compute.ScaledDotProductAttentionConfig) []core.Value {
	in := []core.Value{query, key, value}
	if options != nil {
		in = append(in, options.QuerySeqLen, options.KeyValueSeqLen, options.Bias, options.Mask)
	}
	return in
}

// attentionOptions returns the options with another function's operands.
func attentionOptions(options *compute.ScaledDotProductAttentionConfig, in []core.Value) *compute.ScaledDotProductAttentionConfig {
	if options == nil {
		return nil
	}
	o := *options
	o.QuerySeqLen, o.KeyValueSeqLen, o.Bias, o.Mask = in[3], in[4], in[5], in[6]
	return &o
}

func (f *function) FusedScaledDotProductAttention(query, key, value compute.Value, axes compute.AttentionAxesLayout, options *compute.ScaledDotProductAttentionConfig) (compute.Value, []compute.Value, error) {
	options = copied(options)
	v, err := f.many("FusedScaledDotProductAttention", func(to *computation, in []core.Value) ([]compute.Value, error) {
		output, states, err := to.FusedScaledDotProductAttention(in[0], in[1], in[2], axes, attentionOptions(options, in))
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
	in = core.Values(states, append(in, output, dOutput)...)
	return f.three("FusedScaledDotProductAttentionVJP", func(to *computation, in []core.Value) (a, b, c compute.Value, err error) {
		return to.FusedScaledDotProductAttentionVJP(in[0], in[1], in[2], axes, attentionOptions(options, in), in[n], core.Cast[compute.Value](in[n+2:]), in[n+1])
	}, in...)
}

// quantized appends the operands in a quantization.
func quantized(q *compute.Quantization, operands ...core.Value) []core.Value {
	if q == nil {
		return operands
	}
	return append(operands, q.Scale, q.ZeroPoint)
}

// requantized returns a quantization with another function's operands, the last of in.
func requantized(q *compute.Quantization, in []core.Value) *compute.Quantization {
	if q == nil {
		return nil
	}
	o := *q
	o.Scale, o.ZeroPoint = in[len(in)-2], in[len(in)-1]
	return &o
}

func (f *function) QuantizedEmbeddingLookup(data, indices compute.Value, q *compute.Quantization) (compute.Value, error) {
	q = copied(q)
	return f.one("QuantizedEmbeddingLookup", func(to *computation, in []core.Value) (compute.Value, error) {
		return to.QuantizedEmbeddingLookup(in[0], in[1], requantized(q, in))
	}, quantized(q, data, indices)...)
}

func (f *function) FusedQuantizedDense(x, weights, bias compute.Value, q *compute.Quantization, activation compute.ActivationType) (compute.Value, error) {
	q = copied(q)
	return f.one("FusedQuantizedDense", func(to *computation, in []core.Value) (compute.Value, error) {
		return to.FusedQuantizedDense(in[0], in[1], in[2], requantized(q, in), activation)
	}, quantized(q, x, weights, bias)...)
}

func (f *function) FusedAttentionQKVProjection(x, wQKV, biasQ, biasK, biasV compute.Value, queryDim, keyValueDim int) (query, key, value compute.Value, err error) {
	return f.three("FusedAttentionQKVProjection", func(to *computation, in []core.Value) (a, b, c compute.Value, err error) {
		return to.FusedAttentionQKVProjection(in[0], in[1], in[2], in[3], in[4], queryDim, keyValueDim)
	}, x, wQKV, biasQ, biasK, biasV)
}
