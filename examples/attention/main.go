// Command attention writes attention.onnx: the layout part of an attention block, which
// restride's quick start runs. Between the two outputs an engine would compute attention, head
// by head.
//
//	x       float[batch, sequence, 1024]
//	shape   Shape(x)
//	split   Reshape(x, [0, 0, 16, 64])       one row of 64 per head
//	heads   Transpose(split, [0, 2, 1, 3])   float[batch, 16, sequence, 64]
//	packed  Reshape(heads, [0, 0, -1])       each head's rows in one run
//	rows    Reshape(packed, [0, 0, -1, 64])
//	tokens  Transpose(rows, [0, 2, 1, 3])
//	merged  Reshape(tokens, shape)           equal to x again
package main

import (
	"fmt"
	"os"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
)

func main() {
	path := "attention.onnx"
	if len(os.Args) > 1 {
		path = os.Args[1]
	}
	m, err := attention(16, 64)
	if err == nil {
		err = m.Save(path)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// attention builds the model for a number of heads and their width.
func attention(heads, width int64) (*model.Model, error) {
	m := model.New("attention_layout", 21)
	m.Producer = "restride"
	g := m.Graph
	batch, sequence := model.Symbolic("batch"), model.Symbolic("sequence")
	tokens := model.TensorOf(layout.Float32, batch, sequence, model.Known(heads*width))
	g.Inputs = []model.ValueInfo{{Name: "x", Type: tokens}}
	g.Outputs = []model.ValueInfo{
		{Name: "packed", Type: model.TensorOf(layout.Float32, batch, model.Known(heads), model.Symbolic("row"))},
		{Name: "merged", Type: tokens},
	}
	for _, shape := range []struct {
		name string
		dims []int64
	}{{"to_split", []int64{0, 0, heads, width}}, {"to_packed", []int64{0, 0, -1}}, {"to_rows", []int64{0, 0, -1, width}}} {
		t, err := model.NewTensor(shape.name, shape.dims, int64(len(shape.dims)))
		if err != nil {
			return nil, err
		}
		g.Initializers = append(g.Initializers, t)
	}
	swap := onnx.Ints("perm", 0, 2, 1, 3)
	node := func(op, output string, inputs []string, attrs ...model.Attr) {
		n := model.NewNode(op, inputs, []string{output}, attrs...)
		n.Name = output
		g.Nodes = append(g.Nodes, n)
	}
	node("Shape", "shape", []string{"x"})
	node("Reshape", "split", []string{"x", "to_split"})
	node("Transpose", "heads", []string{"split"}, swap)
	node("Reshape", "packed", []string{"heads", "to_packed"})
	node("Reshape", "rows", []string{"packed", "to_rows"})
	node("Transpose", "tokens", []string{"rows"}, swap)
	node("Reshape", "merged", []string{"tokens", "shape"})
	return m, nil
}
