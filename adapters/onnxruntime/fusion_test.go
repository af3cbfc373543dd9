package onnxruntime_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/adapters/onnxruntime/internal/models"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// built is a model in the making.
type built struct {
	tb    testing.TB
	rng   *rand.Rand
	model *model.Model
	made  int
}

func build(tb testing.TB, inputs ...model.ValueInfo) *built {
	b := &built{tb: tb, rng: rand.New(rand.NewPCG(7, 7)), model: model.New("fused", 21)}
	b.model.Opsets["com.microsoft"] = 1
	b.model.Graph.Inputs = inputs
	return b
}

func floatInput(name string, dims ...int64) model.ValueInfo {
	var list []model.Dim
	for _, n := range dims {
		list = append(list, model.Known(n))
	}
	return model.ValueInfo{Name: name, Type: model.TensorOf(layout.Float32, list...)}
}

// add adds a node and returns its output.
func (b *built) add(op string, inputs []string, attrs ...model.Attr) string {
	return b.many(op, 1, inputs, attrs...)[0]
}

// many is add for several outputs.
func (b *built) many(op string, n int, inputs []string, attrs ...model.Attr) []string {
	var outs []string
	for range n {
		b.made++
		outs = append(outs, fmt.Sprint("v", b.made))
	}
	b.model.Graph.Nodes = append(b.model.Graph.Nodes, node(op, inputs, outs, attrs...))
	return outs
}

// micro adds a node of com.microsoft.
func (b *built) micro(op string, inputs []string) string {
	out := b.add(op, inputs)
	b.model.Graph.Nodes[len(b.model.Graph.Nodes)-1].Domain = "com.microsoft"
	return out
}

// constant adds a constant.
func constant[T layout.Element](b *built, values []T, dims ...int64) string {
	b.made++
	t, err := model.NewTensor(fmt.Sprint("c", b.made), values, dims...)
	require.NoError(b.tb, err)
	b.model.Graph.Initializers = append(b.model.Graph.Initializers, t)
	return t.Name
}

// weights adds random weights.
func (b *built) weights(dims ...int64) string {
	n, err := layout.Shape(dims).Count()
	require.NoError(b.tb, err)
	list := make([]float32, n)
	for i := range list {
		list[i] = b.rng.Float32() - .5
	}
	return constant(b, list, dims...)
}

// codes adds weights of 8 bits with a scale for each channel along axis 0, dequantized.
func (b *built) codes(domain string, axis int64, dims ...int64) string {
	n, err := layout.Shape(dims).Count()
	require.NoError(b.tb, err)
	elements := make([]int8, n)
	for i := range elements {
		elements[i] = int8(b.rng.IntN(255) - 127)
	}
	scales, zeros := make([]float32, dims[axis]), make([]int8, dims[axis])
	for i := range scales {
		scales[i] = .001 + b.rng.Float32()/500
	}
	out := b.add("DequantizeLinear", list(constant(b, elements, dims...), constant(b, scales, dims[axis]), constant(b, zeros, dims[axis])), onnx.Int("axis", axis))
	b.model.Graph.Nodes[len(b.model.Graph.Nodes)-1].Domain = domain
	return out
}

// quantized puts a QuantizeLinear and a DequantizeLinear behind a value.
func (b *built) quantized(domain, x string) string {
	scale, zero := constant(b, []float32{.02}), constant(b, []uint8{128})
	for _, op := range []string{"QuantizeLinear", "DequantizeLinear"} {
		x = b.add(op, list(x, scale, zero))
		b.model.Graph.Nodes[len(b.model.Graph.Nodes)-1].Domain = domain
	}
	return x
}

// dynamic is a product with dynamic quantization: x is quantized by its own range.
func (b *built) dynamic(x string, in, out int64) string {
	q := b.many("DynamicQuantizeLinear", 3, list(x))
	codes := make([]uint8, in*out)
	for i := range codes {
		codes[i] = uint8(b.rng.IntN(256))
	}
	product := b.add("MatMulInteger", list(q[0], constant(b, codes, in, out), q[2], constant(b, []uint8{127})))
	scale := b.add("Mul", list(q[1], constant(b, []float32{.01})))
	return b.add("Add", list(b.add("Mul", list(b.add("Cast", list(product), onnx.Int("to", int64(layout.Float32))), scale)), b.weights(out)))
}

// attention is self-attention of 2 heads, of layout operators and products.
func (b *built) attention(x string, project func(x string) string) string {
	heads := func(x string, turns ...int64) string {
		return b.add("Transpose", list(b.add("Reshape", list(project(x), constant(b, []int64{0, 0, 2, 8}, 4)))), onnx.Ints("perm", turns...))
	}
	scores := b.add("MatMul", list(heads(x, 0, 2, 1, 3), heads(x, 0, 2, 3, 1)))
	scores = b.add("Softmax", list(b.add("Div", list(scores, constant(b, []float32{2.8})))))
	together := b.add("Transpose", list(b.add("MatMul", list(scores, heads(x, 0, 2, 1, 3)))), onnx.Ints("perm", 0, 2, 1, 3))
	return project(b.add("Reshape", list(together, constant(b, []int64{0, 0, 16}, 3))))
}

// fusions are models of what ONNX Runtime fuses across layout operators.
var fusions = map[string]func(b *built) string{
	"QDQ convolution": func(b *built) string {
		x := b.add("Conv", list(b.quantized("", "image"), b.codes("", 0, 8, 3, 3, 3)))
		return b.quantized("", b.add("Relu", list(b.quantized("", x))))
	},
	"QDQ convolution of com.microsoft": func(b *built) string {
		const micro = "com.microsoft"
		return b.quantized(micro, b.add("Conv", list(b.quantized(micro, "image"), b.codes(micro, 0, 8, 3, 3, 3))))
	},
	"QDQ product, transposed": func(b *built) string {
		x := b.add("Transpose", list(b.quantized("", "x")), onnx.Ints("perm", 0, 1, 2))
		return b.quantized("", b.add("MatMul", list(b.quantized("", x), b.codes("", 1, 16, 16))))
	},
	"QDQ, padded and put together": func(b *built) string {
		x := b.add("Pad", list(b.quantized("", "image"), constant(b, []int64{0, 0, 1, 1, 0, 0, 1, 1}, 8)))
		x = b.add("Conv", list(b.quantized("", x), b.codes("", 0, 8, 3, 3, 3)))
		return b.quantized("", b.add("Concat", list(b.quantized("", x), b.quantized("", b.add("MaxPool", list(b.quantized("", x)), onnx.Ints("kernel_shape", 1, 1)))), onnx.Int("axis", 1)))
	},
	"QDQ behind layout": func(b *built) string {
		x := b.add("MatMul", list(b.quantized("", "x"), b.codes("", 1, 16, 16)))
		x = b.add("Reshape", list(b.quantized("", x), constant(b, []int64{0, 0, 4, 4}, 4)))
		x = b.add("Transpose", list(b.quantized("", x)), onnx.Ints("perm", 0, 2, 1, 3))
		return b.quantized("", x)
	},
	"dynamic quantization": func(b *built) string { return b.add("Relu", list(b.dynamic("x", 16, 16))) },
	"dynamic quantization of com.microsoft": func(b *built) string {
		codes := make([]uint8, 256)
		for i := range codes {
			codes[i] = uint8(b.rng.IntN(256))
		}
		y := b.micro("DynamicQuantizeMatMul", list("x", constant(b, codes, 16, 16), constant(b, []float32{.01}), constant(b, []uint8{127})))
		return b.add("Gelu", list(b.add("Transpose", list(y), onnx.Ints("perm", 0, 2, 1))))
	},
	"attention": func(b *built) string {
		return b.attention("x", func(x string) string {
			return b.add("Add", list(b.add("MatMul", list(x, b.weights(16, 16))), b.weights(16)))
		})
	},
	"attention, dynamically quantized": func(b *built) string {
		return b.attention("x", func(x string) string { return b.dynamic(x, 16, 16) })
	},
	"bias and activation": func(b *built) string {
		x := b.add("Add", list(b.add("MatMul", list("x", b.add("Transpose", list(b.weights(24, 16))))), b.weights(24)))
		half := b.add("Cast", list(b.add("Cast", list(x), onnx.Int("to", int64(layout.Float16)))), onnx.Int("to", int64(layout.Float32)))
		e := b.add("Add", list(b.add("Erf", list(b.add("Div", list(half, constant(b, []float32{1.4142135}))))), constant(b, []float32{1})))
		return b.add("Mul", list(b.add("Mul", list(half, e)), constant(b, []float32{.5})))
	},
	"shapes between": func(b *built) string {
		x := b.add("Relu", list("x"))
		rows := b.add("Slice", list(b.add("Shape", list(x)), constant(b, []int64{0}, 1), constant(b, []int64{2}, 1)))
		x = b.add("Reshape", list(b.add("Exp", list(x)), b.add("Concat", list(rows, constant(b, []int64{4, 4}, 2)), onnx.Int("axis", 0))))
		return b.add("Softmax", list(x))
	},
}

// TestFusions: what ONNX Runtime fuses stays in one group, and gives the bits that it gives alone.
func TestFusions(t *testing.T) {
	engine := newEngine(t)
	for name, make := range fusions {
		t.Run(name, func(t *testing.T) {
			b := build(t, floatInput("x", 1, 5, 16), floatInput("image", 1, 3, 9, 9))
			y := make(b)
			b.model.Graph.Outputs = values(y)
			b.model.Graph.Outputs[0].Type = model.Type{Kind: model.TensorType, Elem: layout.Float32}
			testFusion(t, engine, b.model)
		})
	}
}

func testFusion(t *testing.T, engine onnx.Provider, m *model.Model) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.onnx")
	require.NoError(t, m.Save(path))
	s := openOn(t, "cpu")
	sess := newSession(t, s, m, engine)
	in, err := (&models.Random{}).Values(s, sess.Inputs())
	require.NoError(t, err)
	defer func() { require.NoError(t, in.Release()) }()
	alone, err := models.Open(path, sess.Inputs(), sess.Outputs())
	require.NoError(t, err)
	defer alone.Close()
	want, err := alone.Tensors(s, in)
	require.NoError(t, err)
	defer func() { require.NoError(t, want.Release()) }()
	var ran []string
	sess.OnNode(func(n onnx.NodeReport) {
		if n.Outcome() != onnx.IsConstant {
			ran = append(ran, n.Op)
		}
		for _, k := range n.Keeps {
			require.NotEmpty(t, k.Why, "%v", k)
		}
	})
	out, err := sess.Run(t.Context(), in)
	require.NoError(t, err)
	defer func() { require.NoError(t, out.Release()) }()
	require.Equal(t, []string{fmt.Sprintf("group of %d", len(m.Graph.Nodes))}, ran)
	for name := range want {
		x, err := want[name].(*tensor.Tensor).Bytes()
		require.NoError(t, err)
		y, err := out[name].(*tensor.Tensor).Bytes()
		require.NoError(t, err)
		require.Equal(t, x, y, name)
	}
}
