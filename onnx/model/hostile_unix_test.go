//go:build unix

package model

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Once a pipe stopped the program for ever, and /dev/zero was read up to 2 GiB.
func TestOnlyRegularFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	pipe, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, os.Symlink(pipe, link))
	for path, kind := range map[string]string{pipe: "a pipe", link: "a pipe", "/dev/zero": "a device", dir: "a folder"} {
		says := path + " is " + kind + ", not a regular file"
		_, err := Load(path)
		require.ErrorIs(t, err, layout.ErrInvalid)
		assert.ErrorContains(t, err, says)
		_, err = loadTensor(path)
		assert.ErrorContains(t, err, says)
		_, err = LoadValue(path, Type{Kind: TensorType})
		assert.ErrorContains(t, err, says)
	}
	_, err := Load(filepath.Join(dir, "none"))
	assert.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "m.onnx"), minimal(t), 0o600))
	require.NoError(t, os.Symlink("m.onnx", filepath.Join(dir, "m")))
	_, err = Load(filepath.Join(dir, "m"))
	assert.NoError(t, err)
}

// Once 2 GiB were read of a model that is refused for having more.
func TestLargeModelIsRefusedUnread(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.onnx")
	require.NoError(t, os.WriteFile(path, minimal(t), 0o600))
	require.NoError(t, os.Truncate(path, 10<<30))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Load(path)
	runtime.ReadMemStats(&after)
	require.ErrorIs(t, err, layout.ErrInvalid)
	assert.EqualError(t, err, "model.Load: "+path+" has 10737418240 bytes; at most 2147483647 are read")
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
}

// Once a path was in errors as it is, and a line of it looked like one of ours.
func TestPathsInErrors(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "\x1b[31m\nPASS")
	require.NoError(t, os.Mkdir(dir, 0o700))
	path := filepath.Join(dir, "m\r.onnx")
	check := func(err error) {
		t.Helper()
		require.Error(t, err)
		assert.Equal(t, quote.Text(err.Error()), err.Error())
	}
	load := func() {
		_, err := Load(path)
		check(err)
		_, err = loadTensor(path)
		check(err)
		_, err = LoadValue(path, Type{Kind: TensorType})
		check(err)
	}
	load() // there is none
	require.NoError(t, os.WriteFile(path, []byte{1}, 0o600))
	load()
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.MkdirAll(filepath.Join(path, "x"), 0o700))
	load()
	tensor := &Tensor{Name: "t", Type: layout.Int8, Dims: layout.Shape{1}, Data: []byte{1}}
	check(saveTensor(path, tensor))
	check(saveTensor(filepath.Join(path, "no", "x"), tensor))
	m, err := Parse(minimal(t), "")
	require.NoError(t, err)
	check(m.Save(path))
	check(m.SaveExternal(path, "../x", 0))
	external := Tensor{Name: "t", Type: layout.Int8, External: &External{Dir: dir + "no", Path: "x", Length: -1}}
	_, err = external.Open()
	check(err)
}

// What was written was everybody's to read, whatever the umask.
func TestBugFilesFollowTheUmask(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o027))
	x, err := NewTensor("x", []int8{1})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "x.pb")
	for range 2 { // the second takes the place of the first
		require.NoError(t, saveTensor(path, &x))
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Equal(t, fs.FileMode(0o640), info.Mode())
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	assert.Len(t, entries, 1)
}
