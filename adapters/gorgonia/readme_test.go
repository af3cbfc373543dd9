package gorgonia_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The program of the README runs, in a module of its own, and prints what it says.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, program, ok := strings.Cut(string(readme), "```go\npackage main")
	require.True(t, ok)
	program, _, ok = strings.Cut(program, "```")
	require.True(t, ok)
	here, err := os.Getwd()
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main"+program), 0o600))
	mod, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	text := strings.Replace(string(mod), "module github.com/restride/restride/adapters/gorgonia", "module readme", 1)
	text = strings.Replace(text, "=> ../..", "=> "+filepath.Join(here, "..", ".."), 1)
	text += "\nrequire github.com/restride/restride/adapters/gorgonia v0.0.0\nreplace github.com/restride/restride/adapters/gorgonia => " + here + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o600))
	sum, err := os.ReadFile("go.sum")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o600))

	run := exec.Command("go", "run", "-mod=mod", ".")
	run.Dir = dir
	run.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := run.CombinedOutput()
	require.NoError(t, err, "%s", out)
	_, says, _ := strings.Cut(program, "fmt.Println(y.Shape(), y.Data()) // ")
	says, _, _ = strings.Cut(says, "\n")
	assert.Equal(t, says, strings.TrimSpace(string(out)))
}
