package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// licensesJSON has the licences of all modules linked into any build of the command.
// internal/licenses writes it.
//
//go:generate go run -C ../../internal/licenses . ../../cmd/restride/licenses.json
//go:generate go test -count=1 -run CommandsDocument -update .
//go:embed licenses.json
var licensesJSON []byte

// license is a module's licence.
type license struct {
	Module  string `json:"module"` // "std" is Go's standard library
	Version string `json:"version,omitempty"`
	License string `json:"license"` // an SPDX expression
	Files   []struct {
		Name string   `json:"name"`
		Text []string `json:"text"` // by line
	} `json:"files"`
}

// knownLicenses are the licences of all builds.
func knownLicenses() (all []license, err error) {
	return all, json.Unmarshal(licensesJSON, &all)
}

// licensesOf returns the licences of a program's modules.
func licensesOf(info *debug.BuildInfo) (all []license, err error) {
	known, err := knownLicenses()
	if err != nil {
		return nil, err
	}
	linked := map[string]string{"std": runtime.Version()}
	if info == nil {
		return nil, fmt.Errorf("the program does not say which modules it has in it")
	}
	linked[info.Main.Path] = info.Main.Version
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		linked[m.Path] = m.Version
	}
	for _, l := range known {
		if version, ok := linked[l.Module]; ok {
			if l.Version != "" && l.Version != version {
				return nil, fmt.Errorf("the licence of %s is that of version %s, and %s is linked in", l.Module, l.Version, version)
			}
			l.Version = version
			all = append(all, l)
			delete(linked, l.Module)
		}
	}
	for module := range linked {
		return nil, fmt.Errorf("the licence of %s is not known: the program was built otherwise than this list", module)
	}
	return all, nil
}

func newLicenses() *cobra.Command {
	var text, asJSON bool
	cmd := &cobra.Command{
		Use:        "licenses",
		Short:      "List the licences of everything linked into this program",
		Aliases:    []string{"licences"},
		SuggestFor: []string{"license", "licence", "notice"},
		Long: `Lists the modules that are linked into this program, including fonts in them, with the
SPDX names of their licences. --text prints the licences in full, as they require when
the program is distributed.`,
		Args: takesNone,
		RunE: func(cmd *cobra.Command, _ []string) error {
			info, _ := debug.ReadBuildInfo()
			all, err := licensesOf(info)
			switch {
			case err != nil:
				return err
			case asJSON:
				return printJSON(cmd.OutOrStdout(), all)
			case text:
				return printTexts(cmd.OutOrStdout(), all)
			}
			return printLicenses(cmd.OutOrStdout(), all)
		},
	}
	cmd.Flags().BoolVar(&text, "text", false, "print the texts")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print it as JSON, with the texts")
	return cmd
}

func printLicenses(out io.Writer, all []license) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MODULE\tVERSION\tLICENCE")
	for _, l := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\n", l.Module, l.Version, l.License)
	}
	return w.Flush()
}

func printTexts(out io.Writer, all []license) error {
	for _, l := range all {
		for _, f := range l.Files {
			if _, err := fmt.Fprintf(out, "==== %s %s (%s): %s\n\n%s\n\n", l.Module, l.Version, l.License, f.Name, strings.Join(f.Text, "\n")); err != nil {
				return err
			}
		}
	}
	return nil
}
