package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/checkpoint"
)

// writeTensors writes a file with tensors whose bytes count up.
func writeTensors(t *testing.T, path string, tensors ...*checkpoint.Tensor) {
	writeFilled(t, path, nil, tensors...)
}

// writeFilled writes such a file; some tensors have other bytes.
func writeFilled(t *testing.T, path string, fill map[string][]byte, tensors ...*checkpoint.Tensor) {
	w, err := checkpoint.Create(path, checkpoint.Header{Format: checkpoint.Safetensors, Tensors: tensors}, "")
	require.NoError(t, err)
	for i, x := range w.Tensors {
		b := make([]byte, x.Size())
		for j := range b {
			b[j] = byte(j * 7)
		}
		copy(b, fill[x.Name])
		require.NoError(t, w.WriteAt(i, b, 0))
		require.NoError(t, w.Finish(i))
	}
	require.NoError(t, w.Commit())
}

func safetensor(t *testing.T, name, typ string, dims ...int64) *checkpoint.Tensor {
	kind, err := checkpoint.Safetensors.Type(typ)
	require.NoError(t, err)
	return &checkpoint.Tensor{Name: name, Type: kind, Dims: dims}
}

const gptqConfig = `{"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 32, "sym": true}}`

// TestRepack: there and back, with tensors that are no weights beside.
func TestRepack(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	writeTensors(t, at("model.safetensors"),
		safetensor(t, "a.qweight", "I32", 16, 64), safetensor(t, "a.scales", "F16", 4, 64), safetensor(t, "a.bias", "F16", 64), safetensor(t, "b.weight", "BF16", 3, 5))
	_, err := restride("repack", at("model.safetensors"), "--to", "packed", "--output", at("out.safetensors"))
	require.ErrorContains(t, err, "name it by --from")
	require.NoError(t, os.WriteFile(at("config.json"), []byte(gptqConfig), 0o600))
	out, err := restride("repack", dir, "--to", "packed", "--output", at("packed/out.safetensors"))
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.Empty(t, out)
	require.NoError(t, os.Mkdir(at("packed"), 0o700))
	out, err = restride("repack", dir, "--to", "packed", "--output", at("packed/out.safetensors"))
	require.NoError(t, err)
	assert.Contains(t, out, "1 weights from gptq to packed, 2 tensors as they were")

	_, err = restride("repack", at("packed"), "--from", "packed", "--bits", "4", "--to", "gptq", "--output", at("back.safetensors"))
	require.NoError(t, err)
	for _, name := range []string{"a.qweight", "a.scales", "a.bias", "b.weight"} {
		assert.Equal(t, tensorBytes(t, at("model.safetensors"), name), tensorBytes(t, at("back.safetensors"), name), name)
	}
	// The nibble of row n 1 and column k 9 is in the word of k/8 1 and n 1, as the second.
	b := tensorBytes(t, at("packed/out.safetensors"), "a.weight")
	assert.Len(t, b, 64*128/2)
	word := 4 * (1*64 + 1)
	assert.Equal(t, byte(word*7)>>4&15, b[(1*128+9)/2]>>4)
}

func tensorBytes(t *testing.T, path, name string) []byte {
	c, err := checkpoint.Open(path)
	require.NoError(t, err)
	defer c.Close()
	x := c.Lookup(name)
	require.NotNil(t, x, name)
	b, err := io.ReadAll(io.NewSectionReader(x, 0, x.Size()))
	require.NoError(t, err)
	return b
}

func TestRepackRefuses(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	writeTensors(t, at("model.safetensors"), safetensor(t, "a.qweight", "I32", 16, 32), safetensor(t, "a.scales", "F16", 4, 32))
	require.NoError(t, os.WriteFile(at("config.json"), []byte(gptqConfig), 0o600))
	require.NoError(t, os.WriteFile(at("garbage.gguf"), []byte("nonsense"), 0o600))
	require.NoError(t, os.Mkdir(at("other"), 0o700))
	writeTensors(t, at("other/none.safetensors"), safetensor(t, "a.bias", "F16", 16))
	for rule, args := range map[string][]string{
		"no format is named":                  {dir, "--to", "new"},
		"N is 32; a multiple of 64 is wanted": {dir, "--to", "marlin"},
		"are of format gptq, as config.json":  {dir, "--from", "awq", "--to", "packed", "--only", "^b"},
		"has no weights of format machete":    {at("other/none.safetensors"), "--from", "machete", "--to", "packed"},
		"--only":                              {dir, "--to", "packed", "--only", "("},
		"in a file of 8":                      {at("garbage.gguf"), "--to", "packed"},
		"no such file":                        {at("nowhere"), "--to", "packed"},
		"--max-memory":                        {dir, "--to", "packed", "--max-memory", "x"},
	} {
		_, err := restride(append([]string{"repack", "--output", at("out.safetensors")}, args...)...)
		require.ErrorContains(t, err, rule)
		assert.NoFileExists(t, at("out.safetensors"))
	}
	_, err := restride("repack", dir, "--to", "packed", "--output", at("no/folder"))
	require.ErrorIs(t, err, os.ErrNotExist)
	out, err := restride("formats")
	require.NoError(t, err)
	assert.Contains(t, out, "marlin")
}

// TestRepackFolder: a checkpoint in two files becomes another, with index and config.json; a
// second run finds its files done, and one of another source makes them anew.
func TestRepackFolder(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	writeTensors(t, at("m-1.safetensors"), safetensor(t, "a.qweight", "I32", 16, 64), safetensor(t, "a.bias", "F16", 64))
	writeTensors(t, at("m-2.safetensors"), safetensor(t, "a.scales", "F16", 4, 64), safetensor(t, "b.qweight", "I32", 8, 8), safetensor(t, "b.scales", "F16", 2, 8))
	require.NoError(t, os.WriteFile(at("model.safetensors.index.json"),
		[]byte(`{"metadata":{},"weight_map":{"a.qweight":"m-1.safetensors","a.bias":"m-1.safetensors","a.scales":"m-2.safetensors","b.qweight":"m-2.safetensors","b.scales":"m-2.safetensors"}}`), 0o600))
	require.NoError(t, os.WriteFile(at("config.json"), []byte(`{"hidden_size": 64, "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 32, "sym": true}}`), 0o600))
	run := func() string {
		out, err := restride("repack", dir, "--to", "compressed-tensors", "--output", at("out"))
		require.NoError(t, err)
		return out
	}
	assert.Contains(t, run(), "2 weights from gptq to compressed-tensors, 1 tensors as they were")
	c, err := checkpoint.Open(at("out"))
	require.NoError(t, err)
	defer c.Close()
	assert.Len(t, c.Files, 2)
	assert.Len(t, c.Tensors, 7)
	assert.Equal(t, "m-1.safetensors", filepath.Base(c.Lookup("a.weight_scale").File().Path))
	assert.Contains(t, string(c.Config), `"hidden_size": 64`)

	before, err := os.Stat(at("out/m-1.safetensors"))
	require.NoError(t, err)
	run()
	after, err := os.Stat(at("out/m-1.safetensors"))
	require.NoError(t, err)
	assert.True(t, os.SameFile(before, after))
	require.NoError(t, os.Chtimes(at("m-2.safetensors"), after.ModTime(), after.ModTime().Add(-1e9)))
	run()
	after, err = os.Stat(at("out/m-1.safetensors"))
	require.NoError(t, err)
	assert.False(t, os.SameFile(before, after))

	_, err = restride("repack", at("out"), "--to", "gptq", "--output", at("back.safetensors"))
	require.NoError(t, err)
	for file, names := range map[string][]string{"m-1": {"a.qweight", "a.bias"}, "m-2": {"a.scales", "b.qweight", "b.scales"}} {
		for _, name := range names {
			assert.Equal(t, tensorBytes(t, at(file+".safetensors"), name), tensorBytes(t, at("back.safetensors"), name), name)
		}
	}
}

func TestRepackTimeout(t *testing.T) {
	dir := t.TempDir()
	writeTensors(t, filepath.Join(dir, "model.safetensors"), safetensor(t, "a.weight", "U8", 16, 32))
	_, err := restride("repack", dir, "--from", "packed", "--bits", "4", "--to", "tilepacked", "--timeout", "1ns", "--output", filepath.Join(dir, "out.safetensors"))
	require.ErrorIs(t, err, errTimeout)
	assert.NoFileExists(t, filepath.Join(dir, "out.safetensors"))
}
