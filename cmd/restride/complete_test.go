package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// completed asks as a shell's script does.
func completed(t *testing.T, words ...string) (all []string, directive cobra.ShellCompDirective) {
	t.Helper()
	out, err := restride(append([]string{cobra.ShellCompRequestCmd}, words...)...)
	require.NoError(t, err, out)
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if n, found := strings.CutPrefix(line, ":"); found {
			_, err := fmt.Sscan(n, &directive)
			require.NoError(t, err)
			if directive&cobra.ShellCompDirectiveFilterFileExt == 0 { // shells keep those that fit
				all = slices.DeleteFunc(all, func(one string) bool { return !strings.HasPrefix(one, words[len(words)-1]) })
			}
			return all, directive
		}
		word, _, _ := strings.Cut(line, "\t")
		all = append(all, word)
	}
	t.Fatalf("no directive: %s", out)
	return nil, 0
}

func TestCompletion(t *testing.T) {
	const none, noSpace, ext, dirs = cobra.ShellCompDirectiveNoFileComp, cobra.ShellCompDirectiveNoSpace, cobra.ShellCompDirectiveFilterFileExt, cobra.ShellCompDirectiveFilterDirs
	for _, c := range []struct {
		words string // the last is completed
		want  []string
		how   cobra.ShellCompDirective
	}{
		{"rep", []string{"repack"}, none},
		{"run ", []string{"onnx"}, ext},
		{"explain ", []string{"onnx"}, ext},
		{"inspect ", []string{"safetensors", "gguf", "json"}, ext},
		{"repack ", []string{"safetensors", "gguf", "json"}, ext},
		{"repack a.gguf ", nil, none},
		{"conform ", nil, dirs},
		{"devices ", nil, none},
		{"help ins", []string{"inspect"}, none},
		{"completion ", []string{"bash", "zsh", "fish", "powershell"}, none},
		{"repack --to gptq", []string{"gptq", "gptq-v1"}, none},
		{"inspect --from marl", []string{"marlin"}, none},
		{"run --device c", []string{"cpu"}, none},
		{"verify --device c", []string{"cpu"}, none},
		{"bench --device cpu,c", []string{"cpu,cpu"}, none | noSpace},
		{"bench --peer numpy,t", []string{"numpy,torch"}, none | noSpace},
		{"bench --filter c-heads/1", []string{"c-heads/16", "c-heads/128"}, none},
		{"bench --size sw", []string{"sweep"}, none},
		{"bench --from ", []string{"json"}, ext},
		{"bench --json ", []string{"json"}, ext},
		{"bench --html ", []string{"html"}, ext},
		{"run --output ", nil, dirs},
		{"repack --output ", []string{"safetensors", "gguf"}, ext},
		{"repack --shard ", nil, none},
		{"explain --dot ", nil, cobra.ShellCompDirectiveDefault},
		{"run " + attention + " --dim s", []string{"sequence="}, none | noSpace},
		{"run " + attention + " --dim ", []string{"batch=", "sequence="}, none | noSpace},
		{"run --dim ", nil, none | noSpace},
		{"run no.onnx --dim ", nil, none | noSpace},
		{"run " + attention + " --input ", []string{"x="}, none | noSpace},
		{"run " + attention + " --input x=", nil, cobra.ShellCompDirectiveDefault},
		{"repack --ver", []string{"--verify"}, none},
	} {
		all, how := completed(t, strings.Split(c.words, " ")...)
		if c.words == "run --device c" || c.words == "verify --device c" || c.words == "bench --device cpu,c" {
			assert.Contains(t, all, c.want[0], c.words) // and cuda's, on a machine that has one
		} else {
			assert.Equal(t, strings.Join(c.want, " "), strings.Join(all, " "), c.words)
		}
		assert.Equal(t, c.how, how, c.words)
	}
}

// Each flag that has a completer exists, and each that names a file or a device has one.
func TestEveryFlagIsCompleted(t *testing.T) {
	root, used := newRoot(), map[string]bool{}
	for cmd := range every(root) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			for _, name := range []string{cmd.Name() + "/" + f.Name, f.Name} {
				if flagCompleters[name] != nil {
					used[name] = true
					return
				}
			}
			kind, _ := pflag.UnquoteUsage(f)
			assert.NotContains(t, []string{"FILE", "FOLDER", "DEVICE", "DEVICES", "FORMAT"}, kind, "%s --%s", cmd.CommandPath(), f.Name)
		})
	}
	for name := range flagCompleters {
		assert.True(t, used[name], name)
	}
}

func TestCompletionScripts(t *testing.T) {
	for _, s := range shells {
		out, err := restride("completion", s.name)
		require.NoError(t, err)
		assert.Contains(t, out, cobra.ShellCompRequestCmd, s.name)
	}
}
