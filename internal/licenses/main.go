// Command licenses writes the licences of all modules linked into the command restride, which
// embeds them:
//
//	go run -C internal/licenses . ../../cmd/restride/licenses.json
//
// It is a separate module: importers of Restride do not need its licence classifier.
package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	classifier "github.com/google/licenseclassifier/v2"
	"github.com/google/licenseclassifier/v2/assets"
)

// targets are the builds whose modules are listed: environment, and build tags.
var targets = [][2]string{{"linux", ""}, {"windows", ""}, {"darwin", ""}, {"linux", "gorgonia"}}

// others are modules whose licences cannot be derived from file names and a classifier alone.
var others = map[string]struct {
	license string // "": the recognised one
	files   []string
}{
	"github.com/golang/freetype": {"FTL OR GPL-2.0-or-later", []string{"LICENSE", "licenses/ftl.txt"}},
	// The README is about the Go fonts, which are data in Go files.
	"golang.org/x/image": {"", []string{"LICENSE", "PATENTS", "font/gofont/ttfs/README"}},
}

// License is a module's entry in licenses.json.
type License struct {
	Module  string `json:"module"` // "std" is Go's standard library, whose version is the toolchain's
	Version string `json:"version,omitempty"`
	License string `json:"license"` // an expression of SPDX
	Files   []File `json:"files"`
}

// File is a file of a licence.
type File struct {
	Name string   `json:"name"`
	Text []string `json:"text"` // lines
}

// named matches the names of licence files.
var named = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|ofl|unlicense)([-.].*)?$`)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: licenses FILE.json")
	}
	if err := write(os.Args[1]); err != nil {
		log.Fatal("licenses: ", err)
	}
}

func write(path string) error {
	modules, err := linked()
	if err != nil {
		return err
	}
	c, err := assets.DefaultClassifier()
	if err != nil {
		return err
	}
	all := []License{}
	for _, m := range modules {
		l, err := m.read(c)
		if err != nil {
			return fmt.Errorf("%s: %w", m.path, err)
		}
		all = append(all, l)
	}
	text, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o666)
}

// module is a module linked into the command.
type module struct {
	path, version, root string
	packages            []string // their folders
}

// linked lists the modules, Restride and the standard library first.
func linked() ([]*module, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	std := &module{path: "std", root: strings.TrimSpace(string(root))}
	seen := map[string]*module{}
	for _, t := range targets {
		list := exec.Command("go", "list", "-deps", "-tags="+t[1], "-f", "{{with .Module}}{{.Path}}\t{{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}", "./cmd/restride")
		list.Dir, list.Env, list.Stderr = "../..", append(os.Environ(), "GOOS="+t[0], "GOARCH=amd64", "CGO_ENABLED=1"), os.Stderr
		out, err := list.Output()
		if err != nil {
			return nil, fmt.Errorf("go list for %v: %w", t, err)
		}
		for line := range strings.Lines(string(out)) {
			f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
			if len(f) != 4 {
				continue // of the standard library
			}
			if seen[f[0]] == nil {
				seen[f[0]] = &module{path: f[0], version: f[1], root: f[2]}
			}
			seen[f[0]].packages = append(seen[f[0]].packages, f[3])
		}
	}
	var all []*module
	for _, m := range seen {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b *module) int { return strings.Compare(a.path, b.path) })
	first := slices.IndexFunc(all, func(m *module) bool { return m.version == "" })
	own := all[first]
	own.packages = nil // everything in Restride has one licence
	return slices.Concat([]*module{own, std}, slices.Delete(all, first, first+1)), nil
}

// read reads the licence of a module.
func (m *module) read(c *classifier.Classifier) (l License, err error) {
	l = License{Module: m.path, Version: m.version, License: others[m.path].license}
	names := others[m.path].files
	if names == nil {
		if names, err = m.files(); err != nil {
			return l, err
		}
	}
	var found []string
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(m.root, name))
		if err != nil {
			return l, err
		}
		for _, match := range c.Match(text).Matches {
			if match.MatchType == "License" && !slices.Contains(found, match.Name) {
				found = append(found, match.Name)
			}
		}
		lines := strings.Split(strings.TrimRight(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n"), "\n")
		l.Files = append(l.Files, File{filepath.ToSlash(name), lines})
	}
	if l.License == "" {
		l.License = strings.Join(found, " AND ")
	}
	if l.License == "" {
		return l, fmt.Errorf("no licence is recognised in %q of %s", names, m.root)
	}
	return l, nil
}

// files returns the licence files in the module's folder, and in the folders of linked packages
// and their parents.
func (m *module) files() (names []string, err error) {
	folders := map[string]bool{m.root: true}
	for _, dir := range m.packages {
		for ; len(dir) > len(m.root); dir = filepath.Dir(dir) {
			folders[dir] = true
		}
	}
	for dir := range folders {
		var entries []fs.DirEntry
		if entries, err = os.ReadDir(dir); err != nil {
			return nil, err
		}
		for _, e := range entries {
			if e.IsDir() || !named.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
				continue
			}
			name, err := filepath.Rel(m.root, filepath.Join(dir, e.Name()))
			if err != nil {
				return nil, err
			}
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}
