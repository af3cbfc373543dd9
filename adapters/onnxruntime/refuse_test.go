package onnxruntime_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/adapters/onnxruntime"
	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// loads names, in the environment of this program, a library to load, and ends it: a process
// can load only one.
const loads = "RESTRIDE_TEST_LOADS"

func TestMain(m *testing.M) {
	if path := os.Getenv(loads); path != "" {
		_, err := onnxruntime.New(onnxruntime.Options{Library: path})
		fmt.Println(err)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestLibrary: a file that is not a library, another library, or one that is too old, is a
// clear error.
func TestLibrary(t *testing.T) {
	dir := t.TempDir()
	compiled := func(name, source string) string {
		c, so := filepath.Join(dir, name+".c"), filepath.Join(dir, name+".so")
		require.NoError(t, os.WriteFile(c, []byte(source), 0o600))
		out, err := exec.Command("cc", "-shared", "-fPIC", "-o", so, c).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return so
	}
	_, err := exec.LookPath("cc")
	devicetest.Require(t, "compilers", err)
	text := filepath.Join(dir, "text.so")
	require.NoError(t, os.WriteFile(text, []byte("text"), 0o600))
	for path, says := range map[string]string{
		filepath.Join(dir, "none.so"):          "cannot open shared object file",
		text:                                   "file too short",
		compiled("other", "int other;"):        "OrtGetApiBase",
		compiled("old", oldRuntime):            "it is older than ONNX Runtime 1.24",
		compiled("new", oldRuntime+"int new;"): "it is older",
	} {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), loads+"="+path)
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), says)
		require.Contains(t, string(out), fmt.Sprintf("onnxruntime.New: ONNX Runtime cannot be loaded from %q", path))
	}
}

// oldRuntime is a library that does not know the requested version of the API.
const oldRuntime = `
struct base { const void *(*api)(unsigned); const char *(*version)(void); };
static const void *api(unsigned version) { return 0; }
static const char *version(void) { return "1.0.0"; }
static struct base only = {api, version};
struct base *OrtGetApiBase(void) { return &only; }
`

// TestRefuses: nodes that ONNX Runtime lacks, or cannot run, are errors that name the node.
func TestRefuses(t *testing.T) {
	engine := newEngine(t)
	s := openOn(t, "cpu")
	float := model.TensorOf(layout.Float32, model.Symbolic("n"))
	foreign := modelOf(list("x"), list("y"), model.Node{OpType: "Exp", Domain: "elsewhere", Inputs: list("x"), Outputs: list("y")})
	foreign.Opsets["elsewhere"] = 1
	_, err := onnx.NewSession(s, foreign, onnx.WithOperators(engine))
	require.ErrorIs(t, err, device.ErrUnsupported)
	require.ErrorContains(t, err, "elsewhere.Exp")

	// The types of inputs are declared: before a run.
	wrong := modelOf(list("x"), list("y"), node("Softmax", list("x"), list("y"), onnx.Int("axes", 7)))
	wrong.Graph.Inputs[0].Type = float
	_, err = onnx.NewSession(s, wrong, onnx.WithOperators(engine))
	require.ErrorIs(t, err, device.ErrDriver)
	require.ErrorContains(t, err, "node 0 (Softmax)")
	require.ErrorContains(t, err, "axes")

	// ONNX Runtime runs an If whole: what it makes would have to be returned.
	branch := &model.Graph{Name: "branch", Nodes: []model.Node{node("SequenceConstruct", list("x"), list("s"))}, Outputs: values("s")}
	branch.Outputs[0].Type = model.SequenceOf(model.Type{Kind: model.TensorType, Elem: layout.Float32})
	sequence := modelOf(list("x"), list("y"), node("If", list("c"), list("y"), model.Attr{Name: "then_branch", Value: branch}, model.Attr{Name: "else_branch", Value: branch}))
	yes, err := model.NewTensor("c", []bool{true}, 1)
	require.NoError(t, err)
	sequence.Graph.Initializers = []model.Tensor{yes}
	text := modelOf(list("x"), list("y"), node("StringNormalizer", list("x"), list("y")))
	strings := held(t)(tensor.FromSlice(s, []string{"a"}, 1))
	x := input(t, s, layout.Float32, []float32{1, 2}, 2)
	for _, c := range []struct {
		model *model.Model
		x     onnx.Value
		kind  error
		says  string
	}{
		{sequence, x, device.ErrUnsupported, "an output is not a tensor"},
		{text, strings, device.ErrUnsupported, "string"},
		{modelOf(list("x"), list("y"), node("Exp", list("x"), list("y"))), held(t)(tensor.New(s, layout.Int8, 2)), device.ErrDriver, "int8"},
		{modelOf(list("x"), list("y"), node("MatMul", list("x", "x"), list("y"))), held(t)(tensor.New(s, layout.Float32, 2, 3)), device.ErrDriver, ""},
	} {
		sess := newSession(t, s, c.model, engine)
		for range 2 {
			_, err := sess.Run(t.Context(), onnx.Values{"x": c.x})
			require.ErrorIs(t, err, c.kind)
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, err, "node 0 (")
		}
	}
}
