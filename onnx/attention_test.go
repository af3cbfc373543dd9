package onnx_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// attentionBlock is what is layout in a block of GPT-2: of the product with the
// weights, qkv [batch, tokens, 3*heads*width], it makes queries, keys and values
// by head, appends keys and values to the caches of earlier tokens, turns the
// keys for the product with the queries, and joins the heads of the result. Its
// shapes are worked out in the graph. Weights of 4 bits are turned beside it.
//
// The result of attention stands in for by the queries, which have its shape.
func attentionBlock(tb testing.TB, heads, width int64) *model.Model {
	m := model.New("attention", 21)
	half := func(name string) model.ValueInfo { return input(name, layout.Float16) }
	m.Graph.Inputs = []model.ValueInfo{half("qkv"), half("past_k"), half("past_v")}
	m.Graph.Outputs = outputs("q", "k", "v", "joined", "present_k", "present_v", "weights_t")
	list := func(name string, values ...int64) {
		m.Graph.Initializers = append(m.Graph.Initializers, constant(tb, name, values))
	}
	list("0", 0)
	list("1", 1)
	list("heads", heads)
	list("width", width)
	list("-1", -1)
	weights := model.Tensor{Name: "weights", Type: layout.Int4, Dims: layout.Shape{heads * width, 3 * heads * width}}
	weights.Data = make([]byte, 3*heads*width*heads*width/2)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range weights.Data {
		weights.Data[i] = byte(rng.Uint32())
	}
	m.Graph.Initializers = append(m.Graph.Initializers, weights)

	add := func(op, output string, inputs []string, attrs ...model.Attr) {
		m.Graph.Nodes = append(m.Graph.Nodes, node(op, output, inputs, attrs...))
	}
	axis := func(i int64) model.Attr { return onnx.Int("axis", i) }
	add("Shape", "shape", []string{"qkv"})
	add("Gather", "batch", []string{"shape", "0"}, axis(0))
	add("Gather", "tokens", []string{"shape", "1"}, axis(0))
	add("Concat", "by_head", []string{"batch", "tokens", "heads", "width"}, axis(0))
	add("Concat", "flat", []string{"-1", "tokens", "width"}, axis(0))
	add("Concat", "tokens_last", []string{"batch", "tokens", "-1"}, axis(0))
	split := model.NewNode("Split", []string{"qkv"}, []string{"sq", "sk", "sv"}, axis(2), onnx.Int("num_outputs", 3))
	m.Graph.Nodes = append(m.Graph.Nodes, split)
	for _, x := range []string{"q", "k", "v"} {
		add("Reshape", x+"_heads", []string{"s" + x, "by_head"})
		add("Transpose", x+"_t", []string{x + "_heads"}, onnx.Ints("perm", 0, 2, 1, 3))
	}
	add("Reshape", "q", []string{"q_t", "flat"})
	for _, x := range []string{"k", "v"} {
		add("Concat", "present_"+x, []string{"past_" + x, x + "_t"}, axis(2))
		add("Shape", x+"_shape", []string{"present_" + x})
		add("Gather", x+"_tokens", []string{x + "_shape", "two"}, axis(0))
	}
	list("two", 2)
	add("Transpose", "k_turned", []string{"present_k"}, onnx.Ints("perm", 0, 1, 3, 2))
	add("Concat", "k_flat", []string{"-1", "width", "k_tokens"}, axis(0))
	add("Reshape", "k", []string{"k_turned", "k_flat"})
	add("Concat", "v_flat", []string{"-1", "v_tokens", "width"}, axis(0))
	add("Reshape", "v", []string{"present_v", "v_flat"})
	add("Concat", "result_by_head", []string{"batch", "heads", "tokens", "width"}, axis(0))
	add("Reshape", "result", []string{"q", "result_by_head"})
	add("Transpose", "result_t", []string{"result"}, onnx.Ints("perm", 0, 2, 1, 3))
	add("Reshape", "joined", []string{"result_t", "tokens_last"})
	add("Transpose", "w_turned", []string{"weights"})
	add("Reshape", "weights_t", []string{"w_turned", "-1"})
	return m
}

// attentionCopies are the copies of the block, counted by hand: queries by head;
// for keys and values the cache and the new tokens, each straight to its place;
// the joined heads. The weights are turned once, with the session. The turned keys
// are a view: batches and heads are one axis in the new cache.
const attentionCopies = 1 + 2 + 2 + 1

// The block runs with one upload and one download, and with the fewest copies.
func TestAttentionNeverLeavesTheDevice(t *testing.T) {
	const batch, tokens, past, heads, width = 2, 6, 3, 4, 8
	onFake, _ := openFake(t)
	for _, s := range []*tensor.Stream{open(t), onFake} {
		t.Run(s.Device().Info().ID(), func(t *testing.T) { attend(t, s, batch, tokens, past, heads, width) })
	}
}

func attend(t *testing.T, s *tensor.Stream, batch, tokens, past, heads, width int64) {
	dev := s.Device()
	sess := session(t, s, attentionBlock(t, heads, width))
	pastK := numbered(layout.Float16, batch, heads, past, width)
	pastV := numbered(layout.Float16, batch, heads, past, width)
	k, v := upload(t, pastK, s, layout.Float16), upload(t, pastV, s, layout.Float16)
	nodes := map[string]onnx.NodeReport{}
	sess.OnNode(func(n onnx.NodeReport) { nodes[n.Output] = n })

	before := dev.Stats()
	qkv := numbered(layout.Float16, batch, tokens, 3*heads*width)
	out := run(t, sess, onnx.Values{"qkv": upload(t, qkv, s, layout.Float16), "past_k": k, "past_v": v})
	read := func(name string, want array) {
		t.Helper()
		y, err := out.Tensor(name)
		require.NoError(t, err)
		same(t, layout.Float16, want, y)
	}
	joined := qkv.Take(2, sliced(3*heads*width, 0, heads*width, 1)) // the queries, there and back
	read("joined", joined)
	after := dev.Stats()
	require.EqualValues(t, 1, after.Uploads-before.Uploads)
	require.EqualValues(t, 1, after.Downloads-before.Downloads)
	require.EqualValues(t, attentionCopies, after.Launches-before.Launches)
	p, err := sess.Plan(map[string]layout.Shape{
		"qkv": {batch, tokens, 3 * heads * width}, "past_k": {batch, heads, past, width}, "past_v": {batch, heads, past, width},
	}, nil)
	require.NoError(t, err)
	require.EqualValues(t, attentionCopies, p.Copies)
	require.Zero(t, p.Uploaded)
	for _, name := range []string{"sq", "k_t", "v", "k", "result"} {
		require.Equal(t, tensor.View, nodes[name].Kind, name)
	}
	for _, name := range []string{"batch", "by_head", "k_flat", "result_by_head"} {
		require.True(t, nodes[name].Host, name)
	}

	part := func(i int64) array {
		return qkv.Take(2, sliced(3*heads*width, i*heads*width, (i+1)*heads*width, 1)).
			Reshape(batch, tokens, heads, width).Transpose(0, 2, 1, 3)
	}
	read("q", part(0).Reshape(batch*heads, tokens, width))
	read("present_k", pastK.Joined(2, part(1)))
	read("present_v", pastV.Joined(2, part(2)))
	read("k", pastK.Joined(2, part(1)).Transpose(0, 1, 3, 2).Reshape(batch*heads, width, past+tokens))
	read("v", pastV.Joined(2, part(2)).Reshape(batch*heads, past+tokens, width))
}

// The same at the size of a real model.
func TestAttentionOfGPT2(t *testing.T) {
	const batch, tokens, past, heads, width = 8, 512, 512, 16, 64
	s := open(t)
	sess := session(t, s, attentionBlock(t, heads, width))
	shapes := map[string]layout.Shape{
		"qkv": {batch, tokens, 3 * heads * width}, "past_k": {batch, heads, past, width}, "past_v": {batch, heads, past, width},
	}
	p, err := sess.Plan(shapes, nil)
	require.NoError(t, err)
	require.EqualValues(t, attentionCopies, p.Copies)
	in := onnx.Values{}
	for _, name := range []string{"past_k", "past_v"} {
		in[name] = held(t)(tensor.New(s, layout.Float16, shapes[name]...))
	}
	data := make([]byte, 2*batch*tokens*3*heads*width)
	for i := range data {
		data[i] = byte(i * 7 >> 3)
	}
	before := s.Device().Stats()
	in["qkv"] = held(t)(tensor.FromBytes(s, layout.Float16, data, shapes["qkv"]...))
	out := run(t, sess, in)
	joined := make([]byte, len(data)/3)
	y, err := out.Tensor("joined")
	require.NoError(t, err)
	require.NoError(t, y.ReadInto(joined))
	after := s.Device().Stats()
	require.EqualValues(t, 1, after.Uploads-before.Uploads)
	require.EqualValues(t, 1, after.Downloads-before.Downloads)
	require.EqualValues(t, attentionCopies, after.Launches-before.Launches)
	require.Equal(t, after.DeviceToDevice-before.DeviceToDevice, p.Copied)
	const row = 2 * heads * width
	for i := range batch * tokens {
		require.Equal(t, data[3*i*row:][:row], joined[i*row:][:row], "token %d", i)
	}
}
