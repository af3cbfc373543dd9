package main

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestUpdate: an archive is written if its texts differ from the folder's, but not if only its
// compression differs.
func TestUpdate(t *testing.T) {
	folder := t.TempDir()
	archive := filepath.Join(t.TempDir(), "a.zip")
	put := func(name, text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	run := func() (changes string, file []byte) {
		t.Helper()
		var log bytes.Buffer
		require.NoError(t, update(folder, archive, &log))
		file, err := os.ReadFile(archive)
		require.NoError(t, err)
		return log.String(), file
	}
	require.Error(t, update(folder, archive, nil), "an empty folder")
	put("run_2.ptx", "// by a compiler\n\nbra;\n\tret; // so\n")
	put("run_4.ptx", "ret;\n")
	put("run_4.cu", "other files stay out")
	changes, first := run()
	assert.Contains(t, changes, "run_2.ptx")
	assert.Contains(t, changes, "run_4.ptx")
	r, err := zip.NewReader(bytes.NewReader(first), int64(len(first)))
	require.NoError(t, err)
	got, err := texts(r)
	require.NoError(t, err)
	want := map[string]string{"run_2.ptx": "bra;\n\tret; // so\n", "run_4.ptx": "ret;\n"}
	assert.Equal(t, want, got)

	var stored bytes.Buffer // as another compressor might
	w := zip.NewWriter(&stored)
	for name, text := range want {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		require.NoError(t, err)
		_, err = f.Write([]byte(text))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, os.WriteFile(archive, stored.Bytes(), 0o600))
	changes, same := run()
	assert.Empty(t, changes)
	assert.Equal(t, stored.Bytes(), same)

	put("run_4.ptx", "exit;\n")
	changes, _ = run()
	assert.Contains(t, changes, "run_4.ptx")
	assert.NotContains(t, changes, "run_2.ptx")
	put("run_4.ptx", "ret;\n")
	_, last := run()
	assert.Equal(t, first, last, "the same texts make the same archive")
	require.NoError(t, os.Remove(filepath.Join(folder, "run_2.ptx")))
	changes, _ = run()
	assert.Contains(t, changes, "run_2.ptx")
}
