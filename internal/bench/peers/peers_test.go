package peers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/internal/bench/cases"
)

// oneOfEach has a case for each feature that libraries express in their own way.
const oneOfEach = `^(a-transpose/(2|4|32|128)|c-heads/4|d-every-second/64|e-reversed/(8|32)|f-shuffle/16|rows-reversed/32|` +
	`columns-into/32|expand-rows/32|odd-(byte|nibble)/.|crop/8|(un)?pack/.|` +
	`half-to-float/16|float-to-(half|bfloat)/16|float8-to-half/8|int8-to-float/8|fill-columns/16|take-(rows|pages|elements)/..)$`

// entries are the entries of matching cases, with two sets of buffers.
func entries(t *testing.T, filter string, size int64) (list []Entry) {
	re := regexp.MustCompile(filter)
	for _, c := range cases.All() {
		if re.MatchString(c.Name) {
			e, err := NewEntry(c, size, 2)
			require.NoError(t, err)
			list = append(list, e)
		}
	}
	return list
}

// ways are the entries of one case for each feature that libraries express in their own way.
func ways(t *testing.T, size int64) []Entry {
	list := entries(t, oneOfEach, size)
	require.Len(t, list, 28)
	return list
}

// begin starts a library or program on the processor.
func begin(t *testing.T, name string) (*Process, error) {
	all, err := Start(context.Background(), []Choice{{Name: name}}, []string{"cpu"}, Patience, func(line string) { t.Log(line) })
	if errors.Is(err, errNotInstalled) {
		return nil, fmt.Errorf("%w: %w", exec.ErrNotFound, err)
	}
	if err != nil {
		return nil, err
	}
	t.Cleanup(all.Close)
	require.Len(t, all["cpu"], 1)
	return all["cpu"][0], nil
}

// ask makes a library measure each case, in two passes: exactly the cases that it cannot
// express have a reason.
func ask(t *testing.T, p *Process, unsupported string) {
	assert.Regexp(t, `^cpu, \d+ threads?$`, p.Device)
	not := regexp.MustCompile(unsupported)
	for _, e := range ways(t, 64<<10) {
		q := Request{Case: e, Time: 1e-3, Check: 10}
		a, err := p.Ask(q)
		require.NoError(t, err, e.Name)
		if not.MatchString(e.Name) {
			assert.NotEmpty(t, a.Error, e.Name)
			assert.True(t, a.Unsupported, e.Name)
			continue
		}
		require.Empty(t, a.Error, e.Name)
		assert.Equal(t, "every bit", a.Verified, e.Name)
		assert.GreaterOrEqual(t, len(a.Samples), 3, e.Name)
		q.Check, q.Batch = 0, a.Batch
		a, err = p.Ask(q)
		require.NoError(t, err, e.Name)
		assert.Empty(t, a.Error, e.Name)
		assert.Empty(t, a.Verified, e.Name)
		assert.Equal(t, q.Batch, a.Batch, e.Name)
	}
	everyCase(t, p)
	e := ways(t, 4<<10)[0]
	e.Name, e.Rotation = "d-every-second/64", 0
	a, err := p.Ask(Request{Case: e})
	require.NoError(t, err)
	assert.Contains(t, a.Error, "0 sets of buffers: want at least 1")
	e = ways(t, 4<<10)[0]
	e.Op = "add"
	a, err = p.Ask(Request{Case: e})
	require.NoError(t, err)
	assert.Equal(t, &Answer{Name: e.Name, Error: "no add", Unsupported: true}, a)
}

// everyCase makes a library measure every case: those that it or its adapter cannot express are
// reported as unsupported, and nothing fails.
func everyCase(t *testing.T, p *Process) {
	list := entries(t, "", 4<<10)
	measured := 0
	for _, e := range list {
		a, err := p.Ask(Request{Case: e, Time: 1e-6, Check: 10})
		require.NoError(t, err, e.Name)
		if a.Error == "" {
			measured++
			assert.Equal(t, "every bit", a.Verified, e.Name)
			continue
		}
		assert.True(t, a.Unsupported, "%s: %s", e.Name, a.Error)
	}
	assert.Greater(t, measured, len(list)/4)
}

func TestScripts(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	for name, unsupported := range map[string]string{
		"numpy":       `^(a-transpose/[24]|odd-nibble/4|float-to-bfloat/16|float8-to-half/8)$`,
		"torch":       `^(a-transpose/[24]|odd-nibble/4|float8-to-half/8)$`, // newer ones have it
		"onnxruntime": `^(a-transpose/128|odd-nibble/4|columns-into/32|fill-columns/16)$`,
	} {
		t.Run(name, func(t *testing.T) {
			p, err := begin(t, name)
			if name == "numpy" {
				devicetest.Require(t, "peers", err)
			} else if err != nil {
				t.Skip(err)
			} else {
				assert.Equal(t, "cpu, 3 threads", p.Device, "as many as this process")
			}
			ask(t, p, unsupported)
		})
	}
}

// python is a launcher of a module NAME_peer in testdata.
func python(t *testing.T, name string) string {
	p, err := begin(t, "numpy") // otherwise the import fails
	devicetest.Require(t, "peers", err)
	p.Close()
	launcher := filepath.Join(t.TempDir(), name)
	here, err := os.Getwd()
	require.NoError(t, err)
	text := fmt.Sprintf("#!/bin/sh\nfor python in python3 /usr/bin/python3; do\n\t$python -c 'import numpy' && "+
		"PYTHONPATH='%[1]s/testdata' exec $python '%[1]s/peer.py' %s \"$@\"\ndone\n", here, name)
	require.NoError(t, os.WriteFile(launcher, []byte(text), 0o700))
	return launcher
}

// The check compares every element, and finds a single wrong one; a library's output is not
// part of its answers.
func TestWrongResults(t *testing.T) {
	p, err := begin(t, python(t, "wrong"))
	require.NoError(t, err)
	found := 0
	for _, e := range ways(t, 4<<20) {
		a, err := p.Ask(Request{Case: e, Time: 1e-6, Check: 10})
		require.NoError(t, err)
		assert.NotEmpty(t, a.Error, e.Name)
		if !a.Unsupported {
			found++
			assert.Regexp(t, `^Wrong: wrong result: position \d+ of dst: 0x`, a.Error, e.Name)
		}
	}
	assert.Equal(t, 23, found)
}

// The libraries in Go are a module of their own.
func TestGo(t *testing.T) {
	if testing.Short() {
		t.Skip("it is built from other modules")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	dir := t.TempDir()
	cmd := exec.Command("go", "build", "-o", filepath.Join(dir, "go"), ".")
	cmd.Dir = "go"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, out)
	}
	for name, unsupported := range map[string]string{
		"gomlx":    `^(a-transpose/(2|4|128)|odd-nibble/4|columns-into/32|pack/.|float-to-half/16|float8-to-half/8|fill-.*|take-.*)$`,
		"restride": `^$`,
		"gorgonia": `^(a-transpose/[24]|odd-nibble/4|.*reversed/.*|(un)?pack/.|.*-to-.*|fill-.*|take-.*)$`,
	} {
		t.Run(name, func(t *testing.T) {
			launcher := filepath.Join(dir, name)
			require.NoError(t, os.WriteFile(launcher, []byte("#!/bin/sh\nexec '"+dir+"/go' --library "+name+" \"$@\"\n"), 0o700))
			p, err := begin(t, launcher)
			require.NoError(t, err)
			if name != "gorgonia" {
				assert.Equal(t, "cpu, 3 threads", p.Device, "as many as this process")
			}
			ask(t, p, unsupported)
		})
	}
}

func TestParse(t *testing.T) {
	c, err := Parse("numpy")
	require.NoError(t, err)
	assert.Equal(t, Choice{Name: "numpy"}, c)
	c, err = Parse("build/x=^a=b$")
	require.NoError(t, err)
	assert.Equal(t, []string{"build/x", "^a=b$"}, []string{c.Name, c.Only.String()})
	for word, want := range map[string]string{"": "want a name of numpy, ", "=x": "want a name", "x=(": "missing closing"} {
		_, err := Parse(word)
		assert.ErrorContains(t, err, want)
	}
}

// A named library must be present, and for one of the devices; others are reported. Nothing is
// left in the folder for temporary files.
func TestStart(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	t.Setenv("RESTRIDE_PYTHON", "/no/such/python")
	program := func(name, text string) string {
		path := filepath.Join(tmp, name)
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700))
		t.Cleanup(func() { _ = os.Remove(path) })
		return path
	}
	onCPU := program("cpu-only", `[ "$2" = cpu ] || { echo "not on $2" >&2; exit 4; }
echo '{"protocol":1,"peer":"fake 1","device":"cpu"}'
read line
`)
	var said []string
	start := func(devices string, names ...string) (Running, error) {
		said = nil
		var choices []Choice
		for _, name := range names {
			choices = append(choices, Choice{Name: name})
		}
		return Start(context.Background(), choices, strings.Fields(devices), Patience, func(line string) { said = append(said, line) })
	}
	all, err := start("opencl:0 cpu cuda:0", onCPU, auto)
	require.NoError(t, err)
	require.Len(t, all["cpu"], 1)
	assert.Len(t, all, 1)
	assert.Equal(t, "fake 1", all["cpu"][0].Peer)
	assert.Len(t, said, 2+3*len(names))
	assert.Contains(t, said[0], "cpu-only is not beside opencl:0: it ended: exit status 4; it said: not on opencl:0")
	assert.Contains(t, said[2], "numpy is not beside opencl:0: not installed; /no/such/python: ")
	began := time.Now()
	all.Close()
	assert.Less(t, time.Since(began), 5*time.Second, "it ends with its input")

	for want, names := range map[string][]string{
		"numpy beside cpu: not installed; ": {onCPU, "numpy"},
		"no/such/program":                   {"no/such/program"},
		"beside cpu: it ended: exit status": {program("fails", "exit 9\n")},
		"is for none of cpu":                {program("elsewhere", "exit 4\n")},
	} {
		all, err := start("cpu", names...)
		assert.ErrorContains(t, err, want)
		assert.Nil(t, all)
	}
	left, err := filepath.Glob(filepath.Join(tmp, "restride-peers-*"))
	require.NoError(t, err)
	assert.Empty(t, left)
}
