package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
)

// draw returns the picture of a model, as explain writes it.
func draw(t *testing.T, path string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "g.dot")
	out, err := restride("explain", path, "--device", "cpu", "--dot", file)
	require.NoError(t, err, out)
	require.Contains(t, out, "picture written to "+file)
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	if dot, err := exec.LookPath("dot"); err == nil {
		svg, err := exec.Command(dot, "-Tsvg", file).CombinedOutput()
		require.NoError(t, err, string(svg))
		require.Contains(t, string(svg), "</svg>")
	}
	return string(b)
}

func TestPicture(t *testing.T) {
	dot := draw(t, attention)
	assert.Regexp(t, `(?m)^\tn0 \[label="Shape-21\\nhost", .*fillcolor="#bbdefb"\];`, dot)
	assert.Regexp(t, `(?m)^\tn2 \[label="Transpose-21\\nview", .*fillcolor="#c8e6c9"\];`, dot)
	assert.Regexp(t, `(?m)^\tn3 \[label="Reshape-21\\ncopy \(rows by \S+\)\\n16.0 KiB", .*fillcolor="#ffcc80"\];`, dot)
	assert.Contains(t, dot, "\tn2 -> n3 [label=\"float[2,16,2,64]\"];\n")
	assert.Contains(t, dot, "\t\"input x\" -> n0 ")
	assert.Contains(t, dot, "\tn6 -> \"output merged\";\n")
}

// Names from a file may hold anything, and an output may be an input.
func TestPictureOfHostileNames(t *testing.T) {
	const evil = "a\"]; n0 -> n0 [label=\"\n\\"
	m := model.New("g", 21)
	m.Graph.Inputs = []model.ValueInfo{{Name: evil, Type: model.TensorOf(layout.Float32, model.Known(2))}}
	m.Graph.Outputs = []model.ValueInfo{{Name: evil}, {Name: "a"}, {Name: "b"}}
	m.Graph.Nodes = []model.Node{
		model.NewNode("Concat", []string{evil, evil}, []string{"a"}, onnx.Int("axis", 0)),
		model.NewNode("Constant", nil, []string{"b"}, onnx.Int("value_int", 1)),
	}
	path := filepath.Join(t.TempDir(), "m.onnx")
	require.NoError(t, m.Save(path))
	dot := draw(t, path)
	assert.Contains(t, dot, `"input a\"]; n0 -> n0 [label=\"\n\\" -> n0`)
	assert.Regexp(t, `(?m)^\tn1 \[label="Constant-21\\nconstant"`, dot)
}

// A sparse initializer may be an output: once its arrow came from nowhere, which is
// no picture.
func TestPictureOfSparseInitializers(t *testing.T) {
	values, err := model.NewTensor("w", []float32{5}, 1)
	require.NoError(t, err)
	indices, err := model.NewTensor("", []int64{2}, 1)
	require.NoError(t, err)
	m := model.New("g", 21)
	m.Graph.SparseInitializers = []model.SparseTensor{{Values: values, Indices: indices, Dims: layout.Shape{4}}}
	m.Graph.Outputs = []model.ValueInfo{{Name: "w"}}
	path := filepath.Join(t.TempDir(), "m.onnx")
	require.NoError(t, m.Save(path))
	dot := draw(t, path)
	assert.Contains(t, dot, "\t\"constant w\" [label=\"w\\nfloat[4]\", ")
	assert.Contains(t, dot, "\t\"constant w\" -> \"output w\";\n")
}
