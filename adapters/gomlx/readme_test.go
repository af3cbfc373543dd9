package gomlx

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The README's program, in a module of its own, builds without cgo, runs on every device,
// and prints what it says.
func TestReadme(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		return string(text)
	}
	_, program, ok := strings.Cut(read("README.md"), "```go\npackage main")
	require.True(t, ok)
	program, _, ok = strings.Cut(program, "```")
	require.True(t, ok)
	here, err := os.Getwd()
	require.NoError(t, err)
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	const module = "github.com/restride/restride/adapters/gomlx"
	mod := strings.Replace(read("go.mod"), "module "+module, "module readme", 1)
	mod = strings.Replace(mod, "=> ../..", "=> "+filepath.Join(here, "..", ".."), 1)
	write("go.mod", mod+"\nrequire "+module+" v0.0.0\nreplace "+module+" => "+here+"\n")
	write("go.sum", read("go.sum"))
	write("main.go", "package main"+program)

	build := exec.Command("go", "build", "-mod=mod", "-o", "program", ".")
	build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	var want string
	for _, line := range regexp.MustCompile(`fmt\.Println.* // (.*)`).FindAllStringSubmatch(program, -1) {
		want += line[1] + "\n"
	}
	for _, name := range devices {
		t.Run(name, func(t *testing.T) {
			open(t, name)
			out, err := exec.Command(filepath.Join(dir, "program"), name).CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Equal(t, want, string(out))
		})
	}
}
