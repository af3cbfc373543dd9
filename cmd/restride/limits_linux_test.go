package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/onnx/model"
)

// asCommand makes the test binary be the command, for tests of whole processes.
const asCommand = "RESTRIDE_TEST_AS_COMMAND"

// statusFile makes it write what the system says of it, in the end, to the file of that name.
const statusFile = "RESTRIDE_TEST_STATUS_FILE"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		if path := os.Getenv(statusFile); path != "" {
			os.Exit(runForStatus(path))
		}
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// runForStatus is main that returns, once the system's status is written.
func runForStatus(path string) (code int) {
	out := &checkedWriter{w: os.Stdout}
	root := newRoot()
	root.SetOut(out)
	if err := cmp.Or(root.Execute(), out.err); err != nil {
		complain(os.Stderr, err)
		code = 1
	}
	status, _ := os.ReadFile("/proc/self/status")
	_ = os.WriteFile(path, status, 0o600)
	return code
}

// process runs the command as a process, after a line of shell, and returns its output.
func process(t *testing.T, before string, args ...string) (string, error) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	sh := exec.CommandContext(t.Context(), "sh", append([]string{"-c", before + `; exec "$0" "$@"`, self}, args...)...)
	sh.Env = append(os.Environ(), asCommand+"=1")
	out, err := sh.CombinedOutput()
	return string(out), err
}

// TestBombs: under a limit of the system on address space, and under --max-memory, small
// models that ask for much end with an error, not with the process.
func TestBombs(t *testing.T) {
	const (
		system = "ulimit -v 4194304"
		flag   = "--max-memory=4M"
	)
	one, err := model.NewTensor("", []int64{1}, 1)
	require.NoError(t, err)
	wide := []model.Node{
		model.NewNode("ConstantOfShape", []string{"n"}, []string{"ones"}, model.Attr{Name: "value", Value: &one}),
		model.NewNode("Reshape", []string{"x", "ones"}, []string{"t0"}),
	}
	for i := range 20 {
		wide = append(wide, model.NewNode("Transpose", []string{fmt.Sprint("t", i)}, []string{fmt.Sprint("t", i+1)}))
	}
	text := []model.Node{
		model.NewNode("Expand", []string{"x", "n"}, []string{"many"}),
		model.NewNode("Cast", []string{"many"}, []string{"t20"}, model.Attr{Name: "to", Value: int64(8)}),
	}
	double := []model.Node{model.NewNode("Expand", []string{"x", "n"}, []string{"t0"})}
	for i := range 20 {
		from := fmt.Sprint("t", i)
		double = append(double, model.NewNode("Concat", []string{from, from, from, from}, []string{fmt.Sprint("t", i+1)}, model.Attr{Name: "axis", Value: int64(0)}))
	}
	for _, bomb := range []struct {
		name   string
		n      int64
		nodes  []model.Node
		limits []string
		says   string
	}{
		{"a rank of 2^24, transposed 20 times", 1 << 24, wide, []string{system}, "rank 16777216 exceeds the highest, 64"},
		{"2^24 numbers for a rank", 1 << 24, wide, []string{flag}, "134217728 bytes are asked for, "},
		{"2^28 strings", 1 << 28, text, []string{system, flag}, "4294967296 bytes are asked for, "},
		{"strings of 300 digits", 1 << 17, text, []string{flag}, "Cast-25 of double[131072]: 1245184 bytes are asked for, "},
		{"4^20 elements", 1, double, []string{system, flag}, " bytes are asked for, "},
	} {
		t.Run(bomb.name, func(t *testing.T) {
			m := model.New("bomb", 25)
			m.Graph.Outputs = []model.ValueInfo{{Name: "t20"}}
			x, err := model.NewTensor("x", []float64{-1e300}, 1)
			require.NoError(t, err)
			n, err := model.NewTensor("n", []int64{bomb.n}, 1)
			require.NoError(t, err)
			m.Graph.Initializers = []model.Tensor{x, n}
			m.Graph.Nodes = bomb.nodes
			path := filepath.Join(t.TempDir(), "bomb.onnx")
			require.NoError(t, m.Save(path))
			for _, limit := range bomb.limits {
				shell, args, from := limit, []string{"run", path, "--device", "cpu"}, "(half of what ulimit -v left)"
				if limit == flag {
					shell, args, from = ":", []string{"explain", path, "--device", "cpu", flag}, "and the limit is 4194304 (--max-memory)"
				}
				out, err := process(t, shell, args...)
				var ended *exec.ExitError
				require.ErrorAs(t, err, &ended, out)
				assert.Equal(t, 1, ended.ExitCode(), out)
				assert.Contains(t, out, bomb.says, limit)
				if strings.Contains(bomb.says, "asked for") {
					assert.Contains(t, out, from)
				}
			}
		})
	}
}

// TestBugLimitOfTheCollector: a larger limit of ours took the place of GOMEMLIMIT's.
func TestBugLimitOfTheCollector(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1 << 30))
	for flag, want := range map[string]int64{"2G": 1 << 30, "512M": 512 << 20} {
		l := limits{memory: flag}
		restore, err := l.bound()
		require.NoError(t, err)
		assert.Equal(t, want, debug.SetMemoryLimit(-1), flag)
		restore()
		assert.EqualValues(t, 1<<30, debug.SetMemoryLimit(-1))
	}
}

// TestTimeout: a command whose time is over says so, between two nodes by itself, and
// within one by force.
func TestTimeout(t *testing.T) {
	out, err := restride("run", attention, "--device", "cpu", "--timeout", "1ns")
	require.ErrorContains(t, err, "timed out: --timeout 1ns is over", out)
	require.ErrorContains(t, err, "node 0")
	out, err = restride("explain", attention, "--device", "cpu", "--timeout", "1ns")
	require.ErrorContains(t, err, "--timeout 1ns is over", out)
	assert.NotContains(t, out, "transferred")
	out, err = restride("run", attention, "--device", "cpu", "--timeout", "1m")
	require.NoError(t, err, out)
	_, err = restride("run", attention, "--device", "cpu", "--timeout", "-1s")
	require.ErrorContains(t, err, "--timeout -1s: it is negative")
	_, err = restride("run", attention, "--device", "cpu", "--max-memory", "much")
	require.ErrorContains(t, err, `--max-memory: "much" is no size`)
}

// TestTimeoutByForce: what does not ask whether its time is over is ended all the same.
func TestTimeoutByForce(t *testing.T) {
	wasGrace, wasExit := grace, exit
	defer func() { grace, exit = wasGrace, wasExit }()
	grace = time.Millisecond
	code := make(chan int, 1)
	exit = func(c int) { code <- c }
	l := limits{timeout: time.Millisecond}
	ctx, end := l.begin(t.Context(), "a test")
	defer end()
	<-ctx.Done()
	assert.ErrorIs(t, context.Cause(ctx), errTimeout)
	assert.Equal(t, 1, <-code)
}
