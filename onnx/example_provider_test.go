package onnx_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// engine has MatMul, Add and Softmax of floats, in plain Go.
type engine struct{ strided uint64 }

// Operator is onnx.Provider's.
func (e engine) Operator(n onnx.Node) (*onnx.Operator, error) {
	f, ok := map[string]func(a, b operand) ([]float32, []int64){"MatMul": matMul, "Add": add, "Softmax": softmax}[n.Op]
	if !ok || n.Domain != "" {
		return nil, nil // the session names what nobody has
	}
	return &onnx.Operator{
		Strided: e.strided,
		Types: func(in []onnx.OutputInfo) ([]onnx.OutputInfo, error) {
			dims := in[0].Shape
			if n.Op == "MatMul" {
				dims = append(dims[:len(dims)-1:len(dims)-1], in[1].Shape[len(in[1].Shape)-1])
			}
			return []onnx.OutputInfo{{Type: layout.Float32, Shape: dims}}, nil
		},
		Run: func(c *onnx.Call) error {
			if err := c.Stream.Wait(); err != nil { // for what the session has queued
				return err
			}
			var in [2]operand
			for i := range c.Inputs {
				x, err := c.Tensor(i)
				if err != nil {
					return err
				}
				in[i] = operandOf(x)
			}
			values, dims := f(in[0], in[1])
			y, err := tensor.FromSlice(c.Stream, values, dims...)
			c.Outputs[0] = y
			return err
		},
	}, nil
}

// operand is a tensor in memory, through its strides.
type operand struct {
	bytes []byte
	layout.Layout
}

func operandOf(x *tensor.Tensor) operand {
	b, _ := x.Stream().Device().(device.HostMemory).HostBytes(x.Buffer())
	return operand{b, x.Layout()}
}

func (o operand) at(index ...int64) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(o.bytes[4*o.At(index...):]))
}

func matMul(a, b operand) ([]float32, []int64) {
	dims := a.Shape()
	n, k, last := b.Dim(b.Rank()-1), a.Dim(a.Rank()-1), a.Rank()-1
	dims[last] = n
	var out []float32
	walk(dims, func(index []int64) {
		sum := float32(0)
		from, to := append([]int64{}, index...), append([]int64{}, index[last+1-b.Rank():]...)
		for i := range k {
			from[last], to[len(to)-2] = i, i
			sum += a.at(from...) * b.at(to...)
		}
		out = append(out, sum)
	})
	return out, dims
}

func add(a, b operand) (out []float32, dims []int64) {
	walk(a.Shape(), func(index []int64) { out = append(out, a.at(index...)+b.at(index...)) })
	return out, a.Shape()
}

func softmax(a, _ operand) (out []float32, dims []int64) {
	walk(a.Shape(), func(index []int64) { out = append(out, float32(math.Exp(float64(a.at(index...))))) })
	n := int(a.Dim(a.Rank() - 1))
	for i := 0; i < len(out); i += n {
		sum := float32(0)
		for _, v := range out[i:][:n] {
			sum += v
		}
		for k := range n {
			out[i+k] /= sum
		}
	}
	return out, a.Shape()
}

// walk calls f with every index, in row-major order.
func walk(dims []int64, f func(index []int64)) {
	index := make([]int64, len(dims))
	var along func(axis int)
	along = func(axis int) {
		if axis == len(dims) {
			f(index)
			return
		}
		for index[axis] = range dims[axis] {
			along(axis + 1)
		}
	}
	along(0)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// transformer is attention with its projections and the addition after it.
func transformer(heads, width int64) *model.Model {
	m := model.New("transformer", 17)
	wide := heads * width
	m.Graph.Inputs = []model.ValueInfo{{Name: "x", Type: model.TensorOf(layout.Float32, model.Symbolic("batch"), model.Symbolic("tokens"), model.Known(wide))}}
	m.Graph.Outputs = []model.ValueInfo{{Name: "y"}}
	weights := func(name string, rows, columns int64) model.Tensor {
		values := make([]float32, rows*columns)
		for i := range values {
			values[i] = float32(i%7-3) / 8
		}
		return must(model.NewTensor(name, values, rows, columns))
	}
	shape := func(name string, extents ...int64) model.Tensor {
		return must(model.NewTensor(name, extents, int64(len(extents))))
	}
	index := func(i int64) model.Tensor { return must(model.NewTensor(fmt.Sprint(i), []int64{i}, []int64{}...)) }
	m.Graph.Initializers = []model.Tensor{
		weights("w_qkv", wide, 3*wide), weights("w_out", wide, wide),
		shape("apart_as", 0, 0, 3, heads, width), shape("joined_as", 0, 0, wide), index(0), index(1), index(2),
	}
	m.Graph.Nodes = []model.Node{
		node("MatMul", "qkv", []string{"x", "w_qkv"}),
		node("Reshape", "split", []string{"qkv", "apart_as"}),
		node("Transpose", "apart", []string{"split"}, onnx.Ints("perm", 2, 0, 3, 1, 4)),
		node("Gather", "q", []string{"apart", "0"}),
		node("Gather", "k", []string{"apart", "1"}),
		node("Gather", "v", []string{"apart", "2"}),
		node("Transpose", "kt", []string{"k"}, onnx.Ints("perm", 0, 1, 3, 2)),
		node("MatMul", "scores", []string{"q", "kt"}),
		node("Softmax", "weights", []string{"scores"}),
		node("MatMul", "mixed", []string{"weights", "v"}),
		node("Transpose", "back", []string{"mixed"}, onnx.Ints("perm", 0, 2, 1, 3)),
		node("Reshape", "joined", []string{"back", "joined_as"}),
		node("MatMul", "out", []string{"joined", "w_out"}),
		node("Add", "y", []string{"out", "x"}),
	}
	return m
}

// An engine brings what a session has not. Between its operators the layout stays the
// session's: it is told that MatMul takes any strides, so that the heads of attention are
// never copied.
func ExampleWithOperators() {
	s, err := tensor.Open("cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	m := transformer(2, 4)
	sess, err := onnx.NewSession(s, m, onnx.WithOperators(engine{strided: onnx.All}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sess.Close()
	sess.OnNode(func(n onnx.NodeReport) { fmt.Println(n.Op, n.TypeString(), n.Outcome(), n.Bytes) })
	x, err := tensor.New(s, layout.Float32, 1, 3, 8)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer x.Release()
	out, err := sess.Run(context.Background(), onnx.Values{"x": x})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(out.Release())
	// Output:
	// MatMul-17 float[1,3,24] foreign 0
	// Reshape-14 float[1,3,3,2,4] view 0
	// Transpose-13 float[3,1,2,3,4] view 0
	// Gather-13 float[1,2,3,4] view 0
	// Gather-13 float[1,2,3,4] view 0
	// Gather-13 float[1,2,3,4] view 0
	// Transpose-13 float[1,2,4,3] view 0
	// MatMul-17 float[1,2,3,3] foreign 0
	// Softmax-17 float[1,2,3,3] foreign 0
	// MatMul-17 float[1,2,3,4] foreign 0
	// Transpose-13 float[1,3,2,4] view 0
	// Reshape-14 float[1,3,8] copy 96
	// MatMul-17 float[1,3,8] foreign 0
	// Add-17 float[1,3,8] foreign 0
	// <nil>
}
