package onnxruntime_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadme: its program is the example, and prints what it says.
func TestReadme(t *testing.T) {
	so, silero := library(t), needed(t, "silero_vad/data/silero_vad.onnx")
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	program, err := os.ReadFile("example/main.go")
	require.NoError(t, err)
	_, code, ok := strings.Cut(string(program), "package main")
	require.True(t, ok)
	require.Contains(t, string(readme), "```go\npackage main"+code+"```")
	out, err := exec.Command("go", "run", "./example", so, silero).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(readme), "```\n"+string(out)+"```")
}
