package main

import (
	"errors"
	"os"

	"github.com/restride/restride/bench"
	"github.com/restride/restride/bench/page"
)

// writePage writes a report as a page.
func writePage(file string, r *bench.Report) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(page.Write(f, r), f.Close())
}
