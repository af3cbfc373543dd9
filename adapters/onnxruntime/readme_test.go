package onnxruntime_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadme: its program is the example, and prints what it says.
func TestReadme(t *testing.T) {
	so, silero := library(t), needed(t, "silero_vad/data/silero_vad.onnx")
	program, built := build(t)
	example, err := os.ReadFile("example/main.go")
	require.NoError(t, err)
	_, code, ok := strings.Cut(string(example), "package main")
	require.True(t, ok)
	require.Equal(t, "package main"+code, program)
	out, err := exec.Command(built, so, silero).CombinedOutput()
	require.NoError(t, err, "%s", out)
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	require.Contains(t, string(readme), "```\n"+string(out)+"```")
}

// build builds the program of the README in a module of its own, which is made as the README
// says.
func build(t *testing.T, env ...string) (program, built string) {
	t.Helper()
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, commands, ok := strings.Cut(string(readme), "From a checkout, until versions are tagged:\n\n```\n")
	require.True(t, ok)
	commands, _, _ = strings.Cut(commands, "```")
	checkout, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	_, program, ok = strings.Cut(string(readme), "```go\npackage main")
	require.True(t, ok)
	program, _, _ = strings.Cut(program, "```")
	program = "package main" + program
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o600))
	sum, err := os.ReadFile("go.sum") // nothing need be looked up
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o600))
	script := "go mod init readme\n" + strings.ReplaceAll(commands, "<checkout>", "'"+checkout+"'") + "go build -o program .\n"
	run := exec.Command("sh", "-ec", script)
	run.Dir, run.Env = dir, append(os.Environ(), env...)
	out, err := run.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program, filepath.Join(dir, "program")
}
