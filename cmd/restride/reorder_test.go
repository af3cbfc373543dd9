package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/checkpoint"
)

func TestReorder(t *testing.T) {
	dir := t.TempDir()
	in, out, back := filepath.Join(dir, "in.safetensors"), filepath.Join(dir, "out.safetensors"), filepath.Join(dir, "back.safetensors")
	writeTensors(t, in, safetensor(t, "a.w", "F16", 4, 6), safetensor(t, "b.w", "I64", 4, 10), safetensor(t, "c", "F32", 3))
	said, err := restride("reorder", in, "--tensor", `\.w$`, "--from", "n, k", "--to", "k/2, n k%2", "--output", out)
	require.NoError(t, err)
	assert.Contains(t, said, "out.safetensors: 2 of 3 tensors from n, k to k/2, n k%2\n")
	assert.Equal(t, []int64{3, 8}, shapeIn(t, out, "a.w"))
	assert.Equal(t, []int64{5, 8}, shapeIn(t, out, "b.w"))
	assert.NoFileExists(t, out+checkpoint.Partial)
	a, z := bytesIn(t, in, "a.w"), bytesIn(t, out, "a.w")
	for row := range 3 {
		for n := range 4 {
			assert.Equal(t, a[2*(6*n+2*row):][:4], z[2*(8*row+2*n):][:4])
		}
	}

	_, err = restride("reorder", out, "--tensor", `\.w$`, "--from", "k/2, n/1 k%2", "--to", "n, k", "--output", back)
	require.NoError(t, err)
	for _, name := range []string{"a.w", "b.w", "c"} {
		assert.Equal(t, bytesIn(t, in, name), bytesIn(t, back, name), name)
	}
}

// A padded tensor returns to its shape with the extent of the axis.
func TestReorderPads(t *testing.T) {
	dir := t.TempDir()
	in, out, back := filepath.Join(dir, "in.safetensors"), filepath.Join(dir, "out.safetensors"), filepath.Join(dir, "back.safetensors")
	writeTensors(t, in, safetensor(t, "w", "U8", 6))
	_, err := restride("reorder", in, "--tensor", "w", "--from", "k", "--to", "k/4, k%4", "--output", out)
	require.NoError(t, err)
	assert.Equal(t, append(bytesIn(t, in, "w"), 0, 0), bytesIn(t, out, "w"))
	_, err = restride("reorder", out, "--tensor", "w", "--from", "k/4, k%4", "--to", "k", "--extent", "k=6", "--output", back)
	require.NoError(t, err)
	assert.Equal(t, bytesIn(t, in, "w"), bytesIn(t, back, "w"))
}

// After an error there is no file.
func TestReorderErrors(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.safetensors"), filepath.Join(dir, "out.safetensors")
	writeTensors(t, in, safetensor(t, "w", "F16", 4, 6), safetensor(t, "v", "F16", 4))
	for _, c := range []struct {
		says string
		args []string
	}{
		{"axis 1, digit 2, 2: it must begin with the letter of an axis", []string{"--tensor", "w", "--from", "n, k 2", "--to", "n"}},
		{"--to: order: k/8, n k%4: k%4 ends at 4", []string{"--tensor", "w", "--from", "n, k", "--to", "k/8, n k%4"}},
		{"no tensor has such a name", []string{"--tensor", "x", "--from", "n, k", "--to", "k, n"}},
		{`tensor "v": order: n, k: it has 2 axes in memory, and the shape [4] has 1`, []string{"--tensor", ".", "--from", "n, k", "--to", "k, n"}},
		{"n is cut at 2 and at 3", []string{"--tensor", "w", "--from", "n/2 n%2, k", "--to", "n/3 n%3, k"}},
		{"--extent n: it must be like n=100", []string{"--tensor", "w", "--from", "n, k", "--to", "k, n", "--extent", "n"}},
		{"its shape would be [5,6], and it is [4,6]", []string{"--tensor", "w", "--from", "n, k", "--to", "k, n", "--extent", "n=5", "--extent", "k=6"}},
		{"is the file that is read", []string{"--tensor", "w", "--from", "n, k", "--to", "k, n", "--output", in}},
	} {
		_, err := restride(append([]string{"reorder", in, "--output", out}, c.args...)...)
		require.ErrorContains(t, err, c.says)
		files, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, files, 1, c.says)
	}
}

func opened(t *testing.T, path, name string) *checkpoint.Tensor {
	f, err := checkpoint.OpenFile(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	require.NotNil(t, f.Lookup(name))
	return f.Lookup(name)
}

func shapeIn(t *testing.T, path, name string) []int64 { return opened(t, path, name).Dims }

func bytesIn(t *testing.T, path, name string) []byte {
	w := opened(t, path, name)
	b := make([]byte, w.Size())
	_, err := w.ReadAt(b, 0)
	require.NoError(t, err)
	return b
}
