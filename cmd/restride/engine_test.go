package main

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx/model"
)

// A model of a chain of operators, the i-th of ops[i].
func chain(t *testing.T, ops ...string) (path string) {
	t.Helper()
	m := model.New("g", 21)
	m.Graph.Inputs = []model.ValueInfo{{Name: "v0", Type: model.TensorOf(layout.Float32, model.Known(2), model.Known(3))}}
	for i, op := range ops {
		m.Graph.Nodes = append(m.Graph.Nodes, model.NewNode(op, []string{fmt.Sprintf("v%d", i)}, []string{fmt.Sprintf("v%d", i+1)}))
	}
	m.Graph.Outputs = []model.ValueInfo{{Name: fmt.Sprintf("v%d", len(ops))}}
	path = filepath.Join(t.TempDir(), "m.onnx")
	require.NoError(t, m.Save(path))
	return path
}

// run said of such a model which operators are not supported, and not what can be done.
func TestBugRunOfModelForEngine(t *testing.T) {
	path := chain(t, "Relu", "Conv", "Transpose", "Relu", "Softmax", "Relu")
	text, status := complaint(t, "run", path, "--device", "cpu")
	assert.Equal(t, failed, status)
	assert.Contains(t, text, path+" needs an engine: Restride has no Conv (1 node), Relu (3 nodes), Softmax (1 node)\n")
	assert.Contains(t, text, "restride explain "+path)
	assert.Contains(t, text, "adapters/onnxruntime")

	out, err := restride("explain", path, "--device", "cpu")
	require.NoError(t, err, "explain does as run says")
	assert.Contains(t, out, "5 of an engine, 1 views")
	assert.DirExists(t, "../../adapters/onnxruntime")

	var many []string
	for i := range 25 {
		many = append(many, fmt.Sprintf("Op%02d", i))
	}
	text, _ = complaint(t, "run", chain(t, many...), "--device", "cpu")
	assert.Contains(t, text, "Op19 (1 node), and 5 more\n")
}
