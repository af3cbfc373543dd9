package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCompletionInBash has a bash source the script and complete as Tab does.
func TestCompletionInBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	script, err := restride("completion", "bash")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "script"), []byte(script), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.onnx"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.txt"), nil, 0o600))
	// Without the package bash-completion, what scripts call of it.
	const program = `
_init_completion() { COMPREPLY=(); cur=${COMP_WORDS[COMP_CWORD]}; prev=${COMP_WORDS[COMP_CWORD-1]}; words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; }
_get_comp_words_by_ref() { _init_completion; }
_filedir() { COMPREPLY=($(compgen -f -- "$cur")); }
compopt() { :; }
restride() { RUN "$@"; }
source ./script
complete_line() { COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}; COMP_TYPE=9; __start_restride; printf '%s|' "${COMPREPLY[@]}"; echo; }
complete_line restride insp
complete_line restride repack --to marl
complete_line restride run --device aut
`
	cmd := exec.Command(bash, "--norc", "-c", strings.ReplaceAll(program, "RUN", self))
	cmd.Dir, cmd.Env = dir, append(os.Environ(), asCommand+"=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, "inspect|\nmarlin|\nauto|\n", strings.ReplaceAll(string(out), " |", "|"))
}

// TestVersionOnFullDisk: the command line is not at fault.
func TestVersionOnFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	for _, args := range [][]string{{"--version"}, {"version"}, {"--help"}, {"completion", "bash"}, {"licenses", "--text"}} {
		cmd := command(t, args...)
		cmd.Stdout = full
		require.Error(t, cmd.Run(), "%q", args)
		assert.Equal(t, failed, cmd.ProcessState.ExitCode(), "%q", args)
	}
}
