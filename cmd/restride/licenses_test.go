package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// linkedInto lists the modules of the command, as built for a system.
func linkedInto(t *testing.T, system, tags string) map[string]string {
	t.Helper()
	list := exec.Command("go", "list", "-deps", "-tags="+tags, "-f", "{{with .Module}}{{.Path}} {{.Version}}{{end}}", ".")
	list.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=1")
	out, err := list.Output()
	require.NoError(t, err)
	modules := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) > 0 {
			modules[f[0]] = strings.Join(f[1:], "")
		}
	}
	require.Contains(t, modules, "github.com/spf13/cobra")
	return modules
}

// TestLicensesAreOfWhatIsLinked: make generate lists the licences of a new dependency, or
// fails where it finds none.
func TestLicensesAreOfWhatIsLinked(t *testing.T) {
	want := map[string]string{"std": ""}
	for _, target := range [][2]string{{"linux", ""}, {"windows", ""}, {"darwin", ""}, {"linux", "gorgonia"}} {
		modules := linkedInto(t, target[0], target[1])
		info := &debug.BuildInfo{}
		for path, version := range modules {
			want[path] = version
			if version == "" {
				info.Main.Path = path
				continue
			}
			info.Deps = append(info.Deps, &debug.Module{Path: path, Version: version})
		}
		all, err := licensesOf(info)
		require.NoError(t, err, "make generate writes the list")
		assert.Len(t, all, len(modules)+1, target)
	}
	known, err := knownLicenses()
	require.NoError(t, err)
	got := map[string]string{}
	for _, l := range known {
		got[l.Module] = l.Version
		assert.NotEmpty(t, l.License, l.Module)
		assert.NotEmpty(t, l.Files, l.Module)
		for _, f := range l.Files {
			assert.NotEmpty(t, strings.Join(f.Text, ""), "%s: %s", l.Module, f.Name)
		}
	}
	assert.Equal(t, want, got, "make generate writes the list")
}

func TestLicensesOfOthers(t *testing.T) {
	main := debug.Module{Path: "github.com/restride/restride"}
	_, err := licensesOf(&debug.BuildInfo{Main: main, Deps: []*debug.Module{{Path: "example.com/x", Version: "v1.0.0"}}})
	assert.ErrorContains(t, err, "the licence of example.com/x is not known")
	_, err = licensesOf(&debug.BuildInfo{Main: main, Deps: []*debug.Module{{Path: "github.com/spf13/cobra", Version: "v0.0.1"}}})
	assert.ErrorContains(t, err, "and v0.0.1 is linked in")
	_, err = licensesOf(nil)
	assert.ErrorContains(t, err, "does not say")
}

func TestPrintLicenses(t *testing.T) {
	all, err := knownLicenses()
	require.NoError(t, err)
	var table, texts strings.Builder
	require.NoError(t, printLicenses(&table, all))
	assert.Regexp(t, `(?m)^github.com/ajstarks/svgo +\S+ +CC-BY-4.0$`, table.String())
	assert.Regexp(t, `(?m)^codeberg.org/go-fonts/liberation +\S+ +BSD-3-Clause AND OFL-1.1$`, table.String())
	assert.Regexp(t, `(?m)^std +BSD-3-Clause$`, table.String())
	require.NoError(t, printTexts(&texts, all))
	for _, words := range []string{"Creative Commons Attribution 4.0 International Public License", "SIL OPEN FONT LICENSE", "The FreeType Project LICENSE", "Bigelow & Holmes"} {
		assert.Contains(t, texts.String(), words)
	}
	text, err := json.Marshal(all)
	require.NoError(t, err)
	assert.NotContains(t, string(text), `"license":""`)
}
