package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/restride/restride/internal/nearest"
	"github.com/restride/restride/internal/quote"
)

// The exit statuses of errors.
const (
	failed  = 1 // the work failed, or a file, device or library is not as required
	misused = 2 // the command line is wrong, and nothing was done
)

// usageError is an error in the command line.
type usageError struct {
	err  error
	help string // the command's usage; "": the message is complete
}

func (e *usageError) Error() string { return e.err.Error() }

func (e *usageError) Unwrap() error { return e.err }

// wrong turns an error into a command line error.
func wrong(err error) error {
	return &usageError{err: err}
}

// wrongf is wrong(fmt.Errorf()).
func wrongf(format string, args ...any) error { return wrong(fmt.Errorf(format, args...)) }

// statusOf is the exit status of a command that ended with an error.
func statusOf(err error) int {
	if usage := (*usageError)(nil); errors.As(err, &usage) {
		return misused
	}
	return failed
}

// execute runs a command line. An error before the command itself runs is a command line error.
func execute(ctx context.Context, root *cobra.Command) error {
	began := false
	for cmd := range every(root) {
		if run := cmd.RunE; run != nil {
			cmd.RunE = func(cmd *cobra.Command, args []string) error {
				began = true
				return run(cmd, args)
			}
		}
	}
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil || began {
		return err
	}
	usage := &usageError{err: err}
	errors.As(err, &usage)
	return &usageError{err: usage.err, help: cmp.Or(usage.help, helpOf(cmd))}
}

// every is a command and those below it.
func every(cmd *cobra.Command) func(yield func(*cobra.Command) bool) {
	return func(yield func(*cobra.Command) bool) {
		all := []*cobra.Command{cmd}
		for i := 0; i < len(all) && yield(all[i]); i++ {
			all = append(all, all[i].Commands()...)
		}
	}
}

func helpOf(cmd *cobra.Command) string {
	return fmt.Sprintf("usage: %s\n%s --help says more", cmd.UseLine(), cmd.CommandPath())
}

// operand is an argument of a command: its name in the usage line, and its description.
type operand struct{ name, about string }

// The operands of commands.
var (
	modelFile = operand{"MODEL.onnx", "the file of an ONNX model"}
	source    = operand{"SOURCE", "a .safetensors or .gguf file, an index of such files, or a folder that has one of these"}
	caseDir   = operand{"DIR", "a folder that has model.onnx and test_data_set_* in it, or in folders below"}
)

// takes checks that a command has its operand (if many is set, one or more), and its required
// flags.
func takes(o operand, many bool, flags ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return fmt.Errorf("%s needs a %s: %s", cmd.CommandPath(), o.name, o.about)
		case len(args) > 1 && !many:
			return fmt.Errorf("%s needs one %s, and %s is one too many", cmd.CommandPath(), o.name, quote.Name(args[1]))
		}
		var lacking []string
		for _, name := range flags {
			if f := cmd.Flags().Lookup(name); !f.Changed {
				kind, _ := pflag.UnquoteUsage(f)
				lacking = append(lacking, fmt.Sprintf("--%s %s", name, kind))
			}
		}
		if len(lacking) > 0 {
			return fmt.Errorf("%s needs %s", cmd.CommandPath(), strings.Join(lacking, " and "))
		}
		return nil
	}
}

// takesNone checks that a command has no arguments.
func takesNone(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s needs no argument, and %s is one", cmd.CommandPath(), quote.Name(args[0]))
	}
	return nil
}

// chooses checks that a command with subcommands is called with one of them.
func chooses(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return &usageError{
		err:  fmt.Errorf("%s has no command %s%s", cmd.CommandPath(), quote.Name(args[0]), meantCommand(cmd, args[0])),
		help: cmd.CommandPath() + " --help lists the commands",
	}
}

// meantCommand guesses the intended command.
func meantCommand(cmd *cobra.Command, word string) string {
	cmd.SuggestionsMinimumDistance = 2
	if all := cmd.SuggestionsFor(word); len(all) > 0 {
		return fmt.Sprintf(" (did you mean %q?)", all[0])
	}
	return ""
}

// kinds are the kinds of flag values, by pflag's names for them.
var kinds = map[string]string{
	"bool": "true or false", "duration": "a time, as 500ms, 30s or 1m30s",
	"int": "a whole number", "int64": "a whole number", "uint64": "a whole number of at least 0",
}

// flagError describes an error in a flag.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var value *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		return fmt.Errorf("%s has no flag --%s%s", cmd.CommandPath(), quote.Text(unknown.GetSpecifiedName()), meantFlag(cmd, unknown.GetSpecifiedName()))
	case errors.As(err, &unknown):
		return fmt.Errorf("%s has no flag -%s; those of more letters begin with two dashes", cmd.CommandPath(), quote.Text(unknown.GetSpecifiedShortnames()))
	case errors.As(err, &value):
		f := value.GetFlag()
		if kind, ok := kinds[f.Value.Type()]; ok {
			return fmt.Errorf("--%s %q: want %s", f.Name, value.GetValue(), kind)
		}
		return fmt.Errorf("--%s: %w", f.Name, quote.Error(value.Unwrap()))
	}
	return quote.Error(err)
}

// meantFlag guesses the intended flag.
func meantFlag(cmd *cobra.Command, word string) string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if name := nearest.To(word, names); name != "" {
		return fmt.Sprintf(" (did you mean --%s?)", name)
	}
	return ""
}
