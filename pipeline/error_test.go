package pipeline_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/pipeline"
	"github.com/restride/restride/tensor"
)

// stages are a pipeline of many batches, which calls fail in the fifth call of a stage.
func stages(depth int, stage string, fail func() error) pipeline.Stages {
	source, calls := counted(1000), map[string]*int{"source": new(int), "work": new(int), "sink": new(int)}
	at := func(name string) error {
		if *calls[name]++; name == stage && *calls[name] == 5 {
			return fail()
		}
		return nil
	}
	return pipeline.Stages{
		Inputs: ints, Depth: depth,
		Source: func(ctx context.Context, in []*pipeline.Array) error {
			return errors.Join(source(ctx, in), at("source"))
		},
		Work: func(ctx context.Context, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
			out, err := turned(ctx, in)
			return out, errors.Join(err, at("work"))
		},
		Sink: func(context.Context, []*pipeline.Array) error { return at("sink") },
	}
}

var errTest = errors.New("of the test")

// An error of any stage ends the pipeline, which releases everything (see open).
func TestErrors(t *testing.T) {
	each(t, func(t *testing.T, s *tensor.Stream) {
		for _, stage := range []string{"source", "work", "sink"} {
			for depth := 1; depth <= 4; depth++ {
				stats, err := pipeline.Run(deadline(t), s, stages(depth, stage, func() error { return errTest }))
				require.ErrorIs(t, err, errTest)
				require.EqualError(t, err, "pipeline: "+stage+" of batch 4: of the test")
				assert.LessOrEqual(t, stats.Batches, int64(4))
				if stage == "sink" {
					assert.EqualValues(t, 4, stats.Batches)
				}
				require.Zero(t, s.Device().Stats().Buffers)
			}
		}
		// The stream is still usable.
		_, err := pipeline.Run(deadline(t), s, pipeline.Stages{Inputs: ints, Source: counted(3), Work: turned, Sink: ignore})
		require.NoError(t, err)
	})
}

// The end of the context ends the pipeline, whatever stage is at work.
func TestCancel(t *testing.T) {
	each(t, func(t *testing.T, s *tensor.Stream) {
		for _, stage := range []string{"source", "work", "sink"} {
			for depth := 1; depth <= 4; depth++ {
				ctx, cancel := context.WithCancelCause(deadline(t))
				_, err := pipeline.Run(ctx, s, stages(depth, stage, func() error { cancel(errTest); return nil }))
				require.ErrorIs(t, err, errTest)
				require.Zero(t, s.Device().Stats().Buffers)
			}
		}
		ctx, cancel := context.WithCancel(deadline(t))
		cancel()
		_, err := pipeline.Run(ctx, s, stages(2, "source", func() error { t.Error("it runs"); return nil }))
		require.ErrorIs(t, err, context.Canceled)

		// A waiting stage is told that another one has failed.
		st := stages(2, "sink", nil)
		source := st.Source
		fed := 0
		st.Source = func(ctx context.Context, in []*pipeline.Array) error {
			if fed++; fed == 2 {
				<-ctx.Done()
				return ctx.Err()
			}
			return source(ctx, in)
		}
		st.Sink = func(context.Context, []*pipeline.Array) error { return errTest }
		_, err = pipeline.Run(deadline(t), s, st)
		require.EqualError(t, err, "pipeline: sink of batch 0: of the test")
	})
}

// Stages that panic, or end their goroutine as a failing test does, leave nothing
// behind either.
func TestStageDoesNotReturn(t *testing.T) {
	each(t, func(t *testing.T, s *tensor.Stream) {
		require.PanicsWithError(t, "of the test", func() {
			st := stages(3, "", nil)
			st.Work = func(context.Context, []*tensor.Tensor) ([]*tensor.Tensor, error) { panic(errTest) }
			_, _ = pipeline.Run(deadline(t), s, st)
		})
		for _, stage := range []string{"source", "sink"} {
			_, err := pipeline.Run(deadline(t), s, stages(3, stage, func() error { runtime.Goexit(); return nil }))
			require.ErrorContains(t, err, "a stage did not return")
		}
	})
}

// Work's results are checked.
func TestBadResults(t *testing.T) {
	words, err := tensor.FromHost([]string{"a"})
	require.NoError(t, err)
	defer words.Release()
	each(t, func(t *testing.T, s *tensor.Stream) {
		for want, x := range map[string]func() (*tensor.Tensor, error){
			"work of batch 0: result 1: Work: the tensor is nil":                                           func() (*tensor.Tensor, error) { return nil, nil },
			"work of batch 0: result 1: Work: the tensor is of type string":                                words.Alias,
			"work of batch 0: result 1: Contiguous of float[2]: ":                                          func() (*tensor.Tensor, error) { return released(t, s), nil },
			"work of batch 0: result 1: Contiguous of float[2,2]: [2,2]:{1,2}+0 to [2,2] cannot be a view": func() (*tensor.Tensor, error) { return turnedView(s) },
		} {
			_, err := pipeline.Run(deadline(t), s, pipeline.Stages{
				Inputs: ints, Source: counted(9), Sink: ignore,
				Work: func(ctx context.Context, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
					out, err := turned(ctx, in)
					if err != nil {
						return out, err
					}
					s.ForbidCopies(true)
					y, err := x()
					return append(out, y), err
				},
			})
			s.ForbidCopies(false)
			assert.ErrorContains(t, err, want)
			require.Zero(t, s.Device().Stats().Buffers)
		}
	})
}

func released(t *testing.T, s *tensor.Stream) *tensor.Tensor {
	x, err := tensor.FromSlice(s, []float32{1, 2})
	require.NoError(t, err)
	require.NoError(t, x.Release())
	return x
}

func turnedView(s *tensor.Stream) (*tensor.Tensor, error) {
	x, err := tensor.FromSlice(s, []float32{1, 2, 3, 4}, 2, 2)
	if err != nil {
		return nil, err
	}
	defer x.Release()
	return x.Transpose()
}

// Bad stages are refused before anything is done.
func TestBadStages(t *testing.T) {
	s := open(t, "cpu")
	good := func() pipeline.Stages {
		return pipeline.Stages{Inputs: ints, Source: counted(1), Work: turned, Sink: ignore}
	}
	input := func(t layout.DType, dims ...int64) []pipeline.Input { return []pipeline.Input{{Type: t, Dims: dims}} }
	for want, change := range map[string]func(*pipeline.Stages){
		"Source, Work and Sink must be given":                 func(st *pipeline.Stages) { st.Sink = nil },
		"Depth is -1; it can be 1 to 1024":                    func(st *pipeline.Stages) { st.Depth = -1 },
		"Depth is 1099511627776":                              func(st *pipeline.Stages) { st.Depth = 1 << 40 },
		"input 0 is of type string":                           func(st *pipeline.Stages) { st.Inputs = input(layout.String, 2) },
		"input 0 has no element type":                         func(st *pipeline.Stages) { st.Inputs = input(layout.Invalid, 2) },
		"pipeline.Run: [-1]: extent -1 of axis 0 is negative": func(st *pipeline.Stages) { st.Inputs = input(layout.Int8, -1) },
		"pipeline: memory for 2 batches: ":                    func(st *pipeline.Stages) { st.Inputs = input(layout.Int8, 1<<50) },
		"pipeline.Run: [1099511627776,1099511627776]: the number of elements overflows int64": func(st *pipeline.Stages) { st.Inputs = input(layout.Int8, 1<<40, 1<<40) },
	} {
		st := good()
		change(&st)
		_, err := pipeline.Run(t.Context(), s, st)
		assert.ErrorContains(t, err, want)
		if want != "pipeline: memory for 2 batches: " {
			assert.True(t, errors.Is(err, device.ErrInvalid) || errors.Is(err, device.ErrUnsupported), "%v", err)
		} else {
			assert.ErrorIs(t, err, device.ErrOutOfMemory)
		}
	}
	_, err := pipeline.Run(t.Context(), nil, good())
	assert.ErrorIs(t, err, device.ErrInvalid)

	closed, err := tensor.Open("cpu")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	_, err = pipeline.Run(t.Context(), closed, good())
	assert.ErrorIs(t, err, device.ErrClosed)
}

// Arrays keep to their room and their type.
func TestArray(t *testing.T) {
	s := open(t, "cpu")
	done := false
	_, err := pipeline.Run(deadline(t), s, pipeline.Stages{
		Inputs: []pipeline.Input{{Type: layout.Bool, Dims: []int64{2, 3}}},
		Source: func(_ context.Context, in []*pipeline.Array) error {
			if done {
				return io.EOF
			}
			done = true
			a := in[0]
			assert.ErrorContains(t, a.Resize(7), "Array.Resize: bool[7] takes 7 bytes; the input has room for 6")
			assert.ErrorIs(t, a.Resize(-2), device.ErrInvalid)
			assert.ErrorIs(t, a.Resize(1<<40, 1<<40), device.ErrInvalid)
			assert.Equal(t, []int64{2, 3}, a.Dims())
			_, err := pipeline.Elements[uint8](a)
			assert.ErrorContains(t, err, "the elements are of type bool, not uint8")
			assert.NoError(t, a.Resize(5))
			copy(a.Bytes(), []byte{0, 1, 2, 255, 0})
			return nil
		},
		Work: func(_ context.Context, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
			x, err := in[0].Alias()
			return []*tensor.Tensor{x}, err
		},
		Sink: func(_ context.Context, out []*pipeline.Array) error {
			x, err := pipeline.Elements[bool](out[0])
			assert.Equal(t, []bool{false, true, true, true, false}, x)
			return err
		},
	})
	require.NoError(t, err)
}
