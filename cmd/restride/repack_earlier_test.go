package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/quant"
)

// interrupt leaves a partial file as an interruption does: with those tensors of an output
// that some returns bytes of.
func interrupt(t *testing.T, source, to, output string, some func(name string) []byte) {
	r := repack{to: to, output: output, shard: "1/1", part: part{1, 1}}
	var err error
	r.target, err = quant.Lookup(to)
	require.NoError(t, err)
	r.source, err = checkpoint.Open(source)
	require.NoError(t, err)
	defer r.source.Close()
	require.NoError(t, r.plan())
	id, err := r.identity()
	require.NoError(t, err)
	if r.folder() {
		require.NoError(t, os.MkdirAll(output, 0o700))
	}
	w, err := checkpoint.Create(r.files[0].path, r.files[0].header, id)
	require.NoError(t, err)
	for i, x := range w.Tensors {
		if b := some(x.Name); b != nil {
			require.NoError(t, w.WriteAt(i, b, 0))
			require.NoError(t, w.Finish(i))
		}
	}
	require.NoError(t, w.Close())
}

// patch changes the bytes of a tensor in a file.
func patch(t *testing.T, path, name string, do func([]byte)) {
	f, err := checkpoint.OpenFile(path)
	require.NoError(t, err)
	size := f.Lookup(name).Size()
	behind := int64(0) // bytes of the tensors from this one on, which end the file
	for i := len(f.Tensors) - 1; behind == 0 || f.Tensors[i+1].Name != name; i-- {
		behind += f.Tensors[i].Size()
	}
	require.NoError(t, f.Close())
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	do(file[int64(len(file))-behind:][:size])
	require.NoError(t, os.WriteFile(path, file, 0o600))
}

// damage turns a bit of a tensor in a file.
func damage(t *testing.T, path, name string, at int) {
	patch(t, path, name, func(b []byte) { b[at] ^= 4 })
}

// reported runs repack, and returns what it says of it as JSON.
func reported(t *testing.T, args ...string) repackReport {
	out, err := restride(append([]string{"repack", "--json"}, args...)...)
	require.NoError(t, err, out)
	var said repackReport
	require.NoError(t, json.Unmarshal([]byte(out), &said))
	return said
}

// TestBugVerifyOfEarlierFiles: --verify compares what an earlier run has written, byte by
// byte, and finds what a fresh run finds.
func TestBugVerifyOfEarlierFiles(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	layers(t, dir, 2, 1)
	file := at("out/model-00001-of-00001.safetensors")
	_, err := restride("repack", dir, "--to", "matmulnbits", "--output", at("out"))
	require.NoError(t, err)
	out, err := restride("repack", dir, "--to", "matmulnbits", "--output", at("out"))
	require.NoError(t, err)
	assert.Contains(t, out, "0 weights from gptq to matmulnbits, 0 tensors as they were, 0 B")
	assert.Contains(t, out, "0 tensors by 0 copies on cpu, 0 views")
	assert.Contains(t, out, "an earlier run has written 2 weights, 2 tensors as they were, 9.1 KiB in all: not compared")
	assert.NotContains(t, out, "same")
	out, err = restride("repack", dir, "--to", "matmulnbits", "--output", at("out"), "--verify")
	require.NoError(t, err)
	assert.Contains(t, out, "0 weights from gptq to matmulnbits, 0 tensors as they were, 0 B")
	assert.Contains(t, out, "0 tensors by 0 copies on cpu, 0 views")
	assert.Contains(t, out, "an earlier run has written 2 weights, 2 tensors as they were, 9.1 KiB in all: made again, and the same")
	assert.Contains(t, out, "2 weights turned back, and the same")

	for _, name := range []string{"l.0.B", "l.1.scales", "l.1.norm"} {
		damage(t, file, name, 17)
		_, err = restride("repack", dir, "--to", "matmulnbits", "--output", at("out"), "--verify")
		require.ErrorIs(t, err, quant.ErrDiffers, name)
		require.ErrorContains(t, err, `byte 17 of tensor "`+name+`"`)
		require.ErrorContains(t, err, filepath.Base(file))
		damage(t, file, name, 17)
	}

	// Zero points that config.json denies do not come back: with --verify alone it is seen.
	require.NoError(t, os.Mkdir(at("odd"), 0o700))
	require.NoError(t, os.WriteFile(at("odd/config.json"), []byte(gptqConfig), 0o600))
	writeTensors(t, at("odd/model.safetensors"), safetensor(t, "a.qweight", "I32", 16, 64), safetensor(t, "a.scales", "F16", 4, 64), safetensor(t, "a.qzeros", "I32", 4, 8))
	_, err = restride("repack", at("odd"), "--to", "packed", "--output", at("no"))
	require.NoError(t, err)
	_, err = restride("repack", at("odd"), "--to", "packed", "--output", at("no"), "--verify")
	require.ErrorIs(t, err, quant.ErrDiffers)
}

// TestBugHeaderOfEarlierFiles: a file whose header was changed is made anew, though it says
// that it is made from this source.
func TestBugHeaderOfEarlierFiles(t *testing.T) {
	dir := t.TempDir()
	layers(t, dir, 1, 1)
	output := filepath.Join(dir, "out")
	_, err := restride("repack", dir, "--to", "packed", "--output", output)
	require.NoError(t, err)
	path := filepath.Join(output, "model-00001-of-00001.safetensors")
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	changed := bytes.Replace(want, []byte(`"U8"`), []byte(`"I8"`), 1)
	require.NotEqual(t, want, changed)
	require.NoError(t, os.WriteFile(path, changed, 0o600))
	_, err = restride("repack", dir, "--to", "packed", "--output", output, "--verify")
	require.NoError(t, err)
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// TestBugVerifyOfEarlierTensors: --verify compares tensors of a partial file, and counts say
// what this run has written.
func TestBugVerifyOfEarlierTensors(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	layers(t, dir, 3, 1)
	_, err := restride("repack", dir, "--to", "packed", "--output", at("want.safetensors"))
	require.NoError(t, err)
	done := map[string]bool{"l.0.weight": true, "l.0.scales": true, "l.1.scales": true, "l.2.norm": true}
	right := func(name string) []byte {
		if done[name] {
			return tensorBytes(t, at("want.safetensors"), name)
		}
		return nil
	}
	for _, verify := range []bool{false, true} {
		output := at("out.safetensors")
		interrupt(t, dir, "packed", output, right)
		args := []string{dir, "--to", "packed", "--output", output}
		if verify {
			args = append(args, "--verify")
		}
		said := reported(t, args...)
		assert.Equal(t, 2, said.Copied)
		require.NotNil(t, said.Earlier)
		assert.Equal(t, 1, said.Earlier.Weights)
		assert.Equal(t, 1, said.Earlier.Copied)
		there := int64(4096 + 512 + 36)
		if verify {
			there += 512 // of a weight that is not all there: its other tensor is made, this one compared
		}
		assert.Equal(t, there, said.Earlier.Bytes)
		assert.Equal(t, 3*(4096+512+36)-there, said.Bytes)
		assert.Equal(t, []bool{true, false, false}, []bool{said.Weights[0].Earlier, said.Weights[1].Earlier, said.Weights[2].Earlier})
		for _, w := range said.Weights {
			assert.Equal(t, map[bool]string{true: "same"}[verify], w.Back)
		}
		want, err := os.ReadFile(at("want.safetensors"))
		require.NoError(t, err)
		got, err := os.ReadFile(output)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.NoError(t, os.Remove(output))
	}
	for name := range done {
		output := at("out.safetensors")
		interrupt(t, dir, "packed", output, func(n string) []byte {
			b := right(n)
			if n == name {
				b[5] ^= 1
			}
			return b
		})
		_, err := restride("repack", dir, "--to", "packed", "--output", output, "--verify")
		require.ErrorIs(t, err, quant.ErrDiffers)
		require.ErrorContains(t, err, `byte 5 of tensor "`+name+`"`)
		require.NoFileExists(t, output)
		require.NoFileExists(t, output+checkpoint.Partial)
	}
}

// TestVerifyClaims: of a weight that was not turned back nothing is said.
func TestVerifyClaims(t *testing.T) {
	r := &repack{verify: true, part: part{1, 1}, files: []*outFile{{weights: []*weight{{planned: &planned{}, turned: true}, {planned: &planned{}}, {planned: &planned{}}}}}}
	var out bytes.Buffer
	require.NoError(t, repackReporter{r, &out}.tellBack())
	require.Equal(t, "1 weights turned back, and the same\nnumbers of 3 weights not compared: a format has no second reading, or numbers are rounded\n", out.String())
}

// TestBugVerifyOfViews: weights whose tensors go from file to file are turned back, too.
func TestBugVerifyOfViews(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	writeTensors(t, at("a.safetensors"), safetensor(t, "w.weight", "U8", 64, 32), safetensor(t, "w.scales", "F16", 64, 2))
	out, err := restride("repack", at("a.safetensors"), "--from", "packed", "--bits", "4", "--to", "matmulnbits", "--output", at("b.safetensors"), "--verify")
	require.NoError(t, err)
	assert.Contains(t, out, "0 tensors by 0 copies on cpu, 2 views")
	assert.Contains(t, out, "1 weights turned back, and the same")
}

// TestReportsVerify: --verify of files from reports.
func TestReportsVerify(t *testing.T) {
	folder := "../../../shared/reports/repack"
	if _, err := os.Stat(folder); err != nil {
		t.Skip("there are no reports:", err)
	}
	dir := t.TempDir()
	v1, sp := filepath.Join(folder, "verify-says-same/v1"), filepath.Join(folder, "verify-pieces-g_idx/sp")
	_, err := restride("repack", v1, "--to", "packed", "--output", filepath.Join(dir, "v1"))
	require.NoError(t, err)
	_, err = restride("repack", v1, "--to", "packed", "--output", filepath.Join(dir, "v1"), "--verify")
	require.ErrorIs(t, err, quant.ErrDiffers)
	defer func(n int64) { batchBytes = n }(batchBytes)
	for i, n := range []int64{batchBytes, 1 << 18} {
		batchBytes = n
		output := filepath.Join(dir, []string{"whole.safetensors", "pieces.safetensors"}[i])
		said := reported(t, sp, "--to", "marlin", "--verify", "--output", output)
		require.Equal(t, "same", said.Weights[0].Back)
		require.Equal(t, i > 0, said.Weights[0].Pieces > 1)
	}
	whole, err := os.ReadFile(filepath.Join(dir, "whole.safetensors"))
	require.NoError(t, err)
	pieces, err := os.ReadFile(filepath.Join(dir, "pieces.safetensors"))
	require.NoError(t, err)
	require.Equal(t, whole, pieces)
}
