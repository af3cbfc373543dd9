// Command results keeps the reports of restride bench, a file for each machine and date next to
// this one, and writes tables of them into docs/speed.md and the folder's README.md:
//
//	go run ./bench/results build/results.json   # adds a report, and writes the tables
//	go run ./bench/results                      # only writes the tables
//
// A table stands between <!-- bench: KIND DEVICE... --> and <!-- /bench -->:
//
//	figures   the cases that other libraries have been measured on, side by side with theirs
//	roofline  the bounds of the devices, side by side
//	cases     every case of each device
//
// Each machine has a table, of its latest report that has all of the devices, at the first
// size beyond caches; the machine measured last comes first. A test fails if a page has
// other tables.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/restride/restride/internal/bench/report"
	"github.com/restride/restride/internal/file"
	"github.com/restride/restride/internal/quote"
)

func main() {
	folder := flag.String("folder", "bench/results", "where the reports are")
	page := flag.String("page", "docs/speed.md", "a file with tables, beside the folder's README.md")
	name := flag.String("machine", "", "name of the machine for the report's file (default: after its processor)")
	flag.Parse()
	if err := run(*folder, *page, *name, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "results:", quote.Lines(err.Error()))
		os.Exit(1)
	}
}

func run(folder, page, name string, reports []string) error {
	for _, path := range reports {
		if err := keep(folder, path, name); err != nil {
			return err
		}
	}
	all, err := load(folder)
	if err != nil {
		return err
	}
	for _, page := range []string{page, filepath.Join(folder, "README.md")} {
		if err := update(page, folder, all); err != nil {
			return fmt.Errorf("%s: %w", quote.Path(page), quote.Error(err))
		}
	}
	return nil
}

// update rewrites a page's tables.
func update(page, folder string, all []kept) error {
	old, err := file.Content(page, 16<<20)
	if err != nil {
		return err
	}
	link, err := between(filepath.Dir(page), folder)
	if err != nil {
		return err
	}
	text, err := rewrite(string(old), link, all)
	if err != nil || text == string(old) {
		return err
	}
	return file.Write(page, []byte(text))
}

// kept is a report of the folder.
type kept struct {
	path string
	*report.Report
}

// load reads all reports.
func load(folder string) ([]kept, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil, err
	}
	var all []kept
	for _, path := range paths {
		r, err := read(path)
		if err != nil {
			return nil, err
		}
		all = append(all, kept{path, r})
	}
	return all, nil
}

func read(path string) (*report.Report, error) {
	r, err := report.Load(path)
	if err == nil && r.Unfinished {
		err = fmt.Errorf("%s: the run was interrupted", quote.Path(path))
	}
	return r, err
}

// keep copies a report to the folder, by its date and machine.
func keep(folder, path, name string) error {
	r, err := read(path)
	if err != nil {
		return err
	}
	if name == "" {
		name = machine(r)
	}
	return r.WriteFile(filepath.Join(folder, r.Date.Format("2006-01-02")+"-"+name+".json"))
}

var noise = regexp.MustCompile(`(?i)\([a-z]+\)|\b(intel|amd|processor|cpu)\b|@.*`)

// machine is a short name of the processor and its cores: "xeon-2cores".
func machine(r *report.Report) string {
	words := strings.FieldsFunc(strings.ToLower(noise.ReplaceAllString(r.Host.CPU, " ")), func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9')
	})
	if len(words) == 0 {
		words = strings.Split(r.System, "/")
	}
	return fmt.Sprintf("%s-%dcores", strings.Join(words, "-"), r.CPUs)
}

var marked = regexp.MustCompile(`(?s)(<!-- bench: ([a-z]+)((?: [a-z]+(?::[0-9]+)?)+) -->\n).*?(<!-- /bench -->)`)

// between is the path from a folder to another one, as in links.
func between(from, to string) (string, error) {
	from, err := filepath.Abs(from)
	if err != nil {
		return "", err
	}
	if to, err = filepath.Abs(to); err != nil {
		return "", err
	}
	path, err := filepath.Rel(from, to)
	return filepath.ToSlash(path), err
}

// rewrite puts the newest figures between the markers; the reports are in a folder.
func rewrite(text, folder string, all []kept) (string, error) {
	var errs []error
	if opened := strings.Count(text, "<!-- bench: "); opened != len(marked.FindAllString(text, -1)) {
		errs = append(errs, errors.New("a marker <!-- bench: KIND DEVICE --> is not closed, or names no kind and device"))
	}
	out := marked.ReplaceAllStringFunc(text, func(old string) string {
		part := marked.FindStringSubmatch(old)
		write, ids := kinds[part[2]], strings.Fields(part[3])
		machines := newest(all, ids)
		switch {
		case write == nil:
			errs = append(errs, fmt.Errorf("<!-- bench: %s -->: there is no such kind of table", part[2]))
			return old
		case machines == nil:
			errs = append(errs, fmt.Errorf("no report has %s", strings.Join(ids, " and ")))
			return old
		}
		var b strings.Builder
		for i, m := range machines {
			if i > 0 {
				b.WriteByte('\n')
			}
			write(&b, m.kept, m.devices, path.Join(folder, filepath.Base(m.path)))
		}
		return part[1] + b.String() + part[4]
	})
	return out, errors.Join(errs...)
}

// measured is a report, and the devices of a table in it.
type measured struct {
	kept
	devices []*report.Result
}

// newest returns for each machine, the latest measured first, the newest report that has all of
// the devices, at a size beyond caches.
func newest(all []kept, ids []string) (found []measured) {
	byDate := slices.SortedStableFunc(slices.Values(all), func(a, b kept) int { return b.Date.Compare(a.Date) })
	for _, f := range byDate {
		if slices.ContainsFunc(found, func(m measured) bool { return m.machine() == f.machine() }) {
			continue
		}
		var devices []*report.Result
		for _, id := range ids {
			if i := slices.IndexFunc(f.Devices, func(r *report.Result) bool { return r.Device.ID == id && !r.Cached }); i >= 0 {
				devices = append(devices, f.Devices[i])
			}
		}
		if len(devices) == len(ids) {
			found = append(found, measured{f, devices})
		}
	}
	return found
}

// machine is the part of the report's name after the date.
func (f kept) machine() string {
	name := filepath.Base(f.path)
	return name[min(len("2006-01-02-"), len(name)):]
}
