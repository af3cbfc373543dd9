package main

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// complaint is what a command line that fails prints on the standard error.
func complaint(t *testing.T, args ...string) (text string, status int) {
	t.Helper()
	_, err := restride(args...)
	require.Error(t, err, "%q", args)
	var out bytes.Buffer
	complain(&out, err)
	return out.String(), statusOf(err)
}

func TestBugArgumentsUnnamed(t *testing.T) {
	for command, want := range map[string]string{
		"explain": "restride explain needs a MODEL.onnx: the file of an ONNX model\n    usage: restride explain MODEL.onnx [flags]\n    restride explain --help says more\n",
		"run":     "restride run needs a MODEL.onnx: ",
		"inspect": "restride inspect needs a SOURCE: a .safetensors or .gguf file",
		"repack":  "restride repack needs a SOURCE: a .safetensors or .gguf file",
		"conform": "restride conform needs a DIR: ",
	} {
		text, status := complaint(t, command)
		assert.True(t, strings.HasPrefix(text, want), text)
		assert.Equal(t, misused, status)
	}
	text, status := complaint(t, "repack", "x")
	assert.Contains(t, text, "restride repack needs --to FORMAT and --output FILE\n")
	assert.Equal(t, misused, status)
	text, _ = complaint(t, "run", "a.onnx", "b.onnx")
	assert.Contains(t, text, `restride run needs one MODEL.onnx, and "b.onnx" is one too many`)
	text, _ = complaint(t, "devices", "all")
	assert.Contains(t, text, `restride devices needs no argument, and "all" is one`)
}

// No command leaves the words to cobra, whose "accepts 1 arg(s)" names nothing.
func TestEveryCommandNamesItsArguments(t *testing.T) {
	for cmd := range every(newRoot()) {
		for n := range 4 {
			err := error(nil)
			if cmd.Args != nil {
				err = cmd.Args(cmd, make([]string, n))
			}
			if err != nil {
				assert.NotContains(t, err.Error(), "arg(s)", cmd.CommandPath())
				assert.NotContains(t, err.Error(), "unknown command", cmd.CommandPath())
			}
		}
		_, operands, found := strings.Cut(cmd.Use, " ")
		if found && cmd.RunE != nil && !strings.HasPrefix(operands, "[") {
			require.NotNil(t, cmd.Args, cmd.CommandPath())
			assert.ErrorContains(t, cmd.Args(cmd, nil), "needs a "+strings.TrimSuffix(strings.Fields(operands)[0], "..."), cmd.CommandPath())
		}
	}
}

func TestBugNothingSuggested(t *testing.T) {
	at := filepath.Join(t.TempDir(), "x")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"explian", "m.onnx"}, `restride has no command "explian" (did you mean "explain"?)`},
		{[]string{"rnu"}, `(did you mean "run"?)`},
		{[]string{"convert"}, `(did you mean "repack"?)`},
		{[]string{"benchmark"}, `(did you mean "bench"?)`},
		{[]string{"help", "inspct"}, `restride has no command "inspct" (did you mean "inspect"?)`},
		{[]string{"completion", "bsh"}, `no script for the shell "bsh" (did you mean "bash"?): there is one of bash, zsh, fish, powershell`},
		{[]string{"quux"}, "restride has no command \"quux\"\n    restride --help lists the commands\n"},
		{[]string{"run", attention, "--devise", "cpu"}, "restride run has no flag --devise (did you mean --device?)\n    usage: restride run MODEL.onnx [flags]\n"},
		{[]string{"repack", "x", "--out", at}, "(did you mean --output?)"},
		{[]string{"run", attention, "--quux"}, "restride run has no flag --quux\n"},
		{[]string{"run", attention, "-device"}, "restride run has no flag -device; those of more letters begin with two dashes"},
		{[]string{"repack", "x", "--to", "marln", "--output", at}, `restride: --to: no format is named "marln" (did you mean "marlin"?); there are gptq, `},
		{[]string{"repack", "x", "--from", "gtpq", "--to", "marlin", "--output", at}, `--from: no format is named "gtpq" (did you mean "gptq"?)`},
		{[]string{"inspect", "x", "--from", "ggfu"}, `--from: no format is named "ggfu" (did you mean "gguf"?)`},
		{[]string{"run", attention, "--device", "opnecl:1"}, `(did you mean "opencl:1"?)`},
		{[]string{"verify", "--device", "cdua"}, `(did you mean "cuda"?)`},
		{[]string{"bench", "--device", "autp"}, `(did you mean "auto"?)`},
		{[]string{"run", attention, "--seed", "x"}, `--seed "x": want a whole number of at least 0`},
		{[]string{"run", attention, "--timeout", "x"}, `--timeout "x": want a time, as `},
		{[]string{"run", attention, "--max-memory", "x"}, `--max-memory: "x" is no size: want `},
		{[]string{"repack", "x", "--to", "marlin", "--output", at, "--shard", "3/2"}, `--shard: "3/2": want a part`},
		{[]string{"bench", "--from", at, "--device", "cpu"}, "--device with --from: "},
	} {
		text, _ := complaint(t, c.args...)
		assert.Contains(t, text, c.want, "%q", c.args)
	}
}

// Of each flag a wrong letter is found.
func TestFlagsSuggested(t *testing.T) {
	for cmd := range every(newRoot()) {
		for _, name := range flagNames(cmd) {
			if len(name) > 2 {
				typo := name[:1] + "~" + name[2:]
				_, err := restride(append(strings.Fields(cmd.CommandPath())[1:], "--"+typo)...)
				assert.ErrorContains(t, err, "did you mean --", cmd.CommandPath())
				assert.ErrorContains(t, err, "has no flag --"+typo)
			}
		}
	}
}

// TestExitStatus: 2 where the command line is wrong, and 1 where what it asks for fails.
func TestExitStatus(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	for _, c := range []struct {
		status int
		args   []string
	}{
		{misused, []string{"quux"}},
		{misused, []string{"help", "quux"}},
		{misused, []string{"run"}},
		{misused, []string{"devices", "x"}},
		{misused, []string{"run", none, "--quux"}},
		{misused, []string{"run", none, "--seed", "-1"}},
		{misused, []string{"run", none, "--seed"}},
		{misused, []string{"run", none, "--timeout", "-1s"}},
		{misused, []string{"run", attention, "--dim", "x"}},
		{misused, []string{"run", attention, "--dim", "x=1"}},
		{misused, []string{"run", attention, "--shape", "x"}},
		{misused, []string{"run", attention, "--shape", "z=1"}},
		{misused, []string{"run", attention, "--input", "z=1"}},
		{misused, []string{"explain", attention, "--static", "--input", "x=" + none}},
		{misused, []string{"repack", none}},
		{misused, []string{"repack", none, "--to", "x", "--output", none}},
		{misused, []string{"repack", none, "--to", "packed", "--output", none, "--only", "("}},
		{misused, []string{"repack", none, "--to", "packed", "--output", none, "--shard", "0/0"}},
		{misused, []string{"conform", none, "--run", "("}},
		{misused, []string{"verify", "--cases", "0"}},
		{misused, []string{"verify", "--case", "x"}},
		{misused, []string{"bench", "--filter", "("}},
		{misused, []string{"bench", "--filter", "quux"}},
		{misused, []string{"bench", "--size", "x"}},
		{misused, []string{"bench", "--case", "x"}},
		{misused, []string{"bench", "--peer", "=x"}},
		{misused, []string{"bench", "--time", "-1s"}},
		{misused, []string{"bench", "--from", none, "--json", none}},
		{failed, []string{"run", none}},
		{failed, []string{"run", attention, "--input", "x=" + none}},
		{failed, []string{"run", attention, "--device", "cpu:9"}},
		{failed, []string{"repack", none, "--to", "packed", "--output", none}},
		{failed, []string{"inspect", none}},
		{failed, []string{"conform", none}},
		{failed, []string{"bench", "--from", none}},
		{failed, []string{"bench", "--cases", none}},
	} {
		_, status := complaint(t, c.args...)
		assert.Equal(t, c.status, status, "%q", c.args)
	}
	assert.Equal(t, failed, statusOf(errCounted))
	assert.Equal(t, failed, statusOf(errors.New("x")))
}

func flagNames(cmd *cobra.Command) (names []string) {
	for line := range strings.Lines(cmd.Flags().FlagUsages()) {
		if _, rest, found := strings.Cut(line, "--"); found {
			names = append(names, strings.FieldsFunc(rest, func(r rune) bool { return r == ' ' || r == '=' || r == '[' })[0])
		}
	}
	return names
}
