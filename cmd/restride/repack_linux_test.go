package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/internal/race"
)

// command is the command as a process of its own, not yet started.
func command(t *testing.T, args ...string) *exec.Cmd {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	return cmd
}

// peak runs a command, and returns the most memory that it had.
func peak(t *testing.T, cmd *exec.Cmd) (bytes int64) {
	file := filepath.Join(t.TempDir(), "status")
	cmd.Env = append(cmd.Env, statusFile+"="+file)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%v: %s", cmd.Args, out)
	status, err := os.ReadFile(file)
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(status), "VmHWM:")
	require.True(t, found)
	_, err = fmt.Sscan(rest, &bytes)
	require.NoError(t, err)
	return bytes << 10
}

// TestRepackKilled: whenever the process is killed, the output is not there or whole, and
// the same command ends it.
func TestRepackKilled(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	var all []*checkpoint.Tensor
	for i := range 12 {
		all = append(all, safetensor(t, fmt.Sprintf("l.%d.qweight", i), "I32", 128, 4096), safetensor(t, fmt.Sprintf("l.%d.scales", i), "F16", 32, 4096))
	}
	writeTensors(t, at("model.safetensors"), all...)
	require.NoError(t, os.WriteFile(at("config.json"), []byte(gptqConfig), 0o600))
	out, err := command(t, "repack", at("model.safetensors"), "--to", "packed", "--output", at("want.safetensors")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	want, err := os.ReadFile(at("want.safetensors"))
	require.NoError(t, err)

	rng, killed := rand.New(rand.NewPCG(1, 2)), 0
	for try := 0; try < 40 && killed < 5; try++ {
		output := at(fmt.Sprintf("%d.safetensors", try))
		cmd := command(t, "repack", at("model.safetensors"), "--to", "packed", "--output", output)
		require.NoError(t, cmd.Start())
		for range 1000 {
			if _, err := os.Stat(output + checkpoint.Partial); err == nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Duration(rng.IntN(40)) * time.Millisecond)
		_ = cmd.Process.Kill()
		if cmd.Wait() != nil {
			killed++
		}
		if got, err := os.ReadFile(output); err == nil {
			require.Equal(t, len(want), len(got))
			require.True(t, string(want) == string(got), "try %d: a file that is not whole", try)
		} else {
			require.ErrorIs(t, err, os.ErrNotExist)
		}
		out, err := command(t, "repack", at("model.safetensors"), "--to", "packed", "--output", output).CombinedOutput()
		require.NoError(t, err, "%s", out)
		got, err := os.ReadFile(output)
		require.NoError(t, err)
		require.True(t, string(want) == string(got), "try %d: after a second run", try)
		assert.NoFileExists(t, output+checkpoint.Partial)
		require.NoError(t, os.Remove(output))
	}
	assert.Positive(t, killed)
}

// TestRepackMemory: a weight that is larger than --max-memory is converted by pieces, along
// any axis, and the process has at most 64 MiB beside.
func TestRepackMemory(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector's memory is several times the program's")
	}
	const limit = 12 << 20
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(at("config.json"), []byte(gptqConfig), 0o600))
	writeTensors(t, at("gptq.safetensors"), safetensor(t, "w.qweight", "I32", 512, 16384), safetensor(t, "w.scales", "F16", 128, 16384), safetensor(t, "big", "F32", 1<<22))
	writeTensors(t, at("experts.safetensors"), safetensor(t, "w_blocks", "U8", 8, 2048, 64, 16), safetensor(t, "w_scales", "U8", 8, 2048, 64))
	for _, c := range [][]string{
		{"gptq.safetensors", "--to", "marlin"}, {"gptq.safetensors", "--to", "packed"}, {"gptq.safetensors", "--to", "packed", "--verify"},
		{"experts.safetensors", "--from", "gpt-oss", "--to", "gguf"},
	} {
		output := at("out." + map[bool]string{true: "gguf", false: "safetensors"}[c[len(c)-1] == "gguf"])
		args := append([]string{"repack", at(c[0]), "--output", output}, c[1:]...)
		used := peak(t, command(t, append(args, "--max-memory", fmt.Sprint(limit))...))
		t.Logf("%v: %d MiB", c, used>>20)
		assert.Less(t, used, int64(limit+64<<20), "%v", args)
		got, err := os.ReadFile(output)
		require.NoError(t, err)
		text, err := restride(args...)
		require.NoError(t, err, text)
		whole, err := os.ReadFile(output)
		require.NoError(t, err)
		require.True(t, string(whole) == string(got), "%v: by pieces it is another file", args)
	}
	_, err := restride("repack", at("gptq.safetensors"), "--to", "marlin", "--output", at("no.safetensors"), "--max-memory", "1536K")
	require.ErrorContains(t, err, "pieces of a weight take at least ")
	assert.NoFileExists(t, at("no.safetensors"+checkpoint.Partial))
}

// TestBugRepackFollowedLinks: a partial file that was a link was followed, and the file that
// it names was written.
func TestBugRepackFollowedLinks(t *testing.T) {
	dir := t.TempDir()
	layers(t, dir, 1, 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "empty"), nil, 0o600))
	output := filepath.Join(dir, "out.safetensors")
	for _, to := range []string{"empty", "none"} {
		require.NoError(t, os.Symlink(to, output+checkpoint.Partial))
		_, err := restride("repack", dir, "--to", "marlin", "--output", output)
		require.ErrorContains(t, err, "out.safetensors.partial is a link, not a regular file")
		assert.NoFileExists(t, output)
		assert.NoFileExists(t, filepath.Join(dir, "none"))
		require.NoError(t, os.Remove(output+checkpoint.Partial))
	}
	info, err := os.Stat(filepath.Join(dir, "empty"))
	require.NoError(t, err)
	assert.Zero(t, info.Size())
}

// TestBugRepackLeftovers: what killed runs had left of config.json and the index stayed.
func TestBugRepackLeftovers(t *testing.T) {
	dir := t.TempDir()
	layers(t, dir, 2, 2)
	output := filepath.Join(dir, "out")
	for run := range 3 {
		_, err := restride("repack", dir, "--to", "marlin", "--output", output)
		require.NoError(t, err)
		hidden, err := filepath.Glob(filepath.Join(output, ".*"))
		require.NoError(t, err)
		assert.Empty(t, hidden, "run %d", run)
		for _, name := range []string{"config.json", "model.safetensors.index.json"} {
			require.NoError(t, os.WriteFile(filepath.Join(output, ".ABCDEFGHIJKLMNOPQRSTUVWXYZ-"+name), []byte("{"), 0o600))
		}
	}
}
