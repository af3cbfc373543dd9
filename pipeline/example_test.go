package pipeline_test

import (
	"context"
	"fmt"
	"io"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/pipeline"
	"github.com/restride/restride/tensor"
)

// Batches of two pictures of 2x2 pixels go through a model, a transpose from
// height, width, colour to colour, height, width.
func ExampleRun() {
	m := model.New("planes", 21)
	m.Graph.Inputs = []model.ValueInfo{{Name: "x", Type: model.TensorOf(layout.Uint8, model.Symbolic("n"), model.Known(2), model.Known(2), model.Known(3))}}
	m.Graph.Outputs = []model.ValueInfo{{Name: "y", Type: model.TensorOf(layout.Uint8, model.Symbolic("n"), model.Known(3), model.Known(2), model.Known(2))}}
	m.Graph.Nodes = append(m.Graph.Nodes, model.NewNode("Transpose", []string{"x"}, []string{"y"}, onnx.Ints("perm", 0, 3, 1, 2)))

	s, err := tensor.Open("cpu")
	if err != nil {
		panic(err)
	}
	defer s.Close()
	sess, err := onnx.NewSession(s, m)
	if err != nil {
		panic(err)
	}
	defer sess.Close()

	pictures := [][]byte{[]byte("RGBRGBRGBRGB"), []byte("rgbrgbrgbrgb"), []byte("abcabcabcabc")}
	stats, err := pipeline.Run(context.Background(), s, pipeline.Stages{
		Inputs: []pipeline.Input{{Type: layout.Uint8, Dims: []int64{2, 2, 2, 3}}},
		Source: func(_ context.Context, in []*pipeline.Array) error {
			if len(pictures) == 0 {
				return io.EOF
			}
			n := min(2, len(pictures)) // the last batch is smaller
			if err := in[0].Resize(int64(n), 2, 2, 3); err != nil {
				return err
			}
			for i, p := range pictures[:n] {
				copy(in[0].Bytes()[12*i:], p)
			}
			pictures = pictures[n:]
			return nil
		},
		Work: func(ctx context.Context, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
			out, err := sess.Run(ctx, onnx.Values{"x": in[0]})
			if err != nil {
				return nil, err
			}
			y, err := out.Tensor("y")
			return []*tensor.Tensor{y}, err
		},
		Sink: func(_ context.Context, out []*pipeline.Array) error {
			fmt.Println(out[0].Dims(), string(out[0].Bytes()))
			return nil
		},
	})
	fmt.Println(stats.Batches, "batches,", stats.Uploaded, "bytes up,", stats.Downloaded, "down,", err)
	// Output:
	// [2 3 2 2] RRRRGGGGBBBBrrrrggggbbbb
	// [1 3 2 2] aaaabbbbcccc
	// 2 batches, 36 bytes up, 36 down, <nil>
}

// The stages as functions of the program.
func ExampleRun_stages() {
	s, err := tensor.Open("cpu")
	if err != nil {
		panic(err)
	}
	defer s.Close()
	ctx, batches := context.Background(), 3
	fill := func(_ context.Context, in []*pipeline.Array) error {
		if batches == 0 {
			return io.EOF
		}
		batches--
		return in[0].Resize(1, 2, 3)
	}
	work := func(_ context.Context, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
		y, err := in[0].Transpose(0, 2, 1)
		return []*tensor.Tensor{y}, err
	}
	take := func(_ context.Context, out []*pipeline.Array) error {
		fmt.Println(out[0].Dims())
		return nil
	}

	stats, err := pipeline.Run(ctx, s, pipeline.Stages{
		// The largest batch:
		Inputs: []pipeline.Input{{Type: layout.Float32, Dims: []int64{4, 256, 1024}}},
		Source: fill, // host memory, pinned where the device has that; io.EOF ends
		Work:   work, // tensors on s: a session's Run, say
		Sink:   take, // the results, in order
	})

	fmt.Println(stats.Batches, err)
	// Output:
	// [1 3 2]
	// [1 3 2]
	// [1 3 2]
	// 3 <nil>
}
