package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestInspect(t *testing.T) {
	dir := t.TempDir()
	layers(t, dir, 2, 2)
	out, err := restride("inspect", dir)
	require.NoError(t, err)
	assert.Contains(t, out, "model-00001-of-00002.safetensors: safetensors, 3 tensors, 4.5 KiB\n")
	assert.Contains(t, out, "2 weights of format gptq, as config.json says\n")
	assert.Regexp(t, `(?m)^l\.1 +\[64,128\] +4 +32 +no +4\.5 KiB +qweight I32\[16,64\], scales F16\[4,64\]$`, out)
	assert.Regexp(t, `(?m)^l\.0\.norm +F32 +\[9\] +36 B$`, out)
	assert.Regexp(t, `(?m)^marlin +2 of 2 +copies$`, out)
	assert.Contains(t, out, "nothing else; --all says why not")
	assert.NotContains(t, out, "tilepacked")
	out, err = restride("inspect", dir, "--all")
	require.NoError(t, err)
	assert.Regexp(t, `(?m)^tilepacked +0 of 2 +the weight has scales`, out)

	out, err = restride("inspect", dir, "--json")
	require.NoError(t, err)
	var said inspection
	require.NoError(t, json.Unmarshal([]byte(out), &said))
	require.Len(t, said.Weights, 2)
	w := said.Weights[0]
	assert.Equal(t, []int64{64, 128}, w.Shape)
	assert.Equal(t, becoming{Verdict: "copy", Moves: 2, Bytes: 4608, Memory: 9216}, w.Becomes["marlin"])
	assert.NotEmpty(t, w.Becomes["tilepacked"].Refused)
	assert.Len(t, said.Tensors, 2)
}

// TestInspectNeverGuesses: GPTQ's and AWQ's tensors have the same names, and there are
// shapes that both have.
func TestInspectNeverGuesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.safetensors")
	writeTensors(t, path, safetensor(t, "w.qweight", "I32", 64, 64), safetensor(t, "w.scales", "F16", 4, 512))
	out, err := restride("inspect", path)
	require.NoError(t, err)
	assert.Contains(t, out, "nothing says what format the weights are in")
	assert.Regexp(t, "may be of format .*awq", out)
	assert.Regexp(t, `(?m)^w\.qweight +I32 +\[64,64\] +16\.0 KiB$`, out)
	assert.NotContains(t, out, "marlin  ")
	out, err = restride("inspect", path, "--from", "awq")
	require.NoError(t, err)
	assert.Contains(t, out, "1 weights of format awq, as --from says")

	writeTensors(t, path, safetensor(t, "w.bias", "F32", 4))
	out, err = restride("inspect", path)
	require.NoError(t, err)
	assert.Contains(t, out, "no quantised weights")
	_, err = restride("inspect", path, "--from", "nothing")
	require.ErrorContains(t, err, "no format is named")
	_, err = restride("inspect", path+".gone")
	require.ErrorIs(t, err, os.ErrNotExist)
}
