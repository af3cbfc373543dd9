package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// snapshot are the files of a folder, by name.
func snapshot(t *testing.T, dir string) map[string]string {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	all := map[string]string{}
	for _, e := range entries {
		if e.Type().IsRegular() {
			b, err := os.ReadFile(filepath.Join(dir, e.Name()))
			require.NoError(t, err)
			all[e.Name()] = string(b)
		}
	}
	return all
}

// TestBugRepackOverItsSource: the output took the place of the source's files, so that what
// was left after an interruption was neither.
func TestBugRepackOverItsSource(t *testing.T) {
	root := t.TempDir()
	at := func(name string) string { return filepath.Join(root, name) }
	require.NoError(t, os.Mkdir(at("in"), 0o700))
	layers(t, at("in"), 4, 2)
	first := "model-00001-of-00002.safetensors"
	require.NoError(t, os.Symlink("in", at("link")))
	require.NoError(t, os.Symlink(at("in/"+first), at("file.safetensors")))
	require.NoError(t, os.Link(at("in/"+first), at("hard.safetensors")))
	for folder, name := range map[string]string{"tensors": first, "index": "model.safetensors.index.json", "config": "config.json"} {
		require.NoError(t, os.Mkdir(at(folder), 0o700))
		require.NoError(t, os.Link(at("in/"+name), at(folder+"/"+name)))
	}
	before := snapshot(t, at("in"))
	for _, output := range []string{"in", "in/.", "link", "in/" + first, "file.safetensors", "hard.safetensors", "tensors", "index", "config"} {
		for _, more := range [][]string{nil, {"--dry-run"}} {
			_, err := restride(append([]string{"repack", at("in"), "--to", "packed", "--output", at(output)}, more...)...)
			require.ErrorContains(t, err, "is a part of the source", output)
			assert.Equal(t, before, snapshot(t, at("in")))
		}
	}
	for _, folder := range []string{"tensors", "index", "config"} {
		assert.Len(t, snapshot(t, at(folder)), 1)
	}
}

// TestBugRepackOverFilesOfOthers: files in the output's folder that repack had not written
// were replaced.
func TestBugRepackOverFilesOfOthers(t *testing.T) {
	root := t.TempDir()
	at := func(name string) string { return filepath.Join(root, name) }
	require.NoError(t, os.Mkdir(at("in"), 0o700))
	layers(t, at("in"), 4, 2)
	file := "model-00002-of-00002.safetensors"
	for name, write := range map[string]func(path string){
		file:                           func(path string) { writeTensors(t, path, safetensor(t, "x", "F32", 3)) },
		"config.json":                  func(path string) { require.NoError(t, os.WriteFile(path, []byte("{}"), 0o600)) },
		"model.safetensors.index.json": func(path string) { require.NoError(t, os.WriteFile(path, []byte("{}"), 0o600)) },
	} {
		out := t.TempDir()
		write(filepath.Join(out, name))
		before := snapshot(t, out)
		_, err := restride("repack", at("in"), "--to", "packed", "--output", out)
		require.ErrorContains(t, err, "repack has not written it")
		require.ErrorContains(t, err, name)
		assert.Equal(t, before, snapshot(t, out))
		require.NoError(t, os.Remove(filepath.Join(out, name)))
		for range 2 { // its own it replaces, or leaves
			_, err = restride("repack", at("in"), "--to", "packed", "--output", out)
			require.NoError(t, err)
		}
		require.NoError(t, os.Remove(filepath.Join(out, file)))
		_, err = restride("repack", at("in"), "--to", "packed", "--output", out)
		require.NoError(t, err)
	}
	// A file that --output itself names is replaced.
	writeTensors(t, at("file.safetensors"), safetensor(t, "x", "F32", 3))
	_, err := restride("repack", at("in"), "--to", "packed", "--output", at("file.safetensors"))
	require.NoError(t, err)
}
