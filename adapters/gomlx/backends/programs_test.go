package backends_test

import (
	"math"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/gomlx/gomlx/pkg/ml/layers"
	"github.com/gomlx/gomlx/pkg/ml/layers/activations"
	"github.com/gomlx/gomlx/pkg/ml/layers/lstm"
	"github.com/gomlx/gomlx/pkg/ml/train"
	"github.com/gomlx/gomlx/pkg/ml/train/losses"
	"github.com/gomlx/gomlx/pkg/ml/train/optimizers"
	"github.com/stretchr/testify/require"
)

// program is a model with its data, of some size.
type program struct {
	name   string
	model  func(ctx *context.Context, x *Node, size int) *Node
	loss   train.LossFn
	inputs func(size int) *tensors.Tensor
	labels func(size int) *tensors.Tensor
	alone  bool // its gradients need Pad or Reverse, which the Go backend lacks
}

// wave are numbers between -1 and 1, the same every time.
func wave(dims ...int) *tensors.Tensor {
	x := tensors.FromShape(shapes.Make(dtypes.Float32, dims...))
	tensors.MustMutableFlatData(x, func(flat []float32) {
		for i := range flat {
			flat[i] = float32(math.Sin(float64(i)*1.7 + math.Cos(float64(i)*.3)))
		}
	})
	return x
}

// ids are numbers below n.
func ids(n int, dims ...int) *tensors.Tensor {
	x := tensors.FromShape(shapes.Make(dtypes.Int32, dims...))
	tensors.MustMutableFlatData(x, func(flat []int32) {
		for i := range flat {
			flat[i] = int32((i*7919 + i/3) % n)
		}
	})
	return x
}

const classes = 4

func perBatch(size int) *tensors.Tensor { return ids(classes, 4*size, 1) }

var programs = []program{
	{"linear", func(ctx *context.Context, x *Node, _ int) *Node { return layers.Dense(ctx, x, true, 1) },
		losses.MeanSquaredError,
		func(size int) *tensors.Tensor { return wave(256*size, 8) }, func(size int) *tensors.Tensor { return wave(256*size, 1) }, false},
	{"layers", func(ctx *context.Context, x *Node, size int) *Node {
		for _, scope := range []string{"a", "b"} {
			x = activations.Relu(layers.Dense(ctx.In(scope), x, true, 32*min(size, 4)))
		}
		return layers.Dense(ctx.In("out"), x, true, classes)
	}, losses.SparseCategoricalCrossEntropyLogits, func(size int) *tensors.Tensor { return wave(4*size, 16) }, perBatch, false},
	{"dropout", func(ctx *context.Context, x *Node, size int) *Node {
		x = activations.Gelu(layers.Dense(ctx.In("a"), x, true, 32*min(size, 4)))
		x = layers.DropoutStatic(ctx, x, .3)
		return layers.Dense(ctx.In("out"), x, true, classes)
	}, losses.SparseCategoricalCrossEntropyLogits, func(size int) *tensors.Tensor { return wave(4*size, 16) }, perBatch, false},
	{"convolution", func(ctx *context.Context, x *Node, size int) *Node {
		x = activations.Relu(layers.Convolution(ctx.In("a"), x).Channels(4).KernelSize(3).PadSame().Strides(1).Done())
		x = activations.Relu(layers.Convolution(ctx.In("b"), x).Channels(4).KernelSize(3).PadSame().Strides(2).Done())
		return layers.Dense(ctx.In("out"), Reshape(x, x.Shape().Dim(0), -1), true, classes)
	}, losses.SparseCategoricalCrossEntropyLogits, func(size int) *tensors.Tensor { return wave(4*size, 8, 8, 3) }, perBatch, true},
	{"planes", func(ctx *context.Context, x *Node, size int) *Node { // pictures of planes, patched
		b, n := x.Shape().Dim(0), x.Shape().Dim(2)/4
		x = Reshape(x, b, 3, n, 4, n, 4)
		x = Reshape(TransposeAllDims(x, 0, 2, 4, 3, 5, 1), b, n*n, 48)
		x = layers.Dense(ctx.In("patch"), x, true, 16)
		return layers.Dense(ctx.In("out"), ReduceMean(x, 1), true, classes)
	}, losses.SparseCategoricalCrossEntropyLogits, func(size int) *tensors.Tensor { return wave(4*size, 3, 16, 16) }, perBatch, false},
	{"mixer", func(ctx *context.Context, x *Node, size int) *Node {
		y := activations.Gelu(layers.Dense(ctx.In("tokens"), TransposeAllDims(x, 0, 2, 1), true, 16))
		x = Add(x, TransposeAllDims(layers.Dense(ctx.In("back"), y, true, x.Shape().Dim(1)), 0, 2, 1))
		x = layers.LayerNormalization(ctx.In("norm"), x, -1).Done()
		return layers.Dense(ctx.In("out"), ReduceMean(x, 1), true, classes)
	}, losses.SparseCategoricalCrossEntropyLogits, func(size int) *tensors.Tensor { return wave(4*size, 16, 16) }, perBatch, false},
	{"attention", func(ctx *context.Context, x *Node, size int) *Node {
		x = Add(x, layers.MultiHeadAttention(ctx.In("attention"), x, x, x, 2, 8).Done())
		x = layers.LayerNormalization(ctx.In("norm"), x, -1).Done()
		return layers.Dense(ctx.In("out"), ReduceMean(x, 1), true, classes)
	}, losses.SparseCategoricalCrossEntropyLogits, func(size int) *tensors.Tensor { return wave(4*size, 12, 16) }, perBatch, false},
	{"transformer", func(ctx *context.Context, x *Node, size int) *Node {
		x = layers.Embedding(ctx.In("tokens"), x, dtypes.Float32, 50, 16, false)
		x = Add(x, layers.MultiHeadAttention(ctx.In("attention"), x, x, x, 2, 8).UseCausalMask().Done())
		x = layers.LayerNormalization(ctx.In("norm"), x, -1).Done()
		x = Add(x, layers.Dense(ctx.In("down"), activations.Gelu(layers.Dense(ctx.In("up"), x, true, 32)), true, 16))
		return layers.Dense(ctx.In("out"), ReduceMean(x, 1), true, classes)
	}, losses.SparseCategoricalCrossEntropyLogits, func(size int) *tensors.Tensor { return ids(50, 4*size, 12) }, perBatch, false},
	{"rotary", func(ctx *context.Context, x *Node, size int) *Node {
		heads := func(scope string) *Node {
			y := layers.Dense(ctx.In(scope), x, false, 16)
			y = TransposeAllDims(Reshape(y, x.Shape().Dim(0), x.Shape().Dim(1), 2, 8), 0, 2, 1, 3)
			low, high := Slice(y, AxisRange(), AxisRange(), AxisRange(), AxisRange(0, 4)), Slice(y, AxisRange(), AxisRange(), AxisRange(), AxisRange(4, 8))
			return Concatenate([]*Node{Neg(high), low}, -1)
		}
		q, k := heads("q"), heads("k")
		scores := Softmax(MulScalar(Einsum("bhqd,bhkd->bhqk", q, k), .35), -1)
		y := TransposeAllDims(Einsum("bhqk,bhkd->bhqd", scores, k), 0, 2, 1, 3)
		return layers.Dense(ctx.In("out"), ReduceMean(Reshape(y, x.Shape().Dimensions...), 1), true, classes)
	}, losses.SparseCategoricalCrossEntropyLogits, func(size int) *tensors.Tensor { return wave(4*size, 12, 16) }, perBatch, true},
	{"recurrent", func(ctx *context.Context, x *Node, size int) *Node {
		_, last, _ := lstm.New(ctx, x, 8).Done()
		return layers.Dense(ctx.In("out"), Reshape(last, x.Shape().Dim(0), -1), true, classes)
	}, losses.SparseCategoricalCrossEntropyLogits, func(size int) *tensors.Tensor { return wave(4*size, 6, 8) }, perBatch, true},
}

// training trains a program step by step.
type training struct {
	trainer        *train.Trainer
	ctx            *context.Context
	inputs, labels []*tensors.Tensor
}

func newTraining(t testing.TB, b backends.Backend, p program, size int) *training {
	t.Helper()
	ctx := context.New().Checked(false) // variables of a checkpoint may exist
	require.NoError(t, ctx.SetRNGStateFromSeed(7))
	ctx.SetParam(optimizers.ParamLearningRate, .01)
	model := func(ctx *context.Context, _ any, in []*Node) []*Node { return []*Node{p.model(ctx, in[0], size)} }
	return &training{train.NewTrainer(b, ctx, model, p.loss, optimizers.Adam().Done(), nil, nil), ctx,
		[]*tensors.Tensor{p.inputs(size)}, []*tensors.Tensor{p.labels(size)}}
}

// step returns the loss.
func (r *training) step(t testing.TB) float32 {
	t.Helper()
	metrics, err := r.trainer.TrainStep(nil, r.inputs, r.labels)
	require.NoError(t, err)
	loss := tensors.ToScalar[float32](metrics[0])
	for _, m := range metrics {
		require.NoError(t, m.FinalizeAll())
	}
	return loss
}

// weights are the variables, as Go values, except those of metrics, whose names are random.
func (r *training) weights() map[string]any {
	all := map[string]any{}
	for v := range r.ctx.IterVariables() {
		if !strings.HasPrefix(v.Scope(), "/metrics") {
			all[v.ScopeAndName()] = v.MustValue().Value()
		}
	}
	return all
}
