package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// sizes describe a decoder with random weights. export writes it as a training framework's
// exporter would: a graph of ONNX operators, whose inputs the weights are, and the weights.
type sizes struct {
	layers, heads, width, vocabulary, positions int64
	dtype                                       layout.DType
}

// export writes PATH.onnx and PATH.safetensors. The weights are the same each time.
func (z sizes) export(path string) error {
	if min(z.layers, z.heads, z.width, z.vocabulary, z.positions) < 1 || z.width%z.heads != 0 {
		return layout.Errorf(device.ErrInvalid, "export", "%+v: all sizes must be at least 1, and the width a multiple of the heads", z)
	}
	m, weights := z.model()
	if err := m.Save(path + ".onnx"); err != nil {
		return err
	}
	return writeWeights(path+".safetensors", weights)
}

// graph is an ONNX graph in the making.
type graph struct {
	*model.Graph
	sizes
	weights []model.ValueInfo
}

// model returns the graph of a step, and which of its inputs are weights. The newest token of
// each sequence goes in, the next one comes out. Nothing but elements changes from step to step.
//
//	token                    int64[batch,1]                           the sequences' newest tokens
//	position                 int64[batch]                             the tokens' places in their sequences
//	layers.I.keys, .values   [batch,heads,positions,width/heads]      the caches
//
//	logits                   [batch,1,vocabulary]
//	token.new, position.new                                           the most likely tokens, and their places
//	layers.I.keys.new, .values.new                                    the caches with the newest tokens
func (z sizes) model() (*model.Model, []model.ValueInfo) {
	m := model.New("gpt", 24)
	m.Producer = "restride"
	g := &graph{Graph: m.Graph, sizes: z}
	g.ints("by head", []int64{5}, 0, 0, 3, z.heads, z.width/z.heads)
	g.ints("joined", []int64{3}, 0, 0, z.width)
	g.ints("one", []int64{1}, 1)
	for i, name := range []string{"query", "key", "value"} {
		g.ints(name, nil, int64(i))
	}
	g.both("token", layout.Int64, 1)
	g.both("position", layout.Int64)
	g.Outputs = append(g.Outputs, batched("logits", z.dtype, 1, z.vocabulary))
	g.node("Gather", "embedded", []string{g.weight("tokens", z.vocabulary, z.width), "token"})
	g.node("Gather", "placed", []string{g.weight("positions", z.positions, z.width), "position"})
	g.node("Unsqueeze", "place", []string{"placed", "one"})
	g.node("Add", "x", []string{"embedded", "place"})
	g.node("Add", "position.new", []string{"position", "one"})
	x := "x"
	for i := range z.layers {
		x = g.layer(func(name string) string { return fmt.Sprintf("layers.%d.%s", i, name) }, x)
	}
	g.node("RMSNormalization", "normed", []string{x, g.weight("norm", z.width)})
	g.linear("logits", "normed", "tokens")
	g.node("ArgMax", "token.new", []string{"logits"}, onnx.Int("axis", -1), onnx.Int("keepdims", 0))
	return m, g.weights
}

// layer adds a layer. Queries, keys and values by head are views of one product. The newest
// tokens' keys and values are written to the caches, where Attention finds all of them.
func (g *graph) layer(in func(string) string, x string) string {
	w := g.width
	g.node("RMSNormalization", in("a"), []string{x, g.weight(in("attention.norm"), w)})
	g.linear(in("b"), in("a"), g.weight(in("attention.in"), 3*w, w))
	g.node("Reshape", in("c"), []string{in("b"), "by head"})
	g.node("Transpose", in("heads"), []string{in("c")}, onnx.Ints("perm", 2, 0, 3, 1, 4))
	for _, name := range []string{"query", "key", "value"} {
		g.node("Gather", in(name), []string{in("heads"), name})
	}
	for _, cache := range []string{"key", "value"} {
		g.both(in(cache+"s"), g.dtype, g.heads, g.positions, w/g.heads)
		g.node("TensorScatter", in(cache+"s.new"), []string{in(cache + "s"), in(cache), "position"})
	}
	g.node("Attention", in("d"), []string{in("query"), in("keys.new"), in("values.new"), "", "", "", "position.new"})
	g.node("Transpose", in("e"), []string{in("d")}, onnx.Ints("perm", 0, 2, 1, 3))
	g.node("Reshape", in("f"), []string{in("e"), "joined"})
	g.linear(in("g"), in("f"), g.weight(in("attention.out"), w, w))
	g.node("Add", in("h"), []string{x, in("g")})
	g.node("RMSNormalization", in("i"), []string{in("h"), g.weight(in("mlp.norm"), w)})
	g.linear(in("j"), in("i"), g.weight(in("mlp.in"), 4*w, w))
	g.node("Gelu", in("k"), []string{in("j")}, model.Attr{Name: "approximate", Value: "tanh"})
	g.linear(in("l"), in("k"), g.weight(in("mlp.out"), w, 4*w))
	g.node("Add", in("m"), []string{in("h"), in("l")})
	return in("m")
}

// linear adds the product with a matrix, [outputs,inputs] as in PyTorch: its transpose is a view.
func (g *graph) linear(output, x, matrix string) {
	g.node("Transpose", output+".by", []string{matrix})
	g.node("MatMul", output, []string{x, output + ".by"})
}

func (g *graph) node(op, output string, inputs []string, attrs ...model.Attr) {
	n := model.NewNode(op, inputs, []string{output}, attrs...)
	n.Name = output
	g.Nodes = append(g.Nodes, n)
}

// both adds an input and an output that may take its place.
func (g *graph) both(name string, dtype layout.DType, dims ...int64) {
	g.Inputs = append(g.Inputs, batched(name, dtype, dims...))
	g.Outputs = append(g.Outputs, batched(name+".new", dtype, dims...))
}

// batched is a value of a number of sequences that is not known yet.
func batched(name string, dtype layout.DType, dims ...int64) model.ValueInfo {
	all := []model.Dim{model.Symbolic("batch")}
	for _, n := range dims {
		all = append(all, model.Known(n))
	}
	return model.ValueInfo{Name: name, Type: model.TensorOf(dtype, all...)}
}

// weight adds an input for a weight.
func (g *graph) weight(name string, dims ...int64) string {
	all := make([]model.Dim, len(dims))
	for i, n := range dims {
		all[i] = model.Known(n)
	}
	w := model.ValueInfo{Name: name, Type: model.TensorOf(g.dtype, all...)}
	g.Inputs, g.weights = append(g.Inputs, w), append(g.weights, w)
	return name
}

// ints adds a constant.
func (g *graph) ints(name string, dims []int64, values ...int64) {
	t := model.Tensor{Name: name, Type: layout.Int64, Dims: dims}
	for _, v := range values {
		t.Data = binary.LittleEndian.AppendUint64(t.Data, uint64(v))
	}
	g.Initializers = append(g.Initializers, t)
}

func writeWeights(path string, weights []model.ValueInfo) (err error) {
	h := checkpoint.Header{Format: checkpoint.Safetensors}
	for _, v := range weights {
		dtype, err := h.Format.TypeOf(v.Type.Elem)
		if err != nil {
			return err
		}
		dims, _ := v.Type.Shape()
		h.Tensors = append(h.Tensors, &checkpoint.Tensor{Name: v.Name, Type: dtype, Dims: dims})
	}
	w, err := checkpoint.Create(path, h, "random weights")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	random := rand.New(rand.NewPCG(1, 2))
	for i, t := range w.Tensors {
		data, err := randomWeight(random, t)
		if err == nil {
			err = errors.Join(w.WriteAt(i, data, 0), w.Finish(i))
		}
		if err != nil {
			return err
		}
	}
	return w.Commit()
}

// randomWeight returns factors near 1, or a matrix whose products are as large as their operands.
func randomWeight(random *rand.Rand, t *checkpoint.Tensor) ([]byte, error) {
	n, mean, deviation := t.Dims[0], 1.0, .1
	if len(t.Dims) == 2 {
		n, mean, deviation = n*t.Dims[1], 0, 1/math.Sqrt(float64(t.Dims[1]))
	}
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(mean + deviation*random.NormFloat64())
	}
	x, err := tensor.FromHost(values, n)
	if err != nil {
		return nil, err
	}
	defer x.Release()
	y, err := x.Cast(t.Type.DType, device.Rounding{})
	if err != nil {
		return nil, err
	}
	defer y.Release()
	return y.Bytes()
}
