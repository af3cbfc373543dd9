package adversary

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/restride/restride/internal/npy"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
)

func init() {
	register(Generator{
		Name: "files", About: "models, values and arrays whose bytes were changed: a result or an error, within memory and time",
		Try: tryFile,
	})
}

var fileBounds = bounds{memory: 256 << 20, time: 5 * time.Second, grace: 10 * time.Second}

// tryFile changes a valid file and reads it like programs do.
func tryFile(t *Trial) error {
	kind := fileKinds[t.Rand.IntN(len(fileKinds))]
	file, err := kind.make(t)
	if err != nil {
		return fmt.Errorf("%s: %w", kind.name, err)
	}
	other := file
	if t.Rand.IntN(2) == 0 {
		if other, err = fileKinds[t.Rand.IntN(len(fileKinds))].make(t); err != nil {
			return err
		}
	}
	file = mutated(t.Rand, file, other)
	path := filepath.Join(t.Dir, "file"+kind.suffix)
	if err := os.WriteFile(path, file, 0o600); err != nil {
		return err
	}
	if _, err := fileBounds.hold(t.Dir, func(ctx context.Context) error { return kind.read(ctx, t, path) }); err != nil {
		return fmt.Errorf("%s of %d bytes: %w", kind.name, len(file), err)
	}
	return nil
}

// fileKinds are the kinds of files: functions that make a valid one, and read it.
var fileKinds = []struct {
	name, suffix string
	make         func(*Trial) ([]byte, error)
	read         func(context.Context, *Trial, string) error
}{
	{"a model", ".onnx", func(t *Trial) ([]byte, error) { return everything(t.Rand).Marshal() }, readModel},
	{"a model with external data", ".onnx", externalModel, readModel},
	{"a tensor", ".pb", func(t *Trial) ([]byte, error) {
		x := randomTensor(t.Rand)
		return (&model.Value{Kind: model.TensorType, Tensor: &x}).Marshal()
	}, func(_ context.Context, t *Trial, path string) error {
		v, err := model.LoadValue(path, model.Type{Kind: model.TensorType})
		if err != nil {
			return err
		}
		y, err := onnx.Load(t.Stream, v.Tensor)
		if err != nil {
			return err
		}
		defer y.Release()
		return checkText(y.String())
	}},
	{"a value", ".pb", func(t *Trial) ([]byte, error) { return randomValue(t.Rand).Marshal() }, func(_ context.Context, t *Trial, path string) error {
		typ := model.SequenceOf(model.Type{Kind: model.TensorType})
		v, err := model.LoadValue(path, typ)
		if err != nil {
			return err
		}
		x, err := onnx.LoadValue(t.Stream, v, typ)
		if err != nil {
			return err
		}
		defer x.Release()
		return checkText(fmt.Sprint(x))
	}},
	{"an array", ".npy", func(t *Trial) ([]byte, error) { return randomArray(t.Rand), nil }, func(_ context.Context, t *Trial, path string) error {
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		_, _, err = npy.Read(bytes.NewReader(b), int64(len(b)))
		return err
	}},
}

func readModel(ctx context.Context, t *Trial, path string) error {
	m, err := model.Load(path)
	if err != nil {
		return err
	}
	return runModel(ctx, t.Stream, m, t.Dir)
}

// everything is a model with some of every feature of a file.
func everything(rng *rand.Rand) *model.Model {
	f := newFuse(rng)
	f.m.Producer, f.m.ProducerVersion = "adversary", "1"
	f.elem = layout.Float32
	f.input(2, 3, 4)
	steps := []func(){
		func() { f.then("Transpose", nil) },
		func() { f.then("Transpose", nil, onnx.Ints("perm", 0)) },
		func() { f.then("Reshape", []string{f.list(-1)}) },
		func() { f.then("Reshape", []string{f.node("Shape", []string{f.x})}) },
		func() { f.then("Flatten", nil, onnx.Int("axis", rng.Int64N(2))) },
		func() { f.then("Squeeze", nil) },
		func() { f.then("Unsqueeze", []string{f.list(0)}) },
		func() { f.then("Slice", []string{f.list(0), f.list(9), f.list(-1), f.list(1 + rng.Int64N(2))}) },
		func() { f.then("Tile", []string{f.same(rng.Int64N(4), 2)}) },
		func() { f.then("Expand", []string{f.list(1)}) },
		func() { f.then("Gather", []string{f.list(0, 0)}) },
		func() { f.then("Pad", []string{f.list(0, 1), "", f.list(-1)}, onnx.Attr{Name: "mode", Value: "edge"}) },
		func() { f.x = f.node("Concat", []string{f.x, f.x}, onnx.Int("axis", -1)) },
		func() { f.then("Cast", nil, onnx.Int("to", int64(layout.DTypes()[rng.IntN(26)]))) },
		func() { f.then("Identity", nil) },
		func() { f.node("Constant", nil, onnx.Ints("value_ints", 1, 2, 3)) },
		func() { f.node("Constant", nil, onnx.Attr{Name: "value_strings", Value: []string{"a", "é", "\x00"}}) },
		func() {
			x := randomTensor(rng)
			f.node("Constant", nil, onnx.Attr{Name: "value", Value: &x})
		},
		func() {
			values, _ := model.NewTensor("sparse", []float32{1, 2}, 2)
			indices, _ := model.NewTensor("", []int64{0, 5}, 2)
			f.node("Constant", nil, onnx.Attr{Name: "sparse_value", Value: &model.SparseTensor{Values: values, Indices: indices, Dims: layout.Shape{2, 3}}})
		},
	}
	f.times(12, func() { steps[rng.IntN(len(steps))]() })
	return f.model()
}
