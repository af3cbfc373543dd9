// Command restride runs ONNX models of data movement operators on a device, says
// what each node did (view, copy or transfer), checks devices against the ONNX
// test suite and against an oracle, and measures them.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	_ "github.com/restride/restride" // all devices

	"github.com/restride/restride/internal/quote"
)

func main() {
	out := &checkedWriter{w: os.Stdout}
	root := newRoot()
	root.SetOut(out)
	err := execute(context.Background(), root)
	if err = cmp.Or(out.err, err); err != nil { // lost output is never a command line error
		complain(os.Stderr, err)
		os.Exit(statusOf(err))
	}
}

// complain prints a command's error, unless the command already has.
func complain(w io.Writer, err error) {
	if errors.Is(err, errCounted) {
		return
	}
	text := err.Error()
	if !strings.HasPrefix(text, "restride ") { // otherwise it begins with the command
		text = "restride: " + text
	}
	if usage := (*usageError)(nil); errors.As(err, &usage) && usage.help != "" {
		text += "\n" + usage.help
	}
	fmt.Fprintln(w, quote.Lines(text))
}

// checkedWriter keeps the first write error: lost output must not look like success.
type checkedWriter struct {
	w   io.Writer
	err error
}

func (c *checkedWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.err = cmp.Or(c.err, err)
	return n, err
}

// Fd is the file's descriptor, for features that only terminals have.
func (c *checkedWriter) Fd() uintptr {
	if f, ok := c.w.(*os.File); ok {
		return f.Fd()
	}
	return ^uintptr(0)
}

// errCounted ends a command whose closing line has already reported the failures.
var errCounted = errors.New("some cases failed")

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "restride",
		Short: "Change the shape and layout of tensors on their device",
		Long: `Changes the shape and layout of tensors on their device: runs and explains ONNX models,
converts quantised weights between formats, and checks and measures devices.

The exit status is 0 if everything was done; 2 if the command line is wrong (a command,
flag, argument or value) and nothing was done; and 1 for any other failure: of the
command itself, or of a file, device or library that it needs.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       thisBuild().String(),
		Args:          chooses,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("{{.Version}}")
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(newDevices(), newRun(), newExplain(), newConform(), newVerify(), newBench(), newRepack(), newReorder(), newInspect(), newFormats(), newVersion(), newLicenses(), newCompletion())
	root.SetHelpCommand(newHelp())
	complete(root)
	return root
}

// tally counts a command's cases.
type tally struct{ passed, failed, skipped int }

// close prints the closing line, and fails if a case failed.
func (t tally) close(cmd *cobra.Command) error {
	fmt.Fprintf(cmd.OutOrStdout(), "%d passed, %d failed, %d skipped\n", t.passed, t.failed, t.skipped)
	if t.failed > 0 {
		return errCounted
	}
	return nil
}
