package onnx_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// A 0 in the shape copies the input's extent. From opset 14, allowzero makes it
// an empty axis; before that, the attribute does not exist.
func ExampleReshape() {
	s, err := tensor.Open("cpu")
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	x, err := tensor.New(s, layout.Float32, 0, 3)
	if err != nil {
		log.Fatal(err)
	}
	defer x.Release()

	for _, opset := range []onnx.Opset{14, 13} {
		y, err := onnx.Reshape(x, opset, []int64{5, 0}, onnx.Int("allowzero", 1))
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(y.Shape(), y.Verdict())
		y.Release()
	}
	// Output:
	// [5,0] view
	// Reshape-13 of float[0,3]: attribute "allowzero" does not belong to this version; Reshape-14 has it
}

// An operator runs by name, with the attributes and the types of its version.
func ExampleRun() {
	x, err := tensor.FromHost([]int32{1, 2, 3, 4}, 2, 2)
	if err != nil {
		log.Fatal(err)
	}
	defer x.Release()

	for _, opset := range []onnx.Opset{24, 13} {
		out, err := onnx.Run("Trilu", opset, onnx.Attrs{onnx.Int("upper", 0)}, x)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(out[0])
		out[0].Release()
	}
	// Output:
	// int32[2,2] on cpu:
	// [[1 0]
	//  [3 4]]
	// Trilu: opset 13: the operator exists from opset 14
}

// Shape's result lives on the host: asking for it costs no transfer.
func ExampleShape() {
	s, err := tensor.Open("cpu")
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	x, err := tensor.New(s, layout.Int4, 2, 3, 4)
	if err != nil {
		log.Fatal(err)
	}
	defer x.Release()

	shape, err := onnx.Shape(x, 25, onnx.Int("start", -2))
	if err != nil {
		log.Fatal(err)
	}
	defer shape.Release()
	dims, err := tensor.Values[int64](shape)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(dims, shape.Stream() == tensor.Host())
	// Output: [3 4] true
}

// A model from a file, and a single operator.
func Example_file() {
	dir := must(os.MkdirTemp("", "model"))
	defer os.RemoveAll(dir)
	swap := model.New("swap", 21)
	swap.Graph.Inputs = []model.ValueInfo{{Name: "x", Type: model.TensorOf(layout.Float32, model.Symbolic("n"), model.Known(2))}}
	swap.Graph.Outputs = []model.ValueInfo{{Name: "y"}}
	swap.Graph.Nodes = []model.Node{model.NewNode("Transpose", []string{"x"}, []string{"y"})}
	before := must(os.Getwd())
	defer func() { _ = os.Chdir(before) }()
	if err := errors.Join(swap.Save(filepath.Join(dir, "model.onnx")), os.Chdir(dir)); err != nil {
		log.Fatal(err)
	}
	s, ctx := must(tensor.Open("cpu")), context.Background()
	defer s.Close()
	x := must(tensor.FromSlice(s, []float32{1, 2, 3, 4}, 2, 2))
	pads := must(tensor.FromHost([]int64{0, 1, 0, 0}, 4))

	m := must(model.Load("model.onnx")) // github.com/restride/restride/onnx/model
	sess := must(onnx.NewSession(s, m)) // attributes read, constants on the device
	out := must(sess.Run(ctx, onnx.Values{"x": x}))
	y := must(out.Tensor("y"))
	fmt.Println(tensor.Values[float32](y))

	func() {
		out := must(onnx.Run("Pad", 24, onnx.Attrs{{Name: "mode", Value: "edge"}}, x, pads))
		y := out[0].(*tensor.Tensor)
		fmt.Println(tensor.Values[float32](y))
	}()
	// Output:
	// [1 3 2 4] <nil>
	// [1 1 2 3 3 4] <nil>
}

// A model is prepared once and run often; OnNode tells what each node did.
func ExampleSession() {
	m := model.New("swap", 21)
	m.Graph.Inputs = []model.ValueInfo{{Name: "x", Type: model.TensorOf(layout.Float32, model.Symbolic("n"), model.Known(2))}}
	m.Graph.Outputs = []model.ValueInfo{{Name: "y"}}
	flat, err := model.NewTensor("flat", []int64{-1}, 1)
	if err != nil {
		log.Fatal(err)
	}
	m.Graph.Initializers = []model.Tensor{flat}
	m.Graph.Nodes = []model.Node{
		model.NewNode("Transpose", []string{"x"}, []string{"t"}),
		model.NewNode("Reshape", []string{"t", "flat"}, []string{"y"}),
	}

	s, err := tensor.Open("cpu")
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	sess, err := onnx.NewSession(s, m)
	if err != nil {
		log.Fatal(err)
	}
	defer sess.Close()
	sess.OnNode(func(n onnx.NodeReport) { fmt.Printf("%s: %v of %d bytes\n", n.Op, n.Kind, n.Bytes) })

	x, err := tensor.FromSlice(s, []float32{1, 2, 3, 4, 5, 6}, 3, 2)
	if err != nil {
		log.Fatal(err)
	}
	defer x.Release()
	out, err := sess.Run(context.Background(), onnx.Values{"x": x})
	if err != nil {
		log.Fatal(err)
	}
	defer out.Release()
	y, err := out.Tensor("y")
	if err != nil {
		log.Fatal(err)
	}
	data, err := tensor.Values[float32](y)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(data)
	// Output:
	// Transpose-21: view of 0 bytes
	// Reshape-21: copy of 24 bytes
	// [1 3 5 2 4 6]
}
