package restride_test

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/readme"
)

// TestSnippets: every snippet of the pages for users is run by a test, or at least compiled.
// Lines of Go are part of an example or a test, whatever the indentation, or the program of an
// adapter's README, which that adapter's test builds and runs. A test of package dlpack runs
// Python, and one of cmd/restride the shell.
func TestSnippets(t *testing.T) {
	sources := exampleSources(t)
	command := regexp.MustCompile(`(?m)^(\$ |restride |go |pip |apt )`)
	for _, s := range readme.Snippets(t, ".") {
		adapter := strings.HasPrefix(s.Page, "adapters/")
		switch s.Language {
		case "go":
			in := func(source string) bool { return strings.Contains(source, flat(s.Text)) }
			assert.True(t, adapter && strings.HasPrefix(s.Text, "package main\n") || slices.ContainsFunc(sources, in),
				"%s:%d: these lines of Go are in no example or test", s.Page, s.Line)
		case "python":
			assert.Equal(t, "docs/dlpack.md", s.Page, "line %d: no test runs this Python", s.Line)
		case "sh", "console", "yaml":
			assert.True(t, !adapter || s.Language == "sh", "%s:%d: no test runs it", s.Page, s.Line)
		case "", "text":
			if s.Page != "docs/cli.md" { // which has the forms of the commands, too
				assert.NotRegexp(t, command, s.Text, "%s:%d: commands are in blocks of sh or console", s.Page, s.Line)
			}
		default:
			assert.Fail(t, "no test runs it", "%s:%d: language %q", s.Page, s.Line, s.Language)
		}
	}
}

// flat is a text without indentation.
func flat(text string) string { return strings.NewReplacer("\t", "", "\r", "").Replace(text) }

// exampleSources are the texts of the examples and tests, without indentation.
func exampleSources(t *testing.T) (all []string) {
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (path == "build" || path == ".git") {
			return cmp.Or(err, fs.SkipDir)
		}
		path = filepath.ToSlash(path)
		if strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, ".go") && (strings.HasPrefix(path, "examples/") || strings.HasPrefix(path, "adapters/")) {
			text, err := os.ReadFile(path)
			all = append(all, flat(string(text)))
			return err
		}
		return nil
	}))
	return all
}
