//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx/model"
)

// Names as nobody gives them: one begins a line that looks like ours, clears the screen,
// and turns the direction of writing around. evilPath is no UTF-8, as paths need not be.
const (
	forged   = "FORGED"
	evil     = "a\n" + forged + ": 7 passed\r" + forged + "\x1b[2J\u009b31m\u202e\u2028\t=\x7f"
	evilPath = evil + "\xff\x9b"
)

// bare runs the command with such a name in it, prints its error as main does, and looks
// at all that reaches the terminal. It returns that.
func bare(t *testing.T, args ...string) string {
	t.Helper()
	out, err := restride(args...)
	if err != nil {
		harmless(t, err.Error(), args) // before main looks
		var said bytes.Buffer
		complain(&said, err)
		out += said.String()
	}
	harmless(t, out, args)
	return out
}

// named is bare, and the name, or some of it, is in what is printed.
func named(t *testing.T, args ...string) {
	t.Helper()
	assert.Contains(t, bare(t, args...), forged, "%q: the name is not printed: this tests nothing", args)
}

func harmless(t *testing.T, text string, of any) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		assert.True(t, utf8.ValidString(line), "%q: not UTF-8: %q", of, line)
		assert.False(t, strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }), "%q: it cannot be printed: %q", of, line)
		assert.False(t, strings.HasPrefix(line, forged), "%q: a forged line: %q", of, line)
	}
}

func TestHostileArguments(t *testing.T) {
	cases := t.TempDir()
	x, err := model.NewTensor("x", []int32{1}, 1)
	require.NoError(t, err)
	writeCase(t, cases, "case", "Transpose", x, x)
	pattern := strings.ReplaceAll(evil, "[", "")
	csv := func(word string) string { return `"` + word + `"` }
	for _, args := range [][]string{
		{evil},
		{"devices", evil},
		{"run", attention, "--" + evil},
		{"run", attention, "--seed", evil},
		{"run", attention, "--device", evil},
		{"run", attention, "--device", "cpu:" + evil},
		{"run", attention, "--input", evil},
		{"run", attention, "--input", "x" + evil},
		{"run", attention, "--dim", evil},
		{"run", attention, "--dim", evil + "=2"},
		{"explain", attention, "--device", evil},
		{"repack", evil, "--to", "packed", "--output", "x.safetensors"},
		{"repack", ".", "--from", evil, "--to", "packed", "--output", "x.safetensors"},
		{"conform", "--run", "(" + pattern, "."},
		{"conform", "--run", pattern, t.TempDir()},
		{"conform", "--device", csv(evil), cases},
		{"verify", "--device", evil},
		{"verify", "--case", evil},
		{"explain", "--case", evil},
		{"explain", "--case", "copy/float/3/dst=1@0/src=1@0", "--target", evil},
		{"verify", "--cases", evil},
		{"bench", "--device", csv(evil)},
		{"bench", "--filter", "(" + pattern},
		{"bench", "--filter", pattern},
		{"bench", "--case", strings.ReplaceAll(evil, "=", "")},
		{"bench", "--case", strings.ReplaceAll(evil, "=", "") + "=copy/int8/3/dst=1@0/src=1@0"},
		{"bench", "--case", "x=" + evil},
		{"bench", "--size", csv(evil)},
		{"bench", "--time", evil},
		{"bench", "--peer", csv("x=(" + pattern)},
		{"bench", "--peer", csv("=" + evil)},
		{"bench", "--device", "cpu", "--peer", csv("/no/such/" + strings.ReplaceAll(evil, "=", ""))},
	} {
		named(t, args...)
	}
	// Lists of values are read as CSV, whose errors do not name them.
	bare(t, "bench", "--device", `"`+evil)
}

func TestHostilePaths(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, evilPath)
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.WriteFile(at("garbage"), []byte("nonsense"), 0o600))
	require.NoError(t, os.WriteFile(at("garbage.npy"), []byte("nonsense"), 0o600))
	require.NoError(t, os.Mkdir(at("folder"), 0o700))
	require.NoError(t, os.Mkdir(at("folder.npy"), 0o700))
	require.NoError(t, syscall.Mkfifo(at("pipe"), 0o600))
	require.NoError(t, syscall.Mkfifo(at("pipe.npy"), 0o600))
	require.NoError(t, os.WriteFile(at("huge"), nil, 0o600))
	require.NoError(t, os.Truncate(at("huge"), 10<<30))
	start := time.Now()
	for _, name := range []string{"none", "garbage", "folder", "pipe", "huge"} {
		named(t, "run", at(name))
		named(t, "explain", at(name))
		named(t, "run", attention, "--input", "x="+at(name))
		named(t, "repack", at(name), "--to", "packed", "--output", at("x.safetensors"))
		named(t, "bench", "--from", at(name))
		named(t, "bench", "--compare", at(name))
		named(t, "bench", "--cases", at(name))
		if name != "huge" {
			named(t, "run", attention, "--input", "x="+at(name+".npy"))
		}
	}
	writeTensors(t, filepath.Join(root, "weights.safetensors"), safetensor(t, evil+".weight", "U8", 16, 32), safetensor(t, evil, "U8", 3))
	for _, name := range []string{"x.safetensors", "folder", "pipe", "none/x"} {
		named(t, "repack", filepath.Join(root, "weights.safetensors"), "--from", "packed", "--to", "tilepacked", "--output", at(name))
	}
	named(t, "repack", filepath.Join(root, "weights.safetensors"), "--from", "packed", "--to", "marlin", "--output", at("y.safetensors"))
	named(t, "run", attention, "--output", at("out"))
	named(t, "run", attention, "--output", at("garbage"))
	named(t, "run", attention, "--output", at("pipe"))
	named(t, "explain", attention, "--dot", at("dot"))
	for _, name := range []string{"folder", "none/dot", "pipe"} {
		named(t, "explain", attention, "--dot", at(name))
	}
	named(t, "conform", dir)
	named(t, "conform", at("none"))
	measure := []string{"bench", "--device", "cpu", "--filter", "pack/4", "--size", "1K", "--time", "1us"}
	for _, flag := range []string{"--json", "--html", "--benchstat"} {
		for _, name := range []string{"none/x", "folder", "pipe"} {
			named(t, append(measure, flag, at(name))...)
		}
	}
	bare(t, append(measure, "--json", at("figures"))...)
	named(t, append(measure, "--compare", at("figures"))...)
	assert.Less(t, time.Since(start), time.Minute, "nothing waits for a pipe")

	// Cases, and what is wrong with them.
	x, err := model.NewTensor("x", []int32{1, 2, 3, 4, 5, 6}, 2, 3)
	require.NoError(t, err)
	words, err := model.NewTensor("y", []string{evil}, 1)
	require.NoError(t, err)
	others, err := model.NewTensor("y", []string{evil + evil}, 1)
	require.NoError(t, err)
	cases := filepath.Join(root, "cases")
	writeCase(t, cases, evilPath, "Transpose", x, x)
	writeCase(t, cases, evilPath+"words", "Identity", words, others)
	writeCase(t, cases, evilPath+"other", evil, x, x)
	writeCase(t, cases, evilPath+"input", "Transpose", x, x)
	require.NoError(t, os.WriteFile(filepath.Join(cases, evilPath+"input", "test_data_set_0", "input_0.pb"), []byte("?"), 0o600))
	writeCase(t, cases, evilPath+"pipe", "Transpose", x, x)
	pipe := filepath.Join(cases, evilPath+"pipe", "test_data_set_0", "input_0.pb")
	require.NoError(t, os.Remove(pipe))
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	writeCase(t, cases, evilPath+"set", "Transpose", x, x)
	require.NoError(t, os.Rename(filepath.Join(cases, evilPath+"set", "test_data_set_0"), filepath.Join(cases, evilPath+"set", "test_data_set_"+evilPath)))
	require.NoError(t, os.Mkdir(filepath.Join(cases, evilPath+"broken"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(cases, evilPath+"broken", "model.onnx"), []byte("?"), 0o600))
	named(t, "conform", cases, "--device", "cpu")
}

// Models with such names wherever there is one: those that run, and those that are refused.
func TestHostileModels(t *testing.T) {
	dir := t.TempDir()
	float := model.TensorOf(layout.Float32, model.Symbolic(evil), model.Known(2))
	base := func() *model.Model {
		m := model.New(evil, 21)
		m.Producer = evil
		m.Graph.Inputs = []model.ValueInfo{{Name: evil + "in", Type: float}}
		m.Graph.Outputs = []model.ValueInfo{{Name: evil + "out", Type: float}, {Name: evil + "words"}}
		words, err := model.NewTensor(evil+"text", []string{evil}, 1)
		require.NoError(t, err)
		m.Graph.Initializers = []model.Tensor{words}
		n := model.NewNode("Transpose", []string{evil + "in"}, []string{evil + "out"})
		n.Name = evil + "node"
		w := model.NewNode("Identity", []string{evil + "text"}, []string{evil + "words"})
		w.Name = evil
		m.Graph.Nodes = []model.Node{n, w}
		return m
	}
	for what, edit := range map[string]func(m *model.Model){
		"right":     func(*model.Model) {},
		"operator":  func(m *model.Model) { m.Graph.Nodes[0].OpType = evil },
		"domain":    func(m *model.Model) { m.Graph.Nodes[0].Domain, m.Opsets[evil] = evil, 1 },
		"opset":     func(m *model.Model) { m.Graph.Nodes[0].Domain = evil },
		"attribute": func(m *model.Model) { m.Graph.Nodes[0].Attrs = model.Attrs{{Name: evil, Value: int64(1)}} },
		"no input":  func(m *model.Model) { m.Graph.Nodes[0].Inputs[0] = evil + "none" },
		"no output": func(m *model.Model) { m.Graph.Outputs[0].Name = evil + "none" },
		"twice":     func(m *model.Model) { m.Graph.Nodes[1].Outputs[0] = evil + "out" },
		"mode": func(m *model.Model) {
			m.Graph.Nodes[0].OpType = "DepthToSpace"
			m.Graph.Nodes[0].Attrs = model.Attrs{{Name: "blocksize", Value: int64(1)}, {Name: "mode", Value: evil}}
		},
		"rank":  func(m *model.Model) { m.Graph.Outputs[0].Type = model.TensorOf(layout.Float32, model.Symbolic(evil)) },
		"input": func(m *model.Model) { m.Graph.Inputs[0].Type.HasShape = false },
		"external": func(m *model.Model) {
			m.Graph.Initializers = append(m.Graph.Initializers, model.Tensor{Name: evil, Type: layout.Int8, Dims: layout.Shape{1}, External: &model.External{Path: evil, Length: -1}})
		},
	} {
		t.Run(what, func(t *testing.T) {
			m := base()
			edit(m)
			path := filepath.Join(dir, "m.onnx")
			b, err := m.Marshal()
			if err != nil { // written no more than read
				harmless(t, err.Error(), what)
				require.Contains(t, err.Error(), forged)
				return
			}
			require.NoError(t, os.WriteFile(path, b, 0o600))
			named(t, "run", path, "--device", "cpu")
			named(t, "run", path, "--device", "cpu", "--dim", evil+"=3", "--output", filepath.Join(dir, "out"))
			dot := filepath.Join(dir, "dot")
			named(t, "explain", path, "--device", "cpu", "--dot", dot)
			if picture, err := os.ReadFile(dot); err == nil {
				harmless(t, strings.ReplaceAll(string(picture), "\t", ""), dot)
				require.NoError(t, os.Remove(dot))
			}
			profile := filepath.Join(dir, "profile.json")
			named(t, "run", path, "--device", "cpu", "--profile", profile)
			if text, err := os.ReadFile(profile); err == nil {
				require.True(t, json.Valid(text), "%s", text)
				require.NoError(t, os.Remove(profile))
			}
			// Names that are values' files.
			named(t, "run", path, "--device", "cpu", "--input", evil+"in="+path)
		})
	}
}

// Reports of others: each text, and each figure as a text.
func TestHostileReports(t *testing.T) {
	text, err := os.ReadFile("../../internal/bench/report/testdata/report.json")
	require.NoError(t, err)
	var tree map[string]any
	require.NoError(t, json.Unmarshal(text, &tree))
	of := tree["devices"].([]any)[0].(map[string]any)
	of["cases"] = of["cases"].([]any)[:1]
	one := of["cases"].([]any)[0].(map[string]any)
	timing := maps.Clone(one["time"].(map[string]any))
	timing["name"], timing["verified"] = one["name"], "all"
	of["peers"] = []any{map[string]any{"peer": "x 1", "device": "cpu", "cases": []any{timing}}}
	of["cases"] = append(of["cases"].([]any), map[string]any{"name": "failed", "error": "x\ny"})
	dir := t.TempDir()
	path, good := filepath.Join(dir, "report.json"), filepath.Join(dir, "good.json")
	write := func(path string) {
		t.Helper()
		b, err := json.Marshal(tree)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, b, 0o600))
	}
	write(good)
	require.Contains(t, bare(t, "bench", "--from", good), "FAIL x\n    y")
	tried := 0
	var walk func(node any, put func(any))
	walk = func(node any, put func(any)) {
		switch node := node.(type) {
		case map[string]any:
			for key, value := range node {
				walk(value, func(x any) { node[key] = x })
			}
		case []any:
			for i, value := range node[:min(len(node), 2)] {
				walk(value, func(x any) { node[i] = x })
			}
		default:
			for _, now := range []any{evil, fmt.Sprint(node, evil), "x\n" + forged} {
				put(now)
				write(path)
				bare(t, "bench", "--from", path)
				bare(t, "bench", "--from", path, "--compare", good)
				bare(t, "bench", "--from", good, "--compare", path)
				tried++
			}
			put(node)
		}
	}
	walk(tree, nil)
	require.Greater(t, tried, 100)
	one["error"] = "x\n" + forged
	delete(one, "time")
	write(path)
	html, lines := filepath.Join(dir, "page.html"), filepath.Join(dir, "lines")
	named(t, "bench", "--from", path)
	bare(t, "bench", "--from", path, "--html", html, "--benchstat", lines)
	for _, written := range []string{html, lines} {
		text, err := os.ReadFile(written)
		require.NoError(t, err)
		assert.NotContains(t, string(text), "\x1b")
	}
}

// Libraries that say what they should not.
func TestHostilePeers(t *testing.T) {
	quoted, err := json.Marshal(evil)
	require.NoError(t, err)
	hello := `{"protocol":1,"peer":"Fake 1","device":"cpu"}`
	said := filepath.Join(t.TempDir(), "said")
	require.NoError(t, os.WriteFile(said, []byte(evilPath), 0o600))
	for what, lines := range map[string][]string{
		"name":             {strings.Replace(hello, `"Fake 1"`, string(quoted), 1)},
		"device":           {strings.Replace(hello, `"cpu"`, string(quoted), 1)},
		"no JSON":          {strings.ReplaceAll(evil, "\n", "")},
		"name of a case":   {hello, `{"name":` + string(quoted) + `}`},
		"error":            {hello, `{"name":"c-heads/8","error":` + string(quoted) + `}`},
		"verified":         {hello, `{"name":"c-heads/8","samples":[1],"batch":1,"verified":` + string(quoted) + `}`},
		"no JSON, later":   {hello, strings.ReplaceAll(evil, "\n", "")},
		"ends, says why":   {hello},
		"does not start":   nil,
		"samples as texts": {hello, `{"name":"c-heads/8","samples":[` + string(quoted) + `]}`},
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			program, figures := filepath.Join(dir, "peer"), filepath.Join(dir, "figures.json")
			script := "#!/bin/sh\ncat '" + said + "' >&2\n"
			for i, line := range lines {
				if i > 0 {
					script += "read question\n"
				}
				script += "cat <<'END'\n" + line + "\nEND\n"
			}
			require.NoError(t, os.WriteFile(program, []byte(script+"exit 7\n"), 0o700))
			named(t, "bench", "--device", "cpu", "--size", "4K", "--time", "1us", "--filter", "^c-heads/8$", "--peer", `"`+program+`"`, "--json", figures)
			bare(t, "bench", "--from", figures)
		})
	}
}

// babble is a backend of a driver that says what it should not.
type babble struct{ on atomic.Bool }

var babbling babble

func init() { device.Register(&babbling) }

func (*babble) Name() string { return "babble" }

var babbled = device.Info{Backend: "babble", Name: evilPath, Vendor: evilPath, Driver: evilPath, Kind: device.CPU}

var errBabble = &device.DriverError{Call: "build", Code: -11, Name: evilPath, Log: evilPath + "\r\n\n" + forged + ": 1 warning\n"}

func (b *babble) List() ([]device.Info, error) {
	if !b.on.Load() {
		return nil, nil
	}
	return []device.Info{babbled}, errors.New(evilPath)
}

func (b *babble) Open(index int) (device.Device, error) {
	if index > 0 {
		return nil, errBabble
	}
	dev, err := cpu.Open()
	return babbleDevice{dev}, err
}

type babbleDevice struct{ device.Device }

func (babbleDevice) Info() device.Info { return babbled }

func (babbleDevice) LogTo(l *slog.Logger) {
	if l != nil {
		l.Warn(evilPath)
		l.With("device", evil).Warn(evilPath)
	}
}

func (d babbleDevice) NewQueue() (device.Queue, error) {
	q, err := d.Device.NewQueue()
	return babbleQueue{q}, err
}

type babbleQueue struct{ device.Queue }

func (babbleQueue) Copy(device.Operand, device.Operand) error                        { return errBabble }
func (babbleQueue) KernelName(device.Operand, device.Operand) (class, kernel string) { return "c", "k" }
func (q babbleQueue) Read(dst []byte, src device.Buffer, off int64) error {
	return errors.Join(errBabble, q.Queue.Read(dst, src, off))
}

func TestHostileDrivers(t *testing.T) {
	babbling.on.Store(true)
	defer babbling.on.Store(false)
	named(t, "devices")
	out := bare(t, "run", attention, "--device", "babble")
	assert.Contains(t, out, forged)
	named(t, "run", attention, "--device", "babble:1")
	named(t, "explain", attention, "--device", "babble")
	named(t, "verify", "--device", "babble", "--cases", "3")
	named(t, "bench", "--device", "babble", "--size", "4K", "--time", "1us", "--filter", "^c-heads/8$")
	figures := filepath.Join(t.TempDir(), "figures.json")
	bare(t, "bench", "--device", "babble", "--size", "4K", "--time", "1us", "--filter", "^c-heads/8$", "--json", figures)
	bare(t, "bench", "--from", figures)
	x, err := model.NewTensor("x", []int32{1, 2, 3, 4, 5, 6}, 2, 3)
	require.NoError(t, err)
	cases := t.TempDir()
	writeCase(t, cases, "transpose", "Transpose", x, x)
	out = bare(t, "conform", cases, "--device", "babble,babble")
	assert.Contains(t, out, forged)
	notes := slices.DeleteFunc(strings.Split(out, "\n"), func(line string) bool { return !strings.HasPrefix(line, "restride: note: ") })
	assert.Len(t, notes, 1, "each note once: %s", out)
}
