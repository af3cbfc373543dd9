package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRepackVerify: weights are turned back; a zero point that config.json denies is found,
// and without --verify named; what cannot be turned back is said.
func TestRepackVerify(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	layers(t, dir, 2, 1)
	out, err := restride("repack", dir, "--to", "packed", "--verify", "--output", at("out.safetensors"))
	require.NoError(t, err)
	assert.Contains(t, out, "2 weights turned back, and the same")

	require.NoError(t, os.Mkdir(at("other"), 0o700))
	require.NoError(t, os.WriteFile(at("other/config.json"), []byte(gptqConfig), 0o600))
	writeTensors(t, at("other/model.safetensors"), safetensor(t, "a.qweight", "I32", 16, 64), safetensor(t, "a.scales", "F16", 4, 64), safetensor(t, "a.qzeros", "I32", 4, 8))
	_, err = restride("repack", at("other"), "--to", "packed", "--verify", "--output", at("no.safetensors"))
	require.ErrorContains(t, err, `tensor "a.qzeros": the way back gives other bytes`)
	assert.NoFileExists(t, at("no.safetensors"))
	assert.NoFileExists(t, at("no.safetensors.partial"))
	out, err = restride("repack", at("other"), "--to", "packed", "--output", at("no.safetensors"))
	require.NoError(t, err)
	assert.Contains(t, out, "zero points that are not used, as the weights are described as symmetric, of: a")
}

// TestRepackDryRun: all is said, and nothing is made.
func TestRepackDryRun(t *testing.T) {
	dir := t.TempDir()
	layers(t, dir, 3, 2)
	output := filepath.Join(dir, "out")
	out, err := restride("repack", dir, "--to", "marlin", "--dry-run", "--verify", "--output", output)
	require.NoError(t, err)
	assert.Regexp(t, `(?m)^l\.1 +I32\[8,128\] F16\[4,64\] +copy +2 +4\.5 KiB +9\.0 KiB +1$`, out)
	assert.Contains(t, out, "model-00002-of-00002.safetensors: ")
	assert.Contains(t, out, "3 weights from gptq to marlin, 3 tensors as they are, 13.6 KiB; at most ")
	assert.Contains(t, out, "3 weights can be turned back")
	assert.NoDirExists(t, output)

	out, err = restride("repack", dir, "--to", "marlin", "--dry-run", "--json", "--output", output)
	require.NoError(t, err)
	var said repackReport
	require.NoError(t, json.Unmarshal([]byte(out), &said))
	assert.True(t, said.DryRun)
	require.Len(t, said.Weights, 3)
	assert.Equal(t, weightReport{Name: "l.0", Tensors: []string{"l.0.qweight", "l.0.scales"}, Verdict: "copy", Moves: 2, Bytes: 4608, Memory: 9216, Pieces: 1}, said.Weights[0])
	assert.Equal(t, 3, said.Copied)
	assert.NoDirExists(t, output)

	out, err = restride("repack", dir, "--to", "marlin", "--json", "--output", output)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal([]byte(out), &said))
	assert.False(t, said.DryRun)
	assert.Positive(t, said.Seconds)
	assert.DirExists(t, output)
}

// TestRepackViews: what lies the same goes from file to file.
func TestRepackViews(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	writeTensors(t, at("a.safetensors"), safetensor(t, "w.weight", "U8", 64, 32), safetensor(t, "w.scales", "F16", 64, 2))
	out, err := restride("repack", at("a.safetensors"), "--from", "packed", "--bits", "4", "--to", "matmulnbits", "--output", at("b.safetensors"))
	require.NoError(t, err)
	assert.Contains(t, out, "0 tensors by 0 copies on cpu, 2 views")
	assert.Equal(t, tensorBytes(t, at("a.safetensors"), "w.weight"), tensorBytes(t, at("b.safetensors"), "w.B"))
	// The file says what it has.
	_, err = restride("repack", at("b.safetensors"), "--to", "packed", "--output", at("c.safetensors"))
	require.NoError(t, err)
	assert.Equal(t, tensorBytes(t, at("a.safetensors"), "w.weight"), tensorBytes(t, at("c.safetensors"), "w.weight"))
}

// TestRepackOnly: where weights of the source's format are left, nothing says that they are
// of the other.
func TestRepackOnly(t *testing.T) {
	dir := t.TempDir()
	layers(t, dir, 3, 1)
	output := filepath.Join(dir, "out")
	out, err := restride("repack", dir, "--to", "packed", "--only", "^l.1", "--output", output)
	require.NoError(t, err)
	assert.Contains(t, out, "2 weights are of format gptq as before")
	out, err = restride("inspect", output)
	require.NoError(t, err)
	assert.Contains(t, out, "2 weights of format gptq, as config.json says")
	out, err = restride("inspect", output, "--from", "packed")
	require.NoError(t, err)
	assert.Contains(t, out, "1 weights of format packed, as --from says")
}
