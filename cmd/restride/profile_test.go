package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
)

// branching saves a model with a constant, copies, and an If around one of them.
func branching(t *testing.T) string {
	m := model.New("g", 21)
	m.Graph.Inputs = []model.ValueInfo{
		{Name: "x", Type: model.TensorOf(layout.Float32, model.Known(300), model.Known(200))},
		{Name: "yes", Type: model.TensorOf(layout.Bool)},
	}
	m.Graph.Outputs = []model.ValueInfo{{Name: "y"}}
	branch := func(attr, out string) model.Attr {
		return model.Attr{Name: attr, Value: &model.Graph{
			Outputs: []model.ValueInfo{{Name: out}},
			Nodes:   []model.Node{model.NewNode("Concat", []string{"copied", "copied"}, []string{out}, onnx.Int("axis", 0))},
		}}
	}
	m.Graph.Nodes = []model.Node{
		model.NewNode("Constant", nil, []string{"flat"}, onnx.Ints("value_ints", -1)),
		model.NewNode("Transpose", []string{"x"}, []string{"turned"}),
		model.NewNode("Reshape", []string{"turned", "flat"}, []string{"copied"}),
		model.NewNode("If", []string{"yes"}, []string{"y"}, branch("then_branch", "a"), branch("else_branch", "b")),
	}
	path := filepath.Join(t.TempDir(), "m.onnx")
	require.NoError(t, m.Save(path))
	return path
}

// traced reads a profile, and checks that the spans of a row nest.
func traced(t *testing.T, path string) (events []traceEvent) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var file struct{ TraceEvents []traceEvent }
	require.NoError(t, json.Unmarshal(text, &file), "%s", text)
	const tolerance = 1e-4 // microseconds: rounding in the sums
	for i, a := range file.TraceEvents {
		if a.Type != "X" {
			continue
		}
		require.GreaterOrEqual(t, *a.Duration, 0.0)
		for _, b := range file.TraceEvents[:i] {
			if b.Type != "X" || a.Row != b.Row {
				continue
			}
			endA, endB := a.Begin+*a.Duration, b.Begin+*b.Duration
			apart := endA <= b.Begin+tolerance || endB <= a.Begin+tolerance
			within := a.Begin >= b.Begin-tolerance && endA <= endB+tolerance || b.Begin >= a.Begin-tolerance && endB <= endA+tolerance
			require.True(t, apart || within, "%+v\n%+v", a, b)
		}
	}
	return file.TraceEvents
}

func TestRunProfile(t *testing.T) {
	dev, err := device.Open("opencl:0")
	devicetest.Require(t, "opencl", err)
	require.NoError(t, dev.Close())
	model := branching(t)
	for on, device := range map[string][]string{"cpu": nil, "opencl:0": {"Reshape-21", "Concat-13", "If-21"}} {
		path := filepath.Join(t.TempDir(), "profile.json")
		out, err := restride("run", model, "--device", on, "--profile", path)
		require.NoError(t, err, out)
		assert.Regexp(t, `(?m)^profile written to `+path+`( without device times: the device works within the host's calls)?$`, out)
		rows := map[int][]string{}
		var names []any
		for _, e := range traced(t, path) {
			switch {
			case e.Type == "M":
				names = append(names, e.Args.(map[string]any)["name"])
				continue
			case e.Name == "Reshape-21":
				args := e.Args.(map[string]any)
				assert.Equal(t, []any{"copied float[60000]"}, args["outputs"])
				assert.Equal(t, "copy", args["verdict"])
				assert.EqualValues(t, 240000, args["bytes"])
				assert.NotEmpty(t, args["class"])
				assert.NotEmpty(t, args["kernel"])
			}
			rows[e.Row] = append(rows[e.Row], e.Name)
		}
		assert.Equal(t, []string{
			"load the model", "open the device", "prepare the session", "load the inputs", "run", "wait for the device", "show the outputs",
			"Session.Run", "Constant-21", "Transpose-21", "Reshape-21", "Concat-13", "If-21",
		}, rows[hostRow])
		assert.Equal(t, device, rows[deviceRow])
		require.GreaterOrEqual(t, len(names), 2)
		assert.Equal(t, []any{"restride", "host"}, names[:2])
		assert.Equal(t, device != nil, len(names) == 3 && strings.HasPrefix(names[2].(string), on+" "))
	}
}

// A profile that cannot be written is an error before the run, if possible; after an error
// there is no new file, and an old one is whole.
func TestRunProfileFails(t *testing.T) {
	model := branching(t)
	dir := t.TempDir()
	for _, path := range []string{filepath.Join(dir, "none", "p.json"), dir} {
		out, err := restride("run", model, "--device", "cpu", "--profile", path)
		require.ErrorContains(t, err, "--profile: ")
		require.Empty(t, out, "nothing ran")
	}
	path := filepath.Join(dir, "p.json")
	for _, old := range []string{"", "old"} {
		if old != "" {
			require.NoError(t, os.WriteFile(path, []byte(old), 0o600))
		}
		out, err := restride("run", model, "--device", "cpu", "--profile", path, "--max-memory", "100K")
		require.ErrorIs(t, err, device.ErrOutOfMemory, out)
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		if old == "" {
			require.Empty(t, left)
			continue
		}
		require.Len(t, left, 1)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, old, string(text))
	}
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("the system has no /dev/full")
	}
	out, err := restride("run", model, "--device", "cpu", "--profile", "/dev/full")
	require.ErrorContains(t, err, "--profile: ")
	require.NotContains(t, out, "profile written")
}
