//go:build unix

package model

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

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
	for _, path := range []string{pipe, link, "/dev/zero", dir} {
		_, err := Load(path)
		require.ErrorIs(t, err, layout.ErrInvalid)
		assert.ErrorContains(t, err, path+" is not a regular file")
		_, err = LoadTensor(path)
		assert.ErrorContains(t, err, "is not a regular file")
		_, err = LoadValue(path, Type{Kind: TensorType})
		assert.ErrorContains(t, err, "is not a regular file")
	}
	_, err := Load(filepath.Join(dir, "none"))
	assert.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "m.onnx"), minimal(t), 0o600))
	require.NoError(t, os.Symlink("m.onnx", filepath.Join(dir, "m")))
	_, err = Load(filepath.Join(dir, "m"))
	assert.NoError(t, err)
}
