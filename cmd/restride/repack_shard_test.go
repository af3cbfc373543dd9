package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/checkpoint"
)

// contents are all bytes of a checkpoint's tensors, and which file has each.
func contents(t *testing.T, path string) (bytes map[string][]byte, files map[string]string) {
	c, err := checkpoint.Open(path)
	require.NoError(t, err)
	defer c.Close()
	bytes, files = map[string][]byte{}, map[string]string{}
	for _, x := range c.Tensors {
		b := make([]byte, x.Size())
		_, err := x.ReadAt(b, 0)
		require.NoError(t, err)
		bytes[x.Name], files[x.Name] = b, filepath.Base(x.File().Path)
	}
	return bytes, files
}

// layers writes a GPTQ checkpoint of some weights, in as many files.
func layers(t *testing.T, dir string, weights, files int) {
	all := make([][]*checkpoint.Tensor, files)
	index := map[string]string{}
	name := func(i int) string { return fmt.Sprintf("model-%05d-of-%05d.safetensors", i+1, files) }
	for i := range weights {
		at := i * files / weights
		for _, x := range []*checkpoint.Tensor{
			safetensor(t, fmt.Sprintf("l.%d.qweight", i), "I32", 16, 64), safetensor(t, fmt.Sprintf("l.%d.scales", i), "F16", 4, 64), safetensor(t, fmt.Sprintf("l.%d.norm", i), "F32", 9),
		} {
			all[at] = append(all[at], x)
			index[x.Name] = name(at)
		}
	}
	for i, some := range all {
		writeTensors(t, filepath.Join(dir, name(i)), some...)
	}
	text, err := json.Marshal(map[string]any{"weight_map": index})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "model.safetensors.index.json"), text, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(gptqConfig), 0o600))
}

// TestRepackShards: parts, in any order, write what one run writes: each of the files once,
// and the same index. More parts than files make more files of them.
func TestRepackShards(t *testing.T) {
	for _, c := range []struct{ files, parts int }{{3, 1}, {3, 2}, {3, 3}, {3, 5}, {1, 4}} {
		t.Run(fmt.Sprintf("%d files by %d", c.files, c.parts), func(t *testing.T) {
			dir := t.TempDir()
			source, whole, out := filepath.Join(dir, "source"), filepath.Join(dir, "whole"), filepath.Join(dir, "out")
			require.NoError(t, os.Mkdir(source, 0o700))
			layers(t, source, 7, c.files)
			text, err := restride("repack", source, "--to", "packed", "--output", whole)
			require.NoError(t, err, text)
			index := ""
			for part := c.parts; part > 0; part-- {
				text, err := restride("repack", source, "--to", "packed", "--output", out, "--shard", fmt.Sprintf("%d/%d", part, c.parts))
				require.NoError(t, err, text)
				if b, err := os.ReadFile(filepath.Join(out, "model.safetensors.index.json")); err == nil {
					assert.Equal(t, index, cmpOr(index, string(b)), "the index of each part")
					index = string(b)
				}
				found, err := filepath.Glob(filepath.Join(out, "*.safetensors"))
				require.NoError(t, err)
				if left := max(c.files, c.parts) - len(found); part > 1 {
					assert.Positive(t, left)
					_, err := checkpoint.Open(out)
					assert.ErrorIs(t, err, os.ErrNotExist)
				} else {
					assert.Zero(t, left)
				}
			}
			want, files := contents(t, whole)
			got, at := contents(t, out)
			assert.Equal(t, want, got)
			if c.parts <= c.files {
				assert.Equal(t, files, at)
			} else {
				assert.Equal(t, fmt.Sprintf("model-00001-of-%05d.safetensors", c.parts), at["l.0.norm"])
			}
			config, err := os.ReadFile(filepath.Join(out, "config.json"))
			require.NoError(t, err)
			assert.Contains(t, string(config), `"packed"`)
		})
	}
}

func cmpOr(a, b string) string {
	if a == "" {
		return a
	}
	return b
}

func TestRepackShardsRefused(t *testing.T) {
	dir := t.TempDir()
	layers(t, dir, 1, 1)
	for _, shard := range []string{"", "1", "0/2", "3/2", "-1/2", "1/x", "1/2/3", "1/100000"} {
		_, err := restride("repack", dir, "--to", "packed", "--output", filepath.Join(dir, "out"), "--shard", shard)
		require.ErrorContains(t, err, "--shard", shard)
		assert.NoDirExists(t, filepath.Join(dir, "out"))
	}
	_, err := restride("repack", dir, "--to", "packed", "--output", filepath.Join(dir, "out.safetensors"), "--shard", "1/2")
	require.ErrorContains(t, err, "parts are written into a folder")
}

// TestRepackGGUFPieces: GGUF in several files says so in each, as llama.cpp has it, and is
// read again from any of them.
func TestRepackGGUFPieces(t *testing.T) {
	dir := t.TempDir()
	writeTensors(t, filepath.Join(dir, "gpt.safetensors"),
		safetensor(t, "model.layers.0.mlp.experts.down_proj_blocks", "U8", 2, 8, 2, 16), safetensor(t, "model.layers.0.mlp.experts.down_proj_scales", "U8", 2, 8, 2),
		safetensor(t, "model.layers.1.mlp.experts.down_proj_blocks", "U8", 2, 8, 2, 16), safetensor(t, "model.layers.1.mlp.experts.down_proj_scales", "U8", 2, 8, 2))
	out := filepath.Join(dir, "out")
	for part := 1; part <= 2; part++ {
		text, err := restride("repack", filepath.Join(dir, "gpt.safetensors"), "--from", "gpt-oss", "--to", "gguf", "--output", out, "--shard", fmt.Sprintf("%d/2", part))
		require.NoError(t, err, text)
	}
	c, err := checkpoint.Open(filepath.Join(out, "gpt-00002-of-00002.gguf"))
	require.NoError(t, err)
	defer c.Close()
	assert.Len(t, c.Tensors, 2)
	for i, f := range c.Files {
		for key, want := range map[string]int64{"split.no": int64(i), "split.count": 2, "split.tensors.count": 2} {
			v, ok := f.Value(key)
			require.True(t, ok, key)
			n, _ := v.Int()
			assert.Equal(t, want, n, key)
		}
	}
}
