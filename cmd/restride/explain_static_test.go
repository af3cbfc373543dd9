package main

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
)

// convolution writes a model of an engine's operator between two transpositions.
func convolution(t *testing.T) string {
	t.Helper()
	m := model.New("g", 17)
	n := model.Symbolic("n")
	m.Graph.Inputs = []model.ValueInfo{{Name: "x", Type: model.TensorOf(layout.Float32, n, model.Known(4), model.Known(4), model.Known(3))}}
	m.Graph.ValueInfo = []model.ValueInfo{{Name: "b", Type: model.TensorOf(layout.Float32, n, model.Known(8), model.Known(2), model.Known(2))}}
	m.Graph.Nodes = []model.Node{
		model.NewNode("Transpose", []string{"x"}, []string{"a"}, onnx.Ints("perm", 0, 3, 1, 2)),
		model.NewNode("Conv", []string{"a"}, []string{"b"}),
		model.NewNode("Transpose", []string{"b"}, []string{"c"}, onnx.Ints("perm", 0, 2, 3, 1)),
		model.NewNode("Flatten", []string{"c"}, []string{"y"}),
	}
	m.Graph.Outputs = []model.ValueInfo{{Name: "y"}}
	path := filepath.Join(t.TempDir(), "m.onnx")
	require.NoError(t, m.Save(path))
	return path
}

// TestExplainForeign: a model that restride cannot run is explained all the same.
func TestExplainForeign(t *testing.T) {
	path := convolution(t)
	out, err := restride("explain", path, "--device", "cpu")
	require.NoError(t, err, out)
	require.Regexp(t, `(?m)^1 +Conv-17 +b +float\[n,8,2,2\] +foreign +0 +0 +an engine's`, out)
	require.Regexp(t, `(?m)^2 +Transpose-13 +c +float\[n,2,2,8\] +view +0 +\? `, out)
	require.Contains(t, out, `4 nodes: 1 of an engine, 2 views, 1 "view unless", 0 copies, 0 on the host, 0 constants, 0 wrong`)
	require.Contains(t, out, "copies: 0 B and those of 1 nodes of unknown size; ONNX Runtime's for the same nodes: 0 B and those of 2 nodes of unknown size")

	for _, flag := range []string{"--dim=n=2", "--shape=x=2x4x4x3"} {
		out, err = restride("explain", path, "--device", "cpu", flag)
		require.NoError(t, err, out)
		require.Regexp(t, `(?m)^3 +Flatten-13 +y +float\[2,32\] +copy +256 +0 +no strides over`, out)
		require.Contains(t, out, "copies: 256 B; ONNX Runtime's for the same nodes: 640 B") // 2*48 and 2*32 floats
	}

	out, err = restride("explain", path, "--device", "cpu", "--copies", "--dim", "n=2")
	require.NoError(t, err, out)
	require.Contains(t, out, "3     Flatten-13")
	require.NotContains(t, out, "Transpose-13")
	require.Contains(t, out, "4 nodes: ", "the totals are of all nodes")

	out, err = restride("explain", path, "--device", "cpu", "--json", "--dim", "n=2")
	require.NoError(t, err, out)
	var e onnx.Explanation
	require.NoError(t, json.Unmarshal([]byte(out), &e))
	require.Equal(t, onnx.Totals{Nodes: 4, Foreign: 1, Views: 2, Copies: 1, Bytes: 256, Runtime: 640}, e.Totals)
	require.Equal(t, onnx.IsForeign, e.Nodes[1].Outcome)
	require.Equal(t, []string{"a"}, e.Nodes[1].Inputs)
	require.Equal(t, []onnx.Typed{{Name: "b", Type: "float[2,8,2,2]"}}, e.Nodes[1].Outputs)

	dot := draw(t, path)
	require.Regexp(t, `(?m)^\tn1 \[label="Conv-17\\nforeign", .*fillcolor="#ffffff"\];`, dot)
	require.Contains(t, dot, "\tn1 -> n2 [label=\"float[n,8,2,2]\"];\n")
}

// TestExplainStatic: a model that restride can run need not be run.
func TestExplainStatic(t *testing.T) {
	out, err := restride("explain", attention, "--device", "cpu", "--static", "--shape", "x=2x16x1024")
	require.NoError(t, err, out)
	require.Contains(t, out, "not run: ")
	require.Contains(t, out, "7 nodes: 0 of an engine")

	out, err = restride("explain", attention, "--device", "cpu", "--shape", "x=3x2x1024")
	require.NoError(t, err, out)
	require.Contains(t, out, "input x: random float[3,2,1024]")
}

func TestExplainRefusesShapes(t *testing.T) {
	path := convolution(t)
	for flag, says := range map[string]string{
		"--shape=x":         `--shape "x": want NAME=1x3x224x224`,
		"--shape=x=1x-2":    "want NAME=1x3x224x224",
		"--shape=x=1x2":     `input "x" cannot be [1,2]; the graph declares float[n,4,4,3]`,
		"--shape=nothing=1": `the model has no value "nothing"`,
		"--dim=m=2":         "no input has an axis of that name",
		"--input=x=x.npy":   "--input: the model is not run",
	} {
		_, err := restride("explain", path, "--device", "cpu", flag)
		require.ErrorContains(t, err, says)
	}
	_, err := restride("run", attention, "--device", "cpu", "--shape", "nothing=1")
	require.ErrorContains(t, err, "no input that is made up has that name")
}

// TestExplainOfIf: nodes of the graph that an If runs are named with it.
func TestExplainOfIf(t *testing.T) {
	m := model.New("g", 17)
	m.Graph.Inputs = []model.ValueInfo{{Name: "x", Type: model.TensorOf(layout.Float32, model.Known(2), model.Known(3))}}
	yes, err := model.NewTensor("yes", []bool{true}, 1)
	require.NoError(t, err)
	m.Graph.Initializers = []model.Tensor{yes}
	branch := func(attr, op string) model.Attr {
		return model.Attr{Name: attr, Value: &model.Graph{
			Nodes:   []model.Node{model.NewNode(op, []string{"x"}, []string{attr})},
			Outputs: []model.ValueInfo{{Name: attr}},
		}}
	}
	m.Graph.Nodes = []model.Node{model.NewNode("If", []string{"yes"}, []string{"y"}, branch("then_branch", "Transpose"), branch("else_branch", "Identity"))}
	m.Graph.Outputs = []model.ValueInfo{{Name: "y"}}
	path := filepath.Join(t.TempDir(), "m.onnx")
	require.NoError(t, m.Save(path))
	out, err := restride("explain", path, "--device", "cpu")
	require.NoError(t, err, out)
	require.Regexp(t, `(?m)^node 0 \(If\)\.then_branch: 0 +Transpose-13 +then_branch +float\[3,2\] +view `, out)
	require.Regexp(t, `(?m)^0 +If-17 +y +float\[3,2\] +view .* its graphs ran$`, out)
	require.Contains(t, out, "cpu: 2 nodes: 2 views, 0 copies")
	require.Contains(t, draw(t, path), `"If-17\nview"`)
}

// TestExplainOfHostileNames: what a file calls things stays on its line.
func TestExplainOfHostileNames(t *testing.T) {
	const evil = "\n\x1b[2Jforged"
	m := model.New(evil, 17)
	m.Opsets[evil] = 1
	m.Graph.Inputs = []model.ValueInfo{{Name: evil, Type: model.TensorOf(layout.Float32, model.Symbolic(evil))}}
	body := model.Attr{Name: evil, Value: &model.Graph{
		Nodes:   []model.Node{{OpType: evil, Name: evil, Inputs: []string{evil}, Outputs: []string{"b" + evil}}},
		Outputs: []model.ValueInfo{{Name: "b" + evil}},
	}}
	m.Graph.Nodes = []model.Node{{Domain: evil, OpType: evil, Name: evil, Inputs: []string{evil}, Outputs: []string{"y" + evil}, Attrs: onnx.Attrs{body}}}
	m.Graph.Outputs = []model.ValueInfo{{Name: "y" + evil}}
	path := filepath.Join(t.TempDir(), "m.onnx")
	require.NoError(t, m.Save(path))
	for _, flags := range [][]string{nil, {"--json"}} {
		out, err := restride(append([]string{"explain", path, "--device", "cpu"}, flags...)...)
		require.NoError(t, err, out)
		require.NotRegexp(t, `(?m)^forged`, out)
		require.NotContains(t, out, "\x1b")
	}
	draw(t, path)
}
