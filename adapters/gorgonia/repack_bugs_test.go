package gorgonia_test

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/restride/restride/adapters/gorgonia"
	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/layout"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A writer that silently writes fewer bytes than given.
func TestBugRepackCopyShortWrite(t *testing.T) {
	p := gorgonia.Repack{Shape: []int{2, 3}, Axes: []int{1, 0}}
	for _, takes := range []int{0, 5} {
		written, err := p.Copy(writer(func([]byte) (int, error) { return takes, nil }), bytes.NewReader(make([]byte, 24)), layout.Float32)
		require.ErrorIs(t, err, io.ErrShortWrite)
		assert.Equal(t, int64(takes), written)
	}
}

// writeWeights writes a file of safetensors with one tensor.
func writeWeights(t *testing.T, path string) {
	t.Helper()
	element, err := checkpoint.Safetensors.Type("F32")
	require.NoError(t, err)
	w, err := checkpoint.Create(path, checkpoint.Header{Format: checkpoint.Safetensors,
		Tensors: []*checkpoint.Tensor{{Name: "w", Type: element, Dims: []int64{2, 3}}}}, "")
	require.NoError(t, err)
	require.NoError(t, w.Finish(0))
	require.NoError(t, w.Commit())
}

func keepAll(string, []int) (*gorgonia.Repack, error) { return nil, nil }

func TestBugRepackFileNilRule(t *testing.T) {
	dir := t.TempDir()
	src, dst := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	writeWeights(t, src)
	refused(t, gorgonia.RepackFile(dst, src, nil), "the rule is nil")
	require.NoFileExists(t, dst)
}

// The source is not replaced, whatever the name of the output.
func TestBugRepackFileOverItsSource(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	writeWeights(t, at("in"))
	writeWeights(t, at("in2"+checkpoint.Partial))
	require.NoError(t, os.Link(at("in"), at("hard")))
	same := map[string]string{at("in"): at("in"), dir + "/./in": at("in"), at("hard"): at("in"), at("in2"): at("in2" + checkpoint.Partial)}
	if os.Symlink(at("in"), at("soft")) == nil { // Windows requires a privilege
		same[at("soft")] = at("in")
	}
	for dst, src := range same {
		before, err := os.Stat(src)
		require.NoError(t, err)
		refused(t, gorgonia.RepackFile(dst, src, keepAll), "is the source")
		after, err := os.Stat(src)
		require.NoError(t, err)
		require.True(t, os.SameFile(before, after))
		require.Equal(t, before.ModTime(), after.ModTime())
	}
}

// A file keeps its permissions, and a new one gets only permissions of the source.
func TestBugRepackFilePermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no such permissions")
	}
	dir := t.TempDir()
	src, dst := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	writeWeights(t, src)
	mode := func() fs.FileMode {
		require.NoError(t, gorgonia.RepackFile(dst, src, keepAll))
		info, err := os.Stat(dst)
		require.NoError(t, err)
		return info.Mode().Perm()
	}
	require.NoError(t, os.Chmod(src, 0o600))
	require.Equal(t, fs.FileMode(0o600), mode())
	require.NoError(t, os.Chmod(dst, 0o640))
	require.Equal(t, fs.FileMode(0o640), mode())
}
