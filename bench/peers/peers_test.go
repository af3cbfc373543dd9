// Package peers_test runs the scripts that time other libraries on a few small
// cases, where the libraries are.
package peers_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/bench"
	"github.com/restride/restride/device/devicetest"
)

// cases has one of each thing that libraries do in their own way.
const cases = `^(a-transpose/(2|4|32|128)|c-heads/4|d-every-second/64|e-reversed/(8|32)|f-shuffle/16|rows-reversed/32|` +
	`columns-into/32|expand-rows/32|odd-(byte|nibble)/.|crop/8|(un)?pack/.)$`

// list writes the cases to a file, at a size.
func list(t *testing.T, size int64) (string, []bench.Entry) {
	filter := regexp.MustCompile(cases)
	all := slices.DeleteFunc(bench.Cases(), func(c bench.Case) bool { return !filter.MatchString(c.Name) })
	entries, err := bench.List(all, size)
	require.NoError(t, err)
	require.Len(t, entries, 19)
	text, err := json.Marshal(entries)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "cases.json")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	return file, entries
}

// python finds one that has modules.
func python(modules string) (string, error) {
	var errs []error
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		out, err := exec.Command(name, "-c", "import "+modules).CombinedOutput()
		if err == nil {
			return name, nil
		}
		lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
		errs = append(errs, fmt.Errorf("%s: %w: %s", name, err, lines[len(lines)-1]))
	}
	return "", fmt.Errorf("%w: no python3 with %s: %w", exec.ErrNotFound, modules, errors.Join(errs...))
}

// A script's figures can be read, of each case: those that the library has no way
// to say, and no others, have a reason.
func run(t *testing.T, unsupported string, entries []bench.Entry, command ...string) {
	cmd := exec.Command(command[0], command[1:]...)
	var diagnostics bytes.Buffer
	cmd.Stderr = &diagnostics
	out, err := cmd.Output()
	require.NoError(t, err, diagnostics.String())
	p, err := bench.ReadPeer(out)
	require.NoError(t, err, string(out))
	assert.Equal(t, "cpu", p.For)
	assert.Regexp(t, `^cpu, \d+ threads?$`, p.Device)
	require.Len(t, p.Cases, len(entries))
	not := regexp.MustCompile(unsupported)
	for i, c := range p.Cases {
		assert.Equal(t, entries[i].Name, c.Name)
		assert.Equal(t, entries[i].Case, c.Case)
		if not.MatchString(c.Name) {
			assert.NotEmpty(t, c.Error, c.Name)
			continue
		}
		assert.Empty(t, c.Error, c.Name)
		assert.Equal(t, "every bit", c.Verified, c.Name)
		assert.GreaterOrEqual(t, c.Samples, 9, c.Name)
		assert.Positive(t, c.MemcpyRatio, c.Name)
	}
}

func TestScripts(t *testing.T) {
	for name, c := range map[string]struct{ modules, unsupported string }{
		"numpy":       {"numpy", `^(a-transpose/[24]|odd-nibble/4)$`},
		"torch":       {"numpy, torch", `^(a-transpose/[24]|odd-nibble/4)$`},
		"onnxruntime": {"numpy, onnx, onnxruntime", `^(a-transpose/128|odd-nibble/4|columns-into/32)$`},
	} {
		t.Run(name, func(t *testing.T) {
			exe, err := python(c.modules)
			if name == "numpy" {
				devicetest.Require(t, "peers", err)
			} else if err != nil {
				t.Skip(err)
			}
			file, entries := list(t, 64<<10)
			run(t, c.unsupported, entries, exe, name+"_peer.py", file, "--device", "cpu", "--time", "0.001")
		})
	}
}

// The check compares every element, and finds a single wrong one.
func TestWrongResults(t *testing.T) {
	exe, err := python("numpy")
	devicetest.Require(t, "peers", err)
	file, entries := list(t, 4<<20)
	cmd := exec.Command(exe, "testdata/wrong_peer.py", file, "--time", "0.001")
	cmd.Env = append(os.Environ(), "PYTHONPATH=.")
	out, err := cmd.Output()
	require.Error(t, err, "the exit status says that something is wrong")
	p, err := bench.ReadPeer(out)
	require.NoError(t, err)
	require.Len(t, p.Cases, len(entries))
	for _, c := range p.Cases {
		assert.NotEmpty(t, c.Error, c.Name)
		if !regexp.MustCompile(`^no int\d$`).MatchString(c.Error) {
			assert.Regexp(t, `^Wrong: wrong result: position \d+ of dst: 0x`, c.Error, c.Name)
		}
	}
}

func TestScriptRefuses(t *testing.T) {
	exe, err := python("numpy")
	devicetest.Require(t, "peers", err)
	file, _ := list(t, 4<<10)
	for _, args := range [][]string{{}, {"none.json"}, {file, "--device", "cuda:0"}, {"testdata/wrong_peer.py"}} {
		out, err := exec.Command(exe, append([]string{"numpy_peer.py"}, args...)...).Output()
		assert.Error(t, err, args)
		assert.Empty(t, string(out), args)
	}
}

// The libraries in Go are a module of their own.
func TestGo(t *testing.T) {
	if testing.Short() {
		t.Skip("it is built from other modules")
	}
	exe := filepath.Join(t.TempDir(), "go-peers")
	cmd := exec.Command("go", "build", "-o", exe, ".")
	cmd.Dir = "go"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, out)
	}
	file, entries := list(t, 64<<10)
	for name, unsupported := range map[string]string{
		"gomlx":    `^(a-transpose/(2|4|128)|odd-nibble/4|columns-into/32|pack/.)$`,
		"gorgonia": `^(a-transpose/[24]|odd-nibble/4|.*reversed/.*|(un)?pack/.)$`,
	} {
		t.Run(name, func(t *testing.T) {
			run(t, unsupported, entries, exe, "--library", name, "--time", "1ms", file)
		})
	}
}
