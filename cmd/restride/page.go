package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/restride/restride/bench"
	"github.com/restride/restride/bench/page"
)

// again makes the page of figures that were kept.
func (f *benchFlags) again() error {
	if f.html == "" {
		return errors.New("--from: want --html, for the page of what it names")
	}
	report, err := readReport(f.from)
	if err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	if f.figures != nil {
		report.Peers = append(report.Peers, f.figures)
	}
	if err := writePage(f.html, report); err != nil {
		return fmt.Errorf("--html: %w", err)
	}
	return nil
}

// readReport reads one that --json has kept.
func readReport(file string) (*bench.Report, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r := new(bench.Report)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, err
	}
	if r.Format != 1 {
		return nil, fmt.Errorf("%s: format %d is not known: want 1, as --json writes it", file, r.Format)
	}
	return r, nil
}

// writePage writes a report as a page.
func writePage(file string, r *bench.Report) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(page.Write(f, r), f.Close())
}
