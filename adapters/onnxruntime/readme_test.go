package onnxruntime_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/readme"
)

// TestReadme: the README's program is the example, and prints the documented output.
func TestReadme(t *testing.T) {
	so, silero := library(t), needed(t, "silero_vad/data/silero_vad.onnx")
	program, built := readme.Build(t)
	example, err := os.ReadFile("example/main.go")
	require.NoError(t, err)
	_, code, ok := strings.Cut(string(example), "package main")
	require.True(t, ok)
	require.Equal(t, "package main"+code, program)
	out, err := exec.Command(built, so, silero).CombinedOutput()
	require.NoError(t, err, "%s", out)
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	require.Contains(t, string(text), "```\n"+string(out)+"```")
}
