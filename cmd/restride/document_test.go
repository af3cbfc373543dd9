package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write docs/cli.md")

// TestCommandsDocument: docs/cli.md says what help says.
func TestCommandsDocument(t *testing.T) {
	const path = "../../docs/cli.md"
	text := documentOf(newRoot())
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
	}
	is, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, text, strings.ReplaceAll(string(is), "\r\n", "\n"), "go test ./cmd/restride -run CommandsDocument -update writes docs/cli.md")
}

// documentOf writes the commands below root as a page.
func documentOf(root *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintln(&b, "# The command line")
	fmt.Fprintln(&b, "\n<!-- make generate writes this page from cmd/restride. -->")
	fmt.Fprintf(&b, "\n%s\n\n| | |\n|---|---|\n", prose(root.Long))
	var all []*cobra.Command
	for cmd := range every(root) {
		cmd.InitDefaultHelpFlag()
		if cmd != root && cmd.IsAvailableCommand() {
			all = append(all, cmd)
			fmt.Fprintf(&b, "| [%s](#%s) | %s |\n", cmd.CommandPath(), strings.ReplaceAll(cmd.CommandPath(), " ", "-"), cell(cmd.Short))
		}
	}
	for _, cmd := range all {
		fmt.Fprintf(&b, "\n## %s\n\n", cmd.CommandPath())
		if cmd.Long == "" {
			fmt.Fprintf(&b, "%s.\n\n", cmd.Short)
		} else {
			fmt.Fprintf(&b, "%s\n\n", prose(cmd.Long))
		}
		fmt.Fprintf(&b, "```\n%s\n```\n", cmd.UseLine())
		document(&b, cmd.Flags())
	}
	return b.String()
}

// document writes a table of flags.
func document(b *strings.Builder, flags *pflag.FlagSet) {
	head := "\n| flag | |\n|---|---|\n"
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" || f.Hidden {
			return
		}
		kind, about := pflag.UnquoteUsage(f)
		name := strings.TrimSpace("--" + f.Name + " " + kind)
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" && !strings.Contains(about, "(default") {
			about += fmt.Sprintf(" (default: %s)", strings.Trim(f.DefValue, "[]"))
		}
		fmt.Fprintf(b, "%s| `%s` | %s |\n", head, name, cell(about))
		head = ""
	})
}

// prose makes paragraphs of a help text, and blocks of lines that are indented in it.
func prose(text string) string {
	var out []string
	for _, p := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if strings.HasPrefix(p, "  ") {
			language := ""
			if strings.HasPrefix(p, "  restride ") {
				language = "sh"
			}
			p = "```" + language + "\n" + strings.ReplaceAll(p[2:], "\n  ", "\n") + "\n```"
		} else {
			p = strings.ReplaceAll(p, "\n", " ")
		}
		out = append(out, p)
	}
	return strings.Join(out, "\n\n")
}

// cell escapes a text for a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
