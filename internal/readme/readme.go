// Package readme builds the programs of the adapters' READMEs, for their tests.
package readme

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Build builds the program of the README in the working folder, in a separate module, which is
// made as the README says, with env added to the environment. It returns the program's text and
// its path.
func Build(t *testing.T, env ...string) (program, built string) {
	t.Helper()
	return BuildNth(t, ".", 1, env...)
}

// BuildNth is Build for the n-th program of the README in an adapter's folder.
func BuildNth(t *testing.T, adapter string, n int, env ...string) (program, built string) {
	t.Helper()
	readme, err := os.ReadFile(filepath.Join(adapter, "README.md"))
	require.NoError(t, err)
	_, commands, ok := strings.Cut(string(readme), "From a checkout, until versions are tagged:\n\n```sh\n")
	require.True(t, ok)
	commands, _, _ = strings.Cut(commands, "```")
	checkout, err := filepath.Abs(filepath.Join(adapter, "..", ".."))
	require.NoError(t, err)
	programs := strings.Split(string(readme), "```go\npackage main")
	require.Greater(t, len(programs), n)
	program, _, _ = strings.Cut(programs[n], "```")
	program = "package main" + program
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o600))
	sum, err := os.ReadFile(filepath.Join(adapter, "go.sum")) // no lookups needed
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o600))
	script := "go mod init readme\n" + strings.ReplaceAll(commands, "<checkout>", "'"+checkout+"'") + "go build -o program .\n"
	run := exec.Command("sh", "-ec", script)
	run.Dir, run.Env = dir, append(os.Environ(), env...)
	out, err := run.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program, filepath.Join(dir, "program")
}
