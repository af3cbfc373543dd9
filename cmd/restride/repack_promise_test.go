package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/checkpoint"
)

// promised returns the formats that inspect says all weights can become.
func promised(t *testing.T, source string, flags ...string) (all []string) {
	out, err := restride(append([]string{"inspect", source, "--json"}, flags...)...)
	require.NoError(t, err)
	var said inspection
	require.NoError(t, json.Unmarshal([]byte(out), &said))
	require.NotEmpty(t, said.Weights)
	for to := range said.Weights[0].Becomes {
		can := true
		for _, w := range said.Weights {
			can = can && w.Becomes[to].Refused == ""
		}
		if can {
			all = append(all, to)
		}
	}
	return all
}

// alone are the files of a folder, all of them.
func alone(t *testing.T, dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestBugConfigThatIsNotAnObject: null made a panic once files were written, other values an
// error then, without the file's name.
func TestBugConfigThatIsNotAnObject(t *testing.T) {
	for _, text := range []string{"null", "[]", `"x"`, "3", "true"} {
		dir := t.TempDir()
		layers(t, dir, 1, 1)
		path := filepath.Join(dir, "config.json")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		before := alone(t, dir)
		for _, args := range [][]string{
			{"repack", dir, "--to", "packed", "--output", filepath.Join(dir, "out")}, {"inspect", dir}, {"inspect", dir, "--from", "gptq", "--bits", "4"},
			{"repack", dir, "--from", "gptq", "--bits", "4", "--to", "packed", "--output", filepath.Join(dir, "out.safetensors")},
		} {
			_, err := restride(args...)
			require.ErrorContains(t, err, path+" is not an object", "%s: %q", text, args)
		}
		assert.Equal(t, before, alone(t, dir))
	}
	for text, rule := range map[string]string{
		`{"quantization_config": []}`: "cannot unmarshal", `{"quantization_config": {"quant_method": "marlin", "bits": 4, "group_size": "x"}}`: "cannot unmarshal",
		`{"quantization_config": {"quant_method": "marlin", "bits": 0}}`: "bits is 0",
	} {
		dir := t.TempDir()
		layers(t, dir, 1, 1)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(text), 0o600))
		_, err := restride("repack", dir, "--from", "marlin", "--bits", "4", "--to", "packed", "--output", filepath.Join(dir, "out"))
		require.ErrorContains(t, err, rule, text)
		require.ErrorContains(t, err, filepath.Join(dir, "config.json"), text)
		assert.NoDirExists(t, filepath.Join(dir, "out"))
	}
}

// TestBugFlagsThatContradict: --from and --bits that contradict the file were believed, or not
// used, without a word.
func TestBugFlagsThatContradict(t *testing.T) {
	dir := t.TempDir()
	layers(t, dir, 1, 1)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "gguf"), 0o700))
	writeBlocks(t, filepath.Join(dir, "gguf", "m.gguf"), "Q4_0")
	writeTensors(t, filepath.Join(dir, "gguf", "t.safetensors"), safetensor(t, "w.weight", "I8", 64, 8), safetensor(t, "w.weights_scaling_factor", "F16", 1, 16))
	for _, c := range []struct {
		rule, source string
		flags        []string
	}{
		{"--from marlin: the codes in tensor", dir, []string{"--from", "marlin"}},
		{"--bits 8: l.0 has codes of 4 bits", dir, []string{"--bits", "8"}},
		{"--bits 8: l.0 has codes of 4 bits", dir, []string{"--from", "gptq", "--bits", "8"}},
		{"--group 64: l.0 has groups of 32", dir, []string{"--group", "64"}},
		{"--bits 0: codes have 1 or more", dir, []string{"--bits", "0"}},
		{"--bits -4: codes have 1 or more", dir, []string{"--bits", "-4"}},
		{"--group 0", dir, []string{"--group", "0"}},
		{"has codes of 4 bits, and 8 are said", filepath.Join(dir, "gguf", "m.gguf"), []string{"--bits", "8"}},
		{"codes of 3 bits; it has [4]", filepath.Join(dir, "gguf", "t.safetensors"), []string{"--from", "trtllm-w4a16", "--bits", "3"}},
		{"it can be written, not read", filepath.Join(dir, "gguf", "t.safetensors"), []string{"--from", "tiles128x4"}},
	} {
		for _, args := range [][]string{{"inspect", c.source}, {"repack", c.source, "--to", "packed", "--output", filepath.Join(dir, "out.safetensors")}} {
			_, err := restride(append(args, c.flags...)...)
			require.ErrorContains(t, err, c.rule, "%q", c.flags)
		}
	}
	_, err := restride("inspect", dir, "--from", "gptq-v1", "--bits", "4", "--group", "32") // as config.json says
	require.NoError(t, err)
	_, err = restride("repack", filepath.Join(dir, "gguf", "m.gguf"), "--to", "hqq", "--bits", "4", "--group", "32", "--output", filepath.Join(dir, "out.safetensors"))
	require.Error(t, err)
	assert.NoFileExists(t, filepath.Join(dir, "out.safetensors"))
}

// TestBugPromisesOfTheWholeFile: what the file has beside weights, names that two tensors
// would have, and what could not be read again were found when files were written, or never.
func TestBugPromisesOfTheWholeFile(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	codes := []*checkpoint.Tensor{safetensor(t, "w.weight", "U8", 64, 64), safetensor(t, "w.scales", "F16", 64, 4)}
	for rule, c := range map[string]struct {
		beside *checkpoint.Tensor
		to     string
	}{
		`type "BOOL" is not known`: {safetensor(t, "mask", "BOOL", 8), "gguf"}, "has 5 axes; at most 4": {safetensor(t, "x", "F32", 1, 1, 1, 1, 2), "gguf"},
		`two tensors are named "w.B"`: {safetensor(t, "w.B", "F32", 8), "matmulnbits"},
	} {
		writeTensors(t, at("in.safetensors"), append(codes, c.beside)...)
		flags := []string{"--from", "packed", "--bits", "4"}
		assert.NotContains(t, promised(t, at("in.safetensors"), flags...), c.to)
		for _, output := range []string{"out", "out." + map[bool]string{true: "gguf", false: "safetensors"}[c.to == "gguf"]} {
			_, err := restride(append([]string{"repack", at("in.safetensors"), "--to", c.to, "--output", at(output)}, flags...)...)
			require.ErrorContains(t, err, rule)
			assert.Equal(t, []string{"in.safetensors"}, alone(t, dir))
		}
	}
	// Tensors beside weights look like weights of the target's: records say which are none.
	writeTensors(t, at("in.safetensors"), safetensor(t, "a.W_q", "I32", 1, 32), safetensor(t, "b.W_q", "U8", 1, 8192))
	require.NoError(t, os.Mkdir(at("in"), 0o700))
	require.NoError(t, os.Rename(at("in.safetensors"), at("in/model.safetensors")))
	require.NoError(t, os.WriteFile(at("in/config.json"), []byte(`{"quantization_config":{"bits":3,"quant_method":"hqq"}}`), 0o600))
	require.Contains(t, promised(t, at("in")), "packed")
	_, err := restride("repack", at("in"), "--to", "packed", "--output", at("out"))
	require.NoError(t, err)
	out, err := restride("inspect", at("out"))
	require.NoError(t, err)
	assert.Contains(t, out, "1 weights of format packed")
	// What is written alone can be inspected.
	writeTensors(t, at("s.safetensors"), safetensor(t, "w.weight_scale", "U8", 8, 8))
	_, err = restride("repack", at("s.safetensors"), "--from", "scales", "--to", "tiles128x4", "--output", at("tiles.safetensors"))
	require.NoError(t, err)
	out, err = restride("inspect", at("tiles.safetensors"))
	require.NoError(t, err)
	assert.Contains(t, out, "it can be written, not read")
}

// TestBugTwoOfANameInAFolder: two files of a folder had tensors of the same name, so that nothing
// could open it.
func TestBugTwoOfANameInAFolder(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.Mkdir(at("in"), 0o700))
	writeTensors(t, at("in/m-1.safetensors"), safetensor(t, "w.weight", "U8", 8, 64), safetensor(t, "w.scales", "F16", 8, 8))
	writeTensors(t, at("in/m-2.safetensors"), safetensor(t, "w.B", "F32", 8))
	require.NoError(t, os.WriteFile(at("in/model.safetensors.index.json"), []byte(`{"weight_map":{"w.weight":"m-1.safetensors","w.scales":"m-1.safetensors","w.B":"m-2.safetensors"}}`), 0o600))
	assert.NotContains(t, promised(t, at("in"), "--from", "packed", "--bits", "4"), "matmulnbits")
	for _, output := range []string{"out", "out.safetensors"} {
		_, err := restride("repack", at("in"), "--from", "packed", "--bits", "4", "--to", "matmulnbits", "--output", at(output))
		require.ErrorContains(t, err, `two tensors are named "w.B"`)
		assert.Equal(t, []string{"in"}, alone(t, dir))
	}
}

// TestBugFilesAfterErrors: what weights are refused for while they are converted left files.
func TestBugFilesAfterErrors(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	infinite := []byte{0, 0, 0x80, 0x7f}
	require.NoError(t, os.Mkdir(at("in"), 0o700))
	writeFilled(t, at("in/m-1.safetensors"), map[string][]byte{"a.weight": make([]byte, 512)}, safetensor(t, "a.weight", "F32", 2, 64))
	writeFilled(t, at("in/m-2.safetensors"), map[string][]byte{"b.weight": append(infinite, make([]byte, 508)...)}, safetensor(t, "b.weight", "F32", 2, 64))
	require.NoError(t, os.WriteFile(at("in/model.safetensors.index.json"), []byte(`{"weight_map":{"a.weight":"m-1.safetensors","b.weight":"m-2.safetensors"}}`), 0o600))
	for _, output := range []string{"out", "out.gguf"} {
		_, err := restride("repack", at("in"), "--from", "float", "--to", "q8_0", "--output", at(output))
		require.ErrorContains(t, err, "a number is infinite", output)
		assert.Equal(t, []string{"in"}, alone(t, dir), output)
	}
	// A folder that was there stays, with what is in it.
	require.NoError(t, os.Mkdir(at("out"), 0o700))
	require.NoError(t, os.WriteFile(at("out/other"), nil, 0o600))
	_, err := restride("repack", at("in"), "--from", "float", "--to", "q8_0", "--output", at("out"))
	require.Error(t, err)
	assert.Equal(t, []string{"other"}, alone(t, at("out")))
}

// TestBugMetadataThatDiffers: of several files the first one's metadata counted for all.
func TestBugMetadataThatDiffers(t *testing.T) {
	dir := t.TempDir()
	path := func(i string) string { return filepath.Join(dir, "m-"+i+".safetensors") }
	for i, bits := range map[string]string{"1": "4", "2": "8"} {
		h := checkpoint.Header{
			Format: checkpoint.Safetensors, Tensors: []*checkpoint.Tensor{safetensor(t, i+".weight", "U8", 4, 4)},
			Metadata: []checkpoint.Entry{{Key: configKey, Value: checkpoint.ValueOf(`{"quant_method":"packed","bits":` + bits + `}`)}},
		}
		w, err := checkpoint.Create(path(i), h, "")
		require.NoError(t, err)
		require.NoError(t, w.WriteAt(0, make([]byte, 16), 0))
		require.NoError(t, w.Finish(0))
		require.NoError(t, w.Commit())
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "model.safetensors.index.json"), []byte(`{"weight_map":{"1.weight":"m-1.safetensors","2.weight":"m-2.safetensors"}}`), 0o600))
	_, err := restride("inspect", dir)
	require.ErrorContains(t, err, "have other metadata quantization_config")
}

// TestPromiseReports holds the command against public reports, where these are at hand.
func TestPromiseReports(t *testing.T) {
	const reports = "../../../shared/reports"
	if _, err := os.Stat(reports); err != nil {
		t.Skip("there are no reports in ", reports)
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(reports, "repack", name) }
	for name, c := range map[string]struct {
		rule string
		args []string
	}{
		"config-null":  {"config.json is not an object", []string{at("config-null"), "--to", "packed"}},
		"config-array": {"config.json is not an object", []string{at("config-array"), "--to", "packed"}},
		"mach":         {"N is 1; a multiple of 128", []string{at("mach/in.safetensors"), "--from", "machete", "--to", "float16"}},
		"trt":          {"K is 32; a multiple of 64", []string{at("trt/in.safetensors"), "--from", "trtllm-w4a16", "--to", "packed"}},
		"trt, bits":    {"codes of 3 bits", []string{at("trt/in.safetensors"), "--from", "trtllm-w4a16", "--to", "packed", "--bits", "3"}},
		"panic":        {"config.json", []string{at("panic_repack-1/in"), "--to", "bfloat16"}},
		"promised":     {"", []string{at("inspect_promised-1/in"), "--from", "marlin", "--to", "gptq-v1"}},
		"folder":       {"config.json is not an object", []string{at("error_but_file_in_folder-1/in"), "--from", "packed", "--bits", "4", "--to", "trtllm-w4a16"}},
	} {
		_, err := restride(append([]string{"repack", "--output", filepath.Join(dir, "out")}, c.args...)...)
		require.ErrorContains(t, err, c.rule, name)
		assert.Empty(t, alone(t, dir), name)
	}
	_, err := restride("repack", at("output_does_not_inspect-1/in"), "--to", "packed", "--output", filepath.Join(dir, "read"))
	require.NoError(t, err)
	_, err = restride("inspect", filepath.Join(dir, "read"))
	require.NoError(t, err)
}
