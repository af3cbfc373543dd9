package readme

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Snippet is a fenced block of a page.
type Snippet struct {
	Page     string // the path below the root, with slashes
	Line     int    // of the opening fence
	Language string // "" for output and drawings
	Text     string
}

// Snippets returns the fenced blocks of the pages for users: README.md, docs, and the READMEs
// of the adapters. root is the repository's root.
func Snippets(t *testing.T, root string) (all []Snippet) {
	t.Helper()
	for _, pattern := range []string{"README.md", "docs/*.md", "adapters/*/README.md"} {
		pages, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		require.NoError(t, err)
		require.NotEmpty(t, pages, pattern)
		for _, page := range pages {
			text, err := os.ReadFile(page)
			require.NoError(t, err)
			name, err := filepath.Rel(root, page)
			require.NoError(t, err)
			all = append(all, snippets(filepath.ToSlash(name), string(text))...)
		}
	}
	return all
}

func snippets(page, text string) (all []Snippet) {
	const fence = "```"
	var open *Snippet
	for i, line := range strings.SplitAfter(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		language, fenced := strings.CutPrefix(strings.TrimSpace(line), fence)
		switch {
		case !fenced && open != nil:
			open.Text += line
		case fenced && open == nil:
			open = &Snippet{Page: page, Line: i + 1, Language: language}
		case fenced:
			all, open = append(all, *open), nil
		}
	}
	return all
}
