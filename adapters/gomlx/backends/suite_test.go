package backends_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/soak"
)

// TestGraphSuite: the tests of GoMLX's package graph pass here if they pass on the Go backend,
// and more of them do. Each runs in a process of its own, as a panic ends them all.
func TestGraphSuite(t *testing.T) {
	if !soak.Enabled() {
		t.Skip("it compiles for minutes; RESTRIDE_SOAK is not set")
	}
	suite := graphSuite(t)
	list, err := exec.Command(suite, "-test.list", ".").Output()
	require.NoError(t, err)
	passes := func(test, backend string) bool {
		cmd := exec.Command(suite, "-test.run", "^"+test+"$")
		cmd.Dir, cmd.Env = filepath.Dir(suite), append(os.Environ(), "GOMLX_BACKEND="+backend)
		return cmd.Run() == nil
	}
	there, here := 0, 0
	tests := strings.Fields(string(list))
	for _, test := range tests {
		if passes(test, "restride:cpu") {
			here++
		} else {
			assert.False(t, passes(test, "go"), test)
			continue
		}
		if passes(test, "go") {
			there++
		}
	}
	t.Logf("%d tests: %d pass here, %d on the Go backend", len(tests), here, there)
	require.Greater(t, here, there)
	require.Positive(t, there)
}

// graphSuite builds the tests of package graph with this backend, in a copy of GoMLX's module
// that does not install XLA.
func graphSuite(t *testing.T) string {
	dir := t.TempDir()
	run := func(name string, args ...string) string {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return strings.TrimSpace(string(out))
	}
	checkout, err := filepath.Abs("../../..")
	require.NoError(t, err)
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/gomlx/gomlx")
	module, err := list.Output()
	require.NoError(t, err)
	run("cp", "-r", strings.TrimSpace(string(module))+"/.", dir)
	run("chmod", "-R", "u+w", dir)
	for _, path := range []string{"pkg/core/graph/graph_test.go", "pkg/core/graph/graphtest/graphtest.go"} {
		path = filepath.Join(dir, path)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		own := strings.NewReplacer("xla.AutoInstall()", "error(nil)", `"github.com/gomlx/gomlx/backends/xla"`, `_ "github.com/gomlx/gomlx/backends/simplego"`)
		require.NoError(t, os.WriteFile(path, []byte(own.Replace(string(text))), 0o600))
	}
	with := "package graph_test\n\nimport _ \"github.com/restride/restride/adapters/gomlx/backends\"\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "pkg/core/graph/restride_test.go"), []byte(with), 0o600))
	run("go", "mod", "edit", "-go=1.26", "-require=github.com/restride/restride/adapters/gomlx@v0.0.0",
		"-replace=github.com/restride/restride="+checkout, "-replace=github.com/restride/restride/adapters/gomlx="+checkout+"/adapters/gomlx")
	suite := filepath.Join(dir, "pkg", "core", "graph", "suite")
	run("go", "test", "-mod=mod", "-c", "-tags", "noxla", "-o", suite, "./pkg/core/graph")
	return suite
}
