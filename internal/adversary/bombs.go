package adversary

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
)

func init() {
	register(Generator{
		Name: "bombs", About: "small models that ask for much: a result or an error, within memory and time",
		Try: tryBomb,
	})
}

var bombBounds = bounds{memory: 512 << 20, time: 5 * time.Second, grace: 20 * time.Second}

func tryBomb(t *Trial) error {
	_, err := explode(t)
	return err
}

// explode is tryBomb, and returns the error with which the model was refused.
func explode(t *Trial) (refused, err error) {
	b := bombs[t.Rand.IntN(len(bombs))]
	f := newFuse(t.Rand)
	b.light(f)
	file, err := f.model().Marshal()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.name, err)
	}
	within := bombBounds
	if !t.Stream.IsHost() { // an emulated device needs seconds for a GB, and finishes queued work
		within.memory, within.grace = min(within.memory, 8<<20), 10*time.Minute
	}
	refused, err = within.hold(t.Dir, func(ctx context.Context) error {
		m, err := model.Parse(file, "")
		if err != nil {
			return err
		}
		return runModel(ctx, t.Stream, m, t.Dir)
	})
	if err != nil {
		return refused, fmt.Errorf("%s, a model of %d bytes: %v: %w", b.name, len(file), f.said, err)
	}
	return refused, nil
}

// up returns a number from 2^low to 2^high: powers of two mostly, so that extents fit
// each other.
func (f *fuse) up(low, high int) int64 {
	n := int64(1) << (low + f.rng.IntN(high-low+1))
	if f.rng.IntN(8) == 0 {
		n += f.rng.Int64N(3) - 1
	}
	return n
}

// bombs are the ways to demand much.
var bombs = []struct {
	name  string
	light func(*fuse)
}{
	{"ranks", func(f *fuse) {
		ones := f.same(f.up(4, 24), 1)
		switch f.rng.IntN(3) {
		case 0:
			f.input(1)
			f.then("Reshape", []string{ones})
		case 1:
			f.input()
			f.then("Expand", []string{ones})
		default:
			f.x = f.node("ConstantOfShape", []string{ones})
		}
		f.times(200, func() {
			switch f.rng.IntN(6) {
			case 0:
				f.then("Identity", nil)
			case 1:
				f.then("Unsqueeze", []string{f.list(f.rng.Int64N(4))})
			case 2:
				f.then("Reshape", []string{f.node("Shape", []string{f.x})})
			case 3:
				f.then("Slice", []string{f.list(0), f.list(1)})
			default:
				f.then("Transpose", nil)
			}
		})
	}},
	{"text", func(f *fuse) {
		f.input(1)
		f.then("Expand", []string{f.list(f.up(8, 40))})
		f.then("Cast", nil, onnx.Int("to", int64(layout.String)))
		f.times(3, func() {
			switch f.rng.IntN(4) {
			case 0:
				f.then("Tile", []string{f.list(f.up(1, 6))})
			case 1:
				f.x = f.node("Concat", []string{f.x, f.x, f.x}, onnx.Int("axis", 0))
			case 2:
				f.then("Pad", []string{f.list(f.up(1, 24), 0)})
			default:
				f.then("Gather", []string{f.node("Cast", []string{f.node("Identity", []string{f.same(f.up(1, 24), 0)})}, onnx.Int("to", int64(layout.Int32)))})
			}
		})
	}},
	{"long strings", func(f *fuse) {
		// A running node is finished, whatever the deadline: it has seconds of text.
		size := 4 + f.rng.IntN(17)
		long := slices.Repeat([]byte{'1'}, 1<<size)
		f.x = constant(f, []string{string(long)}, 1)
		f.then("Expand", []string{f.list(f.up(4, 28-size))})
		f.times(2, func() {
			switch f.rng.IntN(3) {
			case 0:
				f.then("Cast", nil, onnx.Int("to", int64(f.elem)))
				f.then("Cast", nil, onnx.Int("to", int64(layout.String)))
			case 1:
				f.then("Tile", []string{f.list(f.up(1, 6))})
			default:
				f.then("Pad", []string{f.list(f.up(1, 24), 0)})
			}
		})
	}},
	{"tiles", func(f *fuse) {
		f.input(1, 1)
		f.times(12, func() { f.then("Tile", []string{f.list(f.up(0, 16), f.up(0, 16))}) })
	}},
	{"itself", func(f *fuse) {
		f.input(f.up(0, 12))
		f.times(10, func() {
			many := make([]string, f.up(1, 12))
			for i := range many {
				many[i] = f.x
			}
			f.x = f.node("Concat", many, onnx.Int("axis", 0))
			f.said = f.said[:len(f.said)-1]
			f.said = append(f.said, fmt.Sprint(f.x, "=Concat of itself, times ", len(many)))
		})
	}},
	{"pads", func(f *fuse) {
		f.input(1+f.rng.Int64N(4), 1+f.rng.Int64N(4))
		f.times(4, func() {
			mode := []string{"constant", "edge", "reflect", "wrap"}[f.rng.IntN(4)]
			pads := f.list(f.up(0, 30), f.up(0, 20), f.up(0, 30), f.up(0, 20))
			f.then("Pad", []string{pads}, onnx.Attr{Name: "mode", Value: mode})
		})
	}},
	{"copies of views", func(f *fuse) {
		f.input(1, 1, 1)
		f.then("Expand", []string{f.list(f.up(0, 24), f.up(0, 24), f.up(0, 24))})
		f.times(4, func() {
			switch f.rng.IntN(5) {
			case 0:
				f.then("Trilu", nil)
			case 1:
				f.then("Transpose", nil, onnx.Ints("perm", 2, 0, 1))
				f.then("Flatten", nil, onnx.Int("axis", 1))
				f.then("Unsqueeze", []string{f.list(0)})
			case 2:
				f.then("CenterCropPad", []string{f.list(f.up(0, 24), f.up(0, 24), f.up(0, 24))})
			case 3:
				f.then("Cast", nil, onnx.Int("to", int64(layout.Float64)))
			default:
				f.then("Slice", []string{f.list(-1), f.list(math.MinInt64), f.list(1), f.list(-1)})
			}
		})
	}},
	{"batches", func(f *fuse) {
		n := f.up(4, 24)
		if f.rng.IntN(2) == 0 {
			f.input(2, n)
			f.then("ReverseSequence", []string{f.same(n, 2)}, onnx.Int("batch_axis", 1), onnx.Int("time_axis", 0))
			return
		}
		f.input(n, 2, 1)
		update := f.node("Slice", []string{f.x, f.list(0), f.list(1), f.list(1)}) // along axis 1
		at := f.node("Cast", []string{f.node("Trilu", []string{f.node("Reshape", []string{f.same(n, 1), f.list(1, -1)})}, onnx.Int("upper", 0))}, onnx.Int("to", int64(layout.Int64)))
		f.then("TensorScatter", []string{update, f.node("Reshape", []string{at, f.list(-1)})}, onnx.Int("axis", 1))
	}},
	{"lists", func(f *fuse) {
		f.input(2, 2, 2)
		n := f.up(4, 24)
		zero := f.same(n, 0)
		switch f.rng.IntN(7) {
		case 0:
			f.then("Slice", []string{zero, zero})
		case 1:
			f.then("Tile", []string{f.same(n, 1)})
		case 2:
			f.then("Pad", []string{zero, "", zero})
		case 3:
			f.then("Squeeze", []string{zero})
		case 4:
			f.then("Unsqueeze", []string{zero})
		case 5:
			f.then("Split", []string{zero})
		default:
			f.then("Reshape", []string{f.same(n, -1)})
		}
	}},
	{"indices", func(f *fuse) {
		f.input(1, f.up(0, 12))
		zero := f.same(f.up(4, 24), 0)
		switch f.rng.IntN(4) {
		case 0:
			f.times(4, func() { f.then("Gather", []string{zero}) })
		case 1:
			f.then("GatherND", []string{f.node("Reshape", []string{zero, f.list(-1, 1)})})
		case 2:
			f.then("GatherElements", []string{f.node("Reshape", []string{zero, f.list(-1, 1)})})
		default:
			f.x = f.node("Gather", []string{f.node("Shape", []string{f.x}), zero})
		}
	}},
	{"sparse", func(f *fuse) {
		dims := layout.Shape{f.up(0, 40), f.up(0, 20)}
		values, _ := model.NewTensor("", []float32{1}, 1)
		indices, _ := model.NewTensor("", []int64{0}, 1)
		f.times(6, func() {
			f.x = f.node("Constant", nil, onnx.Attr{Name: "sparse_value", Value: &model.SparseTensor{Values: values, Indices: indices, Dims: dims}})
		})
		f.said = append(f.said, fmt.Sprint(dims))
	}},
	{"many of some size", func(f *fuse) {
		n := f.up(16, 31)
		f.times(400, func() {
			f.x = f.node("ConstantOfShape", []string{f.list(n)})
		})
	}},
	{"of nothing", func(f *fuse) {
		f.input(0)
		f.then("Reshape", []string{f.list(0, f.up(30, 62), f.up(0, 4))}, onnx.Int("allowzero", 1))
		f.times(4, func() {
			switch f.rng.IntN(4) {
			case 0:
				f.x = f.node("Concat", []string{f.x, f.x}, onnx.Int("axis", f.rng.Int64N(3)))
			case 1:
				f.then("Tile", []string{f.list(f.up(0, 62), f.up(0, 62), 1)})
			case 2:
				f.then("Pad", []string{f.list(0, f.up(0, 62), 0, 0, f.up(0, 62), 0)})
			default:
				f.then("Transpose", nil)
			}
		})
	}},
	{"blocks", func(f *fuse) {
		b := f.up(1, 10)
		f.elem = layout.Float32
		f.input(1, 1, 1, 1)
		f.then("Expand", []string{f.list(1, f.up(0, 24), f.up(0, 24), f.up(0, 24))})
		f.then([]string{"DepthToSpace", "SpaceToDepth"}[f.rng.IntN(2)], nil, onnx.Int("blocksize", b))
	}},
}
