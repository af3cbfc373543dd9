package main

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/quant"
)

// writeBlocks writes a GGUF file of weights w0, w1, ... of types, 8 by 256.
func writeBlocks(t *testing.T, path string, types ...string) {
	h := checkpoint.Header{Format: checkpoint.GGUF}
	for i, typ := range types {
		kind, err := checkpoint.GGUF.Type(typ)
		require.NoError(t, err)
		h.Tensors = append(h.Tensors, &checkpoint.Tensor{Name: "w" + string(rune('0'+i)) + ".weight", Type: kind, Dims: []int64{8, 256}})
	}
	w, err := checkpoint.Create(path, h, "")
	require.NoError(t, err)
	for i, x := range w.Tensors {
		b := make([]byte, x.Size())
		for j := range b {
			b[j] = byte(j*7) & 0x3f // no scale is NaN
		}
		require.NoError(t, w.WriteAt(i, b, 0))
		require.NoError(t, w.Finish(i))
	}
	require.NoError(t, w.Commit())
}

// floats are a tensor's numbers, those that are 0 without a sign.
func floats(b []byte) (all []float32) {
	for ; len(b) >= 4; b = b[4:] {
		all = append(all, math.Float32frombits(binary.LittleEndian.Uint32(b))+0)
	}
	return all
}

// TestBugRepackOfWeightsThatDiffer: config.json said of all weights what the first one was,
// so that codes of 5 bits were read as ones of 4.
func TestBugRepackOfWeightsThatDiffer(t *testing.T) {
	for name, types := range map[string][]string{
		"bits": {"Q4_0", "Q5_0", "Q8_0"}, "bits, the other way": {"Q5_0", "Q4_0"},
		"tables": {"Q4_0", "IQ4_NL"}, "a table": {"IQ4_NL"}, "a table of 4 bits": {"MXFP4"},
	} {
		same := func(want map[string][]byte, path string) {
			got, _ := contents(t, path)
			require.Len(t, got, len(want))
			for name, b := range got {
				assert.Equal(t, floats(want[name]), floats(b), name)
			}
		}
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			at := func(name string) string { return filepath.Join(dir, name) }
			require.NoError(t, os.Mkdir(at("in"), 0o700))
			writeBlocks(t, at("in/model.gguf"), types...)
			require.NoError(t, os.WriteFile(at("in/config.json"), []byte(`{"hidden_size": 64, "quantization_config": {"quant_method": "packed", "bits": 4}}`), 0o600))
			repacked := func(source, to, output string, more ...string) {
				out, err := restride(append([]string{"repack", at(source), "--to", to, "--output", at(output)}, more...)...)
				require.NoError(t, err, out)
			}
			repacked("in/model.gguf", "float32", "want.safetensors")
			want, _ := contents(t, at("want.safetensors"))
			repacked("in", "packed", "folder")
			require.NoError(t, os.Mkdir(at("file"), 0o700))
			repacked("in", "packed", "file/model.safetensors")
			require.NoError(t, os.Mkdir(at("parts"), 0o700))
			repacked("in", "packed", "parts", "--shard", "1/2")
			repacked("in", "packed", "parts", "--shard", "2/2")
			for i, source := range []string{"folder", "file", "parts"} {
				for _, more := range [][]string{nil, {"--from", "packed"}, {"--from", "packed", "--bits", "4"}} {
					if len(more) == 4 {
						out, err := restride(append([]string{"repack", at(source), "--to", "float32", "--output", at("none.safetensors")}, more...)...)
						if name == "bits" || name == "bits, the other way" {
							require.ErrorContains(t, err, "has codes of", out)
							continue
						}
						require.NoError(t, err)
					}
					output := source + string(rune('0'+i)) + string(rune('0'+len(more))) + ".safetensors"
					repacked(source, "float32", output, more...)
					same(want, at(output))
				}
			}
			config, err := os.ReadFile(at("folder/config.json"))
			require.NoError(t, err)
			assert.Contains(t, string(config), "hidden_size")
			assert.NotContains(t, string(config), configKey)
			out, err := restride("inspect", at("folder"))
			require.NoError(t, err)
			assert.Contains(t, out, "weights of format packed, as the file's metadata says")
			// What is left as it is keeps its record.
			repacked("folder", "float32", "some.safetensors", "--only", "^w0")
			if len(types) > 1 {
				repacked("some.safetensors", "float32", "all.safetensors", "--from", "packed")
				same(want, at("all.safetensors"))
			}
		})
	}
}

// TestBugRepackOnlyReadAsTheOthers: a weight that --only converted was read as of the format
// of those it left, where both name their tensors alike.
func TestBugRepackOnlyReadAsTheOthers(t *testing.T) {
	dir := t.TempDir()
	layers(t, dir, 3, 1)
	at := func(name string) string { return filepath.Join(dir, name) }
	_, err := restride("repack", dir, "--to", "marlin", "--only", "^l.1", "--output", at("out"))
	require.NoError(t, err)
	out, err := restride("inspect", at("out"))
	require.NoError(t, err)
	assert.Contains(t, out, "2 weights of format gptq, as config.json says")
	out, err = restride("inspect", at("out"), "--from", "marlin")
	require.NoError(t, err)
	assert.Contains(t, out, "1 weights of format marlin, as --from says")
}

func TestRecordsRefused(t *testing.T) {
	for text, rule := range map[string]string{
		`{`: "ends within a value", `{"weights":[{"format":"x"}]}`: "x", `{"weights":[{"format":"packed","bits":0}]}`: "0 bits",
		`{"weights":[{"format":"packed","bits":4,"group_size":-1}]}`: "groups of -1",
		`{"weights":[{"format":"packed","bits":4,"table":"none"}]}`:  "table",
		`{"weights":[{"format":"packed","bits":8,"table":"iq4nl"}]}`: "8 bits",
	} {
		all := records{of: map[string]kind{}}
		err := all.read(&checkpoint.Checkpoint{}, checkpoint.ValueOf(text))
		require.ErrorContains(t, err, rule, text)
	}
}

// TestBugRecordsThatDiffer: of several files the last one's record counted.
func TestBugRecordsThatDiffer(t *testing.T) {
	for first, second := range map[string]string{
		`{"format":"packed","weights":[]}`:                                `{"format":"gptq","weights":[]}`,
		`{"weights":[{"format":"packed","bits":4,"codes":["w.weight"]}]}`: `{"weights":[{"format":"packed","bits":8,"codes":["w.weight"]}]}`,
	} {
		all := records{of: map[string]kind{}}
		require.NoError(t, all.read(&checkpoint.Checkpoint{}, checkpoint.ValueOf(first)))
		require.NoError(t, all.read(&checkpoint.Checkpoint{}, checkpoint.ValueOf(first)))
		require.Error(t, all.read(&checkpoint.Checkpoint{}, checkpoint.ValueOf(second)))
	}
}

// TestRecordsOfFormats: what a record says of a weight is enough to turn it back.
func TestRecordsOfFormats(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.Mkdir(at("codes"), 0o700))
	writeTensors(t, at("codes/model.safetensors"), safetensor(t, "a.weight", "U8", 128, 256), safetensor(t, "b.weight", "U8", 128, 256))
	require.NoError(t, os.Mkdir(at("scaled"), 0o700))
	writeTensors(t, at("scaled/model.safetensors"), safetensor(t, "a.weight", "U8", 128, 256), safetensor(t, "a.scales", "F16", 128, 16),
		safetensor(t, "b.weight", "U8", 128, 256), safetensor(t, "b.scales", "F16", 128, 16))
	require.NoError(t, os.Mkdir(at("zeros"), 0o700))
	writeTensors(t, at("zeros/model.safetensors"), safetensor(t, "a.weight", "U8", 128, 256), safetensor(t, "a.scales", "F16", 128, 16), safetensor(t, "a.zeros", "U8", 128, 8),
		safetensor(t, "b.weight", "U8", 128, 256), safetensor(t, "b.scales", "F16", 128, 16), safetensor(t, "b.zeros", "U8", 128, 8))
	require.NoError(t, os.Mkdir(at("gptq"), 0o700))
	writeTensors(t, at("gptq/model.safetensors"), safetensor(t, "a.qweight", "I32", 32, 128), safetensor(t, "a.scales", "F16", 2, 128),
		safetensor(t, "b.qweight", "I32", 32, 128), safetensor(t, "b.scales", "F16", 2, 128))
	done := 0
	for source, from := range map[string]string{"codes": "packed", "scaled": "packed", "zeros": "packed", "gptq": "gptq"} {
		for _, f := range quant.Formats() {
			made, back := at(source+f.Name+".safetensors"), at(source+f.Name+"back.safetensors")
			_, err := restride("repack", at(source), "--from", from, "--bits", "4", "--to", f.Name, "--only", "^a", "--output", made)
			if err != nil || f.Name == from || f.Name == "tiles128x4" || f.Name == "mlx" || strings.Contains(f.Name, "float") { // or numbers are computed
				continue
			}
			_, err = restride("repack", made, "--from", f.Name, "--to", from, "--output", back)
			require.NoError(t, err, "%s to %s", source, f.Name)
			want, _ := contents(t, at(source+"/model.safetensors"))
			got, _ := contents(t, back)
			if f.Name == "hqq" { // packed keeps its names
				got["a.weight"] = got["a.W_q"]
			}
			for name, b := range got {
				if w, ok := want[name]; ok && (len(w) == len(b) || name == "a.weight") { // not scales that were repeated
					assert.True(t, string(w) == string(b), "%s to %s: %s", source, f.Name, name)
				}
			}
			assert.Contains(t, got, map[string]string{"packed": "a.weight", "gptq": "a.qweight"}[from], f.Name)
			done++
		}
	}
	t.Log(done, "conversions")
	assert.Greater(t, done, 15)
}
