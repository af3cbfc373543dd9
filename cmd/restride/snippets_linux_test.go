package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/readme"
)

// runElsewhere are the snippets of shell that this package cannot run, by their first words, and
// what does, or why nothing can.
var runElsewhere = map[string]string{
	"apt install libegl-dev":               "make gogl",
	"tar xzf gpu-bundle.tar.gz":            "make gpu-bundle-test",
	"go run ./examples/gpt":                "its own test runs the program",
	"go get github.com/restride/restride":  "no version is tagged",
	"pip install onnxruntime":              "adapters/onnxruntime/setup.sh",
	"go run ./run -shape x=1x3x48x320 ../": "adapters/onnxruntime's test of the command",
	"go mod edit":                          "the adapters' tests of their READMEs",
}

// TestDocumentedShell runs the commands of the pages as they are written, on small files of the
// names that they use. Of restride bench, which measures for minutes, only the flags are parsed.
func TestDocumentedShell(t *testing.T) {
	all := readme.Snippets(t, "../..")
	for i, s := range all {
		script, output := s.Text, ""
		switch s.Language {
		default:
			continue
		case "sh":
			if i+1 < len(all) && strings.HasPrefix(script, "go run ./cmd/restride run") {
				output = all[i+1].Text
			}
		case "yaml":
			script = regexp.MustCompile(`args: \["(.*)"\]`).FindStringSubmatch(script)[1]
		case "console":
			script, output, _ = strings.Cut(strings.TrimPrefix(script, "$ "), "\n")
		}
		t.Run(s.Page, func(t *testing.T) {
			for words := range runElsewhere {
				if strings.HasPrefix(script, words) {
					t.Skip("not run here: ", runElsewhere[words])
				}
			}
			out := runShell(t, script)
			for _, line := range strings.Split(output, "\n") {
				assert.Contains(t, out, line, "line %d", s.Line)
			}
		})
	}
}

// runShell runs lines of shell in a folder of the files that they read.
func runShell(t *testing.T, script string) string {
	dir := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	wrapper := `#!/bin/bash
case $1 in
bench) set -- "$@" --help ;; # the flags are parsed first
run | explain) case " $* " in *" --device "* | *" --target "*) ;; *) set -- "$@" --device cpu ;; esac ;;
esac
exec '` + self + `' "$@"
`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "restride"), []byte(wrapper), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "srun"), []byte("#!/bin/sh\nexec \"$@\"\n"), 0o700))
	writeDocumented(t, dir)
	script = strings.NewReplacer("go run ./cmd/restride", "restride", "/models/", "").Replace(script)
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), asCommand+"=1", "PATH="+dir+":"+os.Getenv("PATH"), "SLURM_ARRAY_TASK_ID=1", "JOB_COMPLETION_INDEX=0")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s\n%s", script, out)
	return string(out)
}

// writeDocumented writes files of the names in the pages.
func writeDocumented(t *testing.T, dir string) {
	at := func(name ...string) string { return filepath.Join(append([]string{dir}, name...)...) }
	for _, name := range []string{"Qwen-GPTQ", "Llama-bf16", "llama-gptq", "examples/attention"} {
		require.NoError(t, os.MkdirAll(at(name), 0o700))
	}
	layers(t, at("Qwen-GPTQ"), 1, 1)
	require.NoError(t, os.WriteFile(at("Qwen-GPTQ", "config.json"), []byte(gptqConfig), 0o600))
	layers(t, at("llama-gptq"), 8, 8)
	writeBlocks(t, at("model.gguf"), "Q4_0")
	writeTensors(t, at("experts.safetensors"), safetensor(t, "w_blocks", "U8", 2, 8, 2, 16), safetensor(t, "w_scales", "U8", 2, 8, 2))
	writeTensors(t, at("w.safetensors"), safetensor(t, "q_proj", "F32", 16, 64), safetensor(t, "norm", "F32", 64))
	finite := map[string][]byte{"q_proj.weight": make([]byte, 2*64*64)}
	writeFilled(t, at("Llama-bf16", "model.safetensors"), finite, safetensor(t, "q_proj.weight", "BF16", 64, 64))
	text, err := os.ReadFile(attention)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(at(attention[len("../../"):]), text, 0o600))
	text, err = os.ReadFile(convolution(t))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(at("model.onnx"), text, 0o600))
}
