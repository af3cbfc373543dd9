package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/bench/cases"
	"github.com/restride/restride/internal/nearest"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/quant"
)

// shells are the shells for which there are scripts.
var shells = []struct {
	name   string
	script func(root *cobra.Command, out io.Writer) error
}{
	{"bash", func(root *cobra.Command, out io.Writer) error { return root.GenBashCompletionV2(out, true) }},
	{"zsh", (*cobra.Command).GenZshCompletion},
	{"fish", func(root *cobra.Command, out io.Writer) error { return root.GenFishCompletion(out, true) }},
	{"powershell", (*cobra.Command).GenPowerShellCompletionWithDesc},
}

func newCompletion() *cobra.Command {
	var names []string
	for _, s := range shells {
		names = append(names, s.name)
	}
	shell := operand{"SHELL", "one of " + strings.Join(names, ", ")}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a script for shell completion of commands, flags and their values",
		Long: `Prints a script for bash, zsh, fish or powershell. With it, Tab completes commands,
flags, devices, formats, names of cases, and the names of a model's inputs and axes.

For one session:

  bash        source <(restride completion bash)
  zsh         source <(restride completion zsh)
  fish        restride completion fish | source
  powershell  restride completion powershell | Out-String | Invoke-Expression

For every session:

  bash        restride completion bash > ~/.local/share/bash-completion/completions/restride
  zsh         restride completion zsh > "${fpath[1]}/_restride"
  fish        restride completion fish > ~/.config/fish/completions/restride.fish
  powershell  the command above in the file that $PROFILE names

The script for bash needs bash 4 or newer and the package bash-completion; the one for
zsh needs "autoload -U compinit; compinit" before it.`,
		Args:      takes(shell, false),
		ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, s := range shells {
				if s.name == args[0] {
					return s.script(cmd.Root(), cmd.OutOrStdout())
				}
			}
			return wrongf("no script for the shell %s%s: there is %s", quote.Name(args[0]), nearest.Meant(args[0], names), shell.about)
		},
	}
}

// completer completes a flag's value or an argument.
type completer = cobra.CompletionFunc

// files completes names of folders and of files with one of the given extensions; without
// extensions, of any files.
func files(extensions ...string) completer {
	if len(extensions) == 0 {
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	}
	return cobra.FixedCompletions(extensions, cobra.ShellCompDirectiveFilterFileExt)
}

var folders = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)

// weightFiles are the sources of inspect and repack.
var weightFiles = files("safetensors", "gguf", "json")

// once completes a command's only argument.
func once(c completer) completer {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return cobra.NoFileCompletions(cmd, args, word)
		}
		return c(cmd, args, word)
	}
}

// flagCompleters are the completers of flags, by the flag's name, or by "COMMAND/FLAG" for a
// command whose flag of that name differs.
var flagCompleters = map[string]completer{
	"device": completeDevices, "bench/device": listOf(completeDevices), "conform/device": listOf(completeDevices),
	"from": completeFormats, "bench/from": files("json"), "to": completeFormats, "reorder/from": cobra.NoFileCompletions, "reorder/to": cobra.NoFileCompletions,
	"dim": completeAxes, "shape": completeInputs, "input": completeInputs,
	"output": files("safetensors", "gguf"), "run/output": folders, "dot": files(),
	"bench/json": files("json"), "html": files("html"), "benchstat": files(), "compare": files("json"),
	"bench/cases": files(), "profile": files("json"), "filter": completeCases,
	"peer": listOf(cobra.FixedCompletions([]string{"auto", "numpy", "torch", "onnxruntime", "cupy"}, cobra.ShellCompDirectiveNoFileComp)),
	"size": cobra.FixedCompletions([]string{sweep, "64K", "1M", "64M", "256M", "1G"}, cobra.ShellCompDirectiveNoFileComp),
}

// complete prepares commands for requests of the shells' scripts.
func complete(root *cobra.Command) {
	root.CompletionOptions.DisableDefaultCmd = true // newCompletion replaces it
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	root.PersistentPreRun = func(cmd *cobra.Command, _ []string) {
		if cmd.Name() == cobra.ShellCompRequestCmd {
			completeFlags(root)
		}
	}
}

// completeFlags registers completers for the flags of all commands. cobra keeps these flags, and
// what their values point to, for the life of the process, so only a completion request should
// register them.
func completeFlags(root *cobra.Command) {
	for cmd := range every(root) {
		for name, c := range flagCompleters {
			flag, of := name, cmd.Name()
			if command, word, found := strings.Cut(name, "/"); found {
				flag, of = word, command
			} else if flagCompleters[of+"/"+name] != nil {
				continue
			}
			if f := cmd.Flags().Lookup(flag); f != nil && of == cmd.Name() && f.Value.Type() != "bool" {
				_ = cmd.RegisterFlagCompletionFunc(flag, c)
			}
		}
	}
}

// listOf completes the last of several words separated by commas.
func listOf(c completer) completer {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		at := strings.LastIndex(word, ",") + 1
		all, directive := c(cmd, args, word[at:])
		for i := range all {
			all[i] = word[:at] + all[i]
		}
		return all, directive | cobra.ShellCompDirectiveNoSpace
	}
}

func completeDevices(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	all := []cobra.Completion{cobra.CompletionWithDesc("auto", "the first GPU, or else the CPU")}
	infos, _ := device.List() // for a backend without devices there is nothing to complete
	for _, i := range infos {
		all = append(all, cobra.CompletionWithDesc(i.ID(), quote.Text(i.Name)))
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}

func completeFormats(*cobra.Command, []string, string) (all []cobra.Completion, _ cobra.ShellCompDirective) {
	for _, f := range quant.Formats() {
		all = append(all, cobra.CompletionWithDesc(f.Name, f.About))
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}

func completeCases(*cobra.Command, []string, string) (all []cobra.Completion, _ cobra.ShellCompDirective) {
	for _, c := range cases.All() {
		all = append(all, c.Name)
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}

// mostCompleted is the size of the largest model that is read to complete a name in it.
const mostCompleted = 64 << 20

// inputsOf are the inputs of the model that is already on the command line.
func inputsOf(args []string) []model.ValueInfo {
	if len(args) == 0 {
		return nil
	}
	if info, err := os.Stat(args[0]); err != nil || info.Size() > mostCompleted {
		return nil
	}
	m, err := model.Load(args[0])
	if err != nil {
		return nil
	}
	return m.Graph.Inputs
}

// completeInputs completes the NAME= of an input. What follows is free text, or a file.
func completeInputs(_ *cobra.Command, args []string, word string) (all []cobra.Completion, _ cobra.ShellCompDirective) {
	if strings.Contains(word, "=") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	for _, in := range inputsOf(args) {
		if quote.Plain(in.Name) == in.Name {
			all = append(all, cobra.CompletionWithDesc(in.Name+"=", fmt.Sprint(in.Type)))
		}
	}
	return all, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

// completeAxes completes the NAME= of an axis.
func completeAxes(_ *cobra.Command, args []string, _ string) (all []cobra.Completion, _ cobra.ShellCompDirective) {
	for _, name := range axes(inputsOf(args)) {
		if quote.Plain(name) == name {
			all = append(all, name+"=")
		}
	}
	return all, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}
