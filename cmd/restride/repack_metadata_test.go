package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/checkpoint"
)

// ggufValues are metadata of several types; what has no name here is made by others.
func ggufValues(t *testing.T) (all []checkpoint.Entry) {
	for _, v := range []struct{ key, typ, text string }{
		{"llama.block_count", "uint32", "32"}, {"llama.big", "uint64", "18446744073709551615"}, {"llama.less", "int64", "-9007199254740993"},
		{"llama.rope.freq_base", "float32", "1e+06"}, {"llama.eps", "float64", "1e-06"}, {"llama.none", "float32", `"NaN"`}, {"llama.most", "float64", `"-Inf"`},
		{"tokenizer.ggml.add_bos_token", "bool", "true"}, {"tokenizer.ggml.tokens", "array of text", `["<s>","\n\"é","▁a"]`},
		{"tokenizer.ggml.scores", "array of float32", `[0,-1.5,"+Inf"]`}, {"tokenizer.ggml.token_type", "array of int32", `[1,-3]`}, {"llama.empty", "array of uint8", `[]`},
		{"general.file_type", "uint32", "1"},
	} {
		value, err := checkpoint.ValueFromJSON(v.typ, v.text)
		require.NoError(t, err, v.key)
		all = append(all, checkpoint.Entry{Key: v.key, Value: value})
	}
	return append(all, checkpoint.Entry{Key: "general.name", Value: checkpoint.ValueOf("a model")})
}

// writeGGUF writes a file with tensors of the number 1.
func writeGGUF(t *testing.T, path string, metadata []checkpoint.Entry, tensors ...*checkpoint.Tensor) {
	w, err := checkpoint.Create(path, checkpoint.Header{Format: checkpoint.GGUF, Metadata: metadata, Tensors: tensors}, "")
	require.NoError(t, err)
	for i, x := range w.Tensors {
		b := make([]byte, x.Size())
		for j := range b {
			b[j] = []byte{0, 0x3c}[j%2]
		}
		require.NoError(t, w.WriteAt(i, b, 0))
		require.NoError(t, w.Finish(i))
	}
	require.NoError(t, w.Commit())
}

func metadataOf(t *testing.T, path string) map[string]checkpoint.Value {
	c, err := checkpoint.Open(path)
	require.NoError(t, err)
	defer c.Close()
	all := map[string]checkpoint.Value{}
	for _, e := range c.Files[0].Metadata {
		all[e.Key] = e.Value
	}
	return all
}

// TestBugRepackFileType: a GGUF file of Q4_0 still said that it was mostly of F16.
func TestBugRepackFileType(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	f16, err := checkpoint.GGUF.Type("F16")
	require.NoError(t, err)
	writeGGUF(t, at("in.gguf"), ggufValues(t), &checkpoint.Tensor{Name: "w.weight", Type: f16, Dims: []int64{4, 64}})
	for to, want := range map[string]int64{"q4_0": 2, "q8_0": 7, "mxfp4": 38} {
		_, err := restride("repack", at("in.gguf"), "--from", "float", "--to", to, "--output", at(to+".gguf"))
		require.NoError(t, err)
		got := metadataOf(t, at(to+".gguf"))
		n, ok := got["general.file_type"].Int()
		assert.True(t, ok && n == want, "%s: %v", to, got["general.file_type"])
		assert.Len(t, got, len(ggufValues(t)))
	}
	q6K, err := checkpoint.GGUF.Type("Q6_K")
	require.NoError(t, err)
	writeGGUF(t, at("k.gguf"), ggufValues(t), &checkpoint.Tensor{Name: "w.weight", Type: q6K, Dims: []int64{4, 256}})
	_, err = restride("repack", at("k.gguf"), "--to", "gguf", "--output", at("same.gguf"))
	require.NoError(t, err)
	assert.Equal(t, checkpoint.ValueOf[uint32](1), metadataOf(t, at("same.gguf"))["general.file_type"]) // as it was
}

// TestBugRepackDropsGGUFMetadata: of what a GGUF file said, a safetensors file had only the
// texts. It has all of it, and a GGUF file made of it the same values.
func TestBugRepackDropsGGUFMetadata(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	q40, err := checkpoint.GGUF.Type("Q4_0")
	require.NoError(t, err)
	bytes := checkpoint.ValueOf("\xff")
	writeGGUF(t, at("in.gguf"), append(ggufValues(t), checkpoint.Entry{Key: "llama.bytes", Value: bytes}), &checkpoint.Tensor{Name: "w.weight", Type: q40, Dims: []int64{4, 64}})
	for _, to := range []string{"float", "packed"} {
		out, err := restride("repack", at("in.gguf"), "--to", to, "--output", at(to+".safetensors"))
		require.NoError(t, err)
		assert.Contains(t, out, "metadata left out: llama.bytes\n")
		got := metadataOf(t, at(to+".safetensors"))
		for key, want := range map[string]string{"llama.block_count": "32", "tokenizer.ggml.tokens": `["<s>","\n\"é","▁a"]`, "general.name": "a model", "llama.none": `"NaN"`} {
			text, _ := got[key].Text()
			assert.Equal(t, want, text, key)
		}
	}
	_, err = restride("repack", at("packed.safetensors"), "--to", "matmulnbits", "--output", at("other.safetensors"))
	require.NoError(t, err)
	_, err = restride("repack", at("other.safetensors"), "--to", "gguf", "--output", at("back.gguf"))
	require.NoError(t, err)
	got := metadataOf(t, at("back.gguf"))
	for _, e := range ggufValues(t) {
		if e.Key == "general.file_type" {
			e.Value = checkpoint.ValueOf[uint32](2)
		}
		assert.Equal(t, e.Value, got[e.Key], e.Key)
	}
	assert.Len(t, got, len(ggufValues(t)))
}

// TestBugRepackRaggedGroups: packed files whose rows end in a smaller group could not be read
// back, or were with other groups, though their metadata says of how many columns these are.
func TestBugRepackRaggedGroups(t *testing.T) {
	for _, c := range []struct{ bits, k int64 }{{4, 80}, {2, 80}, {8, 80}, {4, 72}} { // of 72 three groups of 24 were made
		dir := t.TempDir()
		at := func(name string) string { return filepath.Join(dir, name) }
		require.NoError(t, os.Mkdir(at("in"), 0o700))
		shape := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, 16), uint64(c.k))
		writeFilled(t, at("in/model.safetensors"), map[string][]byte{"p.weight_shape": shape}, safetensor(t, "p.weight_packed", "I32", 16, c.k*c.bits/32),
			safetensor(t, "p.weight_scale", "F16", 16, 3), safetensor(t, "p.weight_shape", "I64", 2))
		patch(t, at("in/model.safetensors"), "p.weight_shape", func(b []byte) {
			binary.LittleEndian.PutUint64(b, 16)
			binary.LittleEndian.PutUint64(b[8:], uint64(c.k))
		})
		require.NoError(t, os.WriteFile(at("in/config.json"), fmt.Appendf(nil, `{"quantization_config": {"quant_method": "compressed-tensors", "format": "pack-quantized",
			"config_groups": {"group_0": {"weights": {"num_bits": %d, "type": "int", "symmetric": true, "strategy": "group", "group_size": 32}}}}}`, c.bits), 0o600))
		repacked := func(source, to, output string) string {
			out, err := restride("repack", at(source), "--to", to, "--verify", "--output", at(output))
			require.NoError(t, err)
			return out
		}
		repacked("in", "float32", "want.safetensors")
		for i, output := range []string{"folder", "file.safetensors"} {
			assert.Contains(t, repacked("in", "packed", output), "1 weights turned back, and the same")
			numbers := fmt.Sprintf("%d.safetensors", i)
			repacked(output, "float32", numbers)
			assert.Equal(t, tensorBytes(t, at("want.safetensors"), "p.weight"), tensorBytes(t, at(numbers), "p.weight"), "%v", c)
		}
	}
}

// TestBugRepackNumbersNotFinite: numbers that were NaN became zeros, and infinite ones the
// largest, without a word.
func TestBugRepackNumbersNotFinite(t *testing.T) {
	for _, c := range []struct {
		typ  string
		bits uint32
		what string
	}{
		{"F32", 0x7f800000, "infinite"}, {"F32", 0xff800000, "infinite"}, {"F32", 0x7f800001, "NaN"}, {"F32", 0xff7fffff, ""}, {"F32", 0x80000001, ""},
		{"F16", 0x7c00, "infinite"}, {"F16", 0xfe00, "NaN"}, {"F16", 0xfbff, ""}, {"F16", 0x8001, ""},
		{"BF16", 0xff80, "infinite"}, {"BF16", 0x7fc0, "NaN"}, {"BF16", 0xff7f, ""},
	} {
		for _, i := range []int{0, 3, 127} {
			dir := t.TempDir()
			at := func(name string) string { return filepath.Join(dir, name) }
			x := safetensor(t, "p.weight", c.typ, 2, 64)
			w, err := checkpoint.Create(at("in.safetensors"), checkpoint.Header{Format: checkpoint.Safetensors, Tensors: []*checkpoint.Tensor{x}}, "")
			require.NoError(t, err)
			b := make([]byte, x.Size())
			size := len(b) / 128
			copy(b[i*size:], binary.LittleEndian.AppendUint32(nil, c.bits)[:size])
			require.NoError(t, w.WriteAt(0, b, 0))
			require.NoError(t, w.Finish(0))
			require.NoError(t, w.Commit())
			_, err = restride("repack", at("in.safetensors"), "--from", "float", "--to", "q8_0", "--output", at("out.gguf"))
			if c.what == "" {
				require.NoError(t, err, "%s %#x", c.typ, c.bits)
				continue
			}
			require.ErrorContains(t, err, "p.weight: float: a number is "+c.what+"; Q8_0 has finite ones", "%s %#x", c.typ, c.bits)
			assert.NoFileExists(t, at("out.gguf"))
		}
	}
}

// TestBugRepackTensorsWithoutElements: a tensor without elements was taken for a matrix, and
// refused, with the whole file.
func TestBugRepackTensorsWithoutElements(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	writeTensors(t, at("in.safetensors"), safetensor(t, "a.weight", "F32", 4, 64), safetensor(t, "none.weight", "F32", 0, 64), safetensor(t, "empty.weight", "F32", 4, 0))
	out, err := restride("repack", at("in.safetensors"), "--from", "float", "--to", "q4_0", "--output", at("out.gguf"))
	require.NoError(t, err)
	assert.Contains(t, out, "1 weights from float to q4_0, 2 tensors as they were")
	got, _ := contents(t, at("out.gguf"))
	assert.Len(t, got, 3)
	for name, dims := range map[string][]int64{"none": {0, 64}, "empty": {4, 0}} { // codes, too
		writeTensors(t, at(name+".safetensors"), safetensor(t, "a.weight", "U8", dims...), safetensor(t, "b.weight", "U8", 4, 64))
		_, err = restride("repack", at(name+".safetensors"), "--from", "packed", "--bits", "4", "--to", "hqq", "--output", at(name+"-out.safetensors"))
		require.NoError(t, err)
	}
	writeTensors(t, at("wrong.safetensors"), safetensor(t, "a.weight", "U8", 4, 64), safetensor(t, "a.scales", "F16", 5, 2))
	_, err = restride("repack", at("wrong.safetensors"), "--from", "packed", "--bits", "4", "--to", "gptq", "--output", at("out.safetensors"))
	require.ErrorContains(t, err, `"a.scales" of shape [5,2] is no F16 of n | g, where k is 128, n is 4, s is 1`)
}

// TestBugRepackRowsWithinBytes: zero points that end within a byte were refused, by a name
// that no file has.
func TestBugRepackRowsWithinBytes(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	numbers := func(rows int64) []byte {
		writeTensors(t, at("in.safetensors"), safetensor(t, "p.weight", "U8", rows, 16), safetensor(t, "p.scales", "F16", rows, 2), safetensor(t, "p.zeros", "U8", rows, 1))
		_, err := restride("repack", at("in.safetensors"), "--from", "packed", "--bits", "2", "--to", "float32", "--output", at("out.safetensors"))
		require.NoError(t, err)
		return tensorBytes(t, at("out.safetensors"), "p.weight")
	}
	want := numbers(20) // whose zero points are whole bytes
	assert.Equal(t, want[:17*64*4], numbers(17))
}
