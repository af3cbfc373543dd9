package onnx_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// attention is the layout part of an attention block, as in examples/attention:
// 7 nodes.
func attention(tb testing.TB, heads, width int64) *model.Model {
	m := model.New("attention_layout", 21)
	g := m.Graph
	batch, sequence := model.Symbolic("batch"), model.Symbolic("sequence")
	tokens := model.TensorOf(layout.Float32, batch, sequence, model.Known(heads*width))
	g.Inputs = []model.ValueInfo{{Name: "x", Type: tokens}}
	g.Outputs = []model.ValueInfo{
		{Name: "packed", Type: model.TensorOf(layout.Float32, batch, model.Known(heads), model.Symbolic("row"))},
		{Name: "merged", Type: tokens},
	}
	g.Initializers = []model.Tensor{
		constant(tb, "to_split", []int64{0, 0, heads, width}),
		constant(tb, "to_packed", []int64{0, 0, -1}),
		constant(tb, "to_rows", []int64{0, 0, -1, width}),
	}
	swap := onnx.Ints("perm", 0, 2, 1, 3)
	g.Nodes = []model.Node{
		node("Shape", "shape", []string{"x"}),
		node("Reshape", "split", []string{"x", "to_split"}),
		node("Transpose", "heads", []string{"split"}, swap),
		node("Reshape", "packed", []string{"heads", "to_packed"}),
		node("Reshape", "rows", []string{"packed", "to_rows"}),
		node("Transpose", "tokens", []string{"rows"}, swap),
		node("Reshape", "merged", []string{"tokens", "shape"}),
	}
	return m
}

// BenchmarkSession runs the attention layout: with one token all its nodes are
// views, with more the two Reshapes of transposed tensors are copies.
func BenchmarkSession(b *testing.B) {
	for _, c := range []struct {
		name     string
		sequence int64
	}{{"views", 1}, {"copies", 4}} {
		b.Run(c.name, func(b *testing.B) {
			s := open(b)
			m := attention(b, 16, 64)
			sess, err := onnx.NewSession(s, m)
			require.NoError(b, err)
			defer sess.Close()
			x, err := tensor.New(s, layout.Float32, 4, c.sequence, 1024)
			require.NoError(b, err)
			defer x.Release()
			ctx, in := context.Background(), onnx.Values{"x": x}
			b.ReportAllocs()
			for b.Loop() {
				out, err := sess.Run(ctx, in)
				if err != nil {
					b.Fatal(err)
				}
				if err := out.Release(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(m.Graph.Nodes)), "ns/node")
		})
	}
}

// BenchmarkAttentionBlock runs the block of attentionBlock on 8 times 512 tokens
// behind as many, 16 heads of 64. internal/bench/peers/attention_torch.py is PyTorch's
// part, without the weights.
func BenchmarkAttentionBlock(b *testing.B) {
	const batch, tokens, past, heads, width = 8, 512, 512, 16, 64
	for _, weights := range []bool{false, true} {
		name := "halves"
		if weights {
			name = "halves-and-int4"
		}
		b.Run(name, func(b *testing.B) {
			s := open(b)
			m := attentionBlock(b, heads, width)
			if !weights {
				m.Graph.Nodes = m.Graph.Nodes[:len(m.Graph.Nodes)-2]
				m.Graph.Outputs = m.Graph.Outputs[:len(m.Graph.Outputs)-1]
			}
			sess := session(b, s, m)
			in := onnx.Values{
				"qkv":    held(b)(tensor.New(s, layout.Float16, batch, tokens, 3*heads*width)),
				"past_k": held(b)(tensor.New(s, layout.Float16, batch, heads, past, width)),
				"past_v": held(b)(tensor.New(s, layout.Float16, batch, heads, past, width)),
			}
			b.ReportAllocs()
			best := time.Duration(1 << 62)
			for b.Loop() {
				start := time.Now()
				out, err := sess.Run(b.Context(), in)
				if err != nil {
					b.Fatal(err)
				}
				best = min(best, time.Since(start))
				if err := out.Release(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(best.Seconds()*1000, "best-ms")
		})
	}
}
