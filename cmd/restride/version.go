package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/restride/restride/internal/simd"
)

// build is what a program was built from and for, and its features on this machine.
type build struct {
	Version  string   `json:"version"`            // the module's; "(devel)" if built in a clone
	Revision string   `json:"revision,omitempty"` // of the repository
	Time     string   `json:"time,omitempty"`     // of the revision
	Modified bool     `json:"modified,omitempty"` // after that revision
	Go       string   `json:"go"`
	OS       string   `json:"os"`
	Arch     string   `json:"arch"`
	Tags     []string `json:"tags"`
	Cgo      bool     `json:"cgo"`
	Vectors  string   `json:"vectors"` // the level of the CPU device's kernels
	Levels   []string `json:"levels"`  // the levels that the processor supports
}

// buildOf reads the program's build information; nil: there is none.
func buildOf(info *debug.BuildInfo) build {
	b := build{Version: "(unknown)", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Tags: []string{}}
	kernels, _ := simd.Best() // devices report the error
	b.Vectors = kernels.Level.String()
	for _, l := range simd.Levels() {
		b.Levels = append(b.Levels, l.String())
	}
	if info == nil {
		return b
	}
	b.Version = cmp.Or(info.Main.Version, b.Version)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		case "-tags":
			b.Tags = strings.Split(s.Value, ",")
		case "CGO_ENABLED":
			b.Cgo = s.Value == "1"
		}
	}
	return b
}

func (b build) String() string {
	revision := ""
	switch {
	case b.Modified:
		revision = fmt.Sprintf("revision  %s of %s, modified\n", b.Revision, b.Time)
	case b.Revision != "":
		revision = fmt.Sprintf("revision  %s of %s\n", b.Revision, b.Time)
	case !strings.HasPrefix(b.Version, "v"):
		revision = "revision  unknown: it was built without (go build -buildvcs=true)\n"
	}
	tags, cgo := "none", "without cgo"
	if len(b.Tags) > 0 {
		tags = strings.Join(b.Tags, ", ")
	}
	if b.Cgo {
		cgo = "with cgo"
	}
	return fmt.Sprintf("restride %s\n%sgo        %s, %s/%s, %s\ntags      %s\nvectors   %s (this processor has %s)\ndevices   see restride devices\n",
		b.Version, revision, b.Go, b.OS, b.Arch, cgo, tags, b.Vectors, strings.Join(b.Levels, ", "))
}

func thisBuild() build {
	info, _ := debug.ReadBuildInfo()
	return buildOf(info)
}

func newVersion() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program, and its features",
		Args:  takesNone,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return printJSON(cmd.OutOrStdout(), thisBuild())
			}
			_, err := fmt.Fprint(cmd.OutOrStdout(), thisBuild())
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print it as JSON")
	return cmd
}
