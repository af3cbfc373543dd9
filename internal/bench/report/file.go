package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/internal/file"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// maxFile is the most bytes of a report's file: many times a run's.
const maxFile = 16 << 20

// Load is Read of a file, whose path is in its errors.
func Load(path string) (*Report, error) {
	data, err := file.Content(path, maxFile)
	if err != nil {
		return nil, err
	}
	r, err := Read(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", quote.Path(path), err)
	}
	return r, nil
}

// Read reads a report's file and checks it, so that the report can be printed and
// compared. An error is a device.ErrInvalid.
func Read(data []byte) (*Report, error) {
	r := new(Report)
	if err := budget.TakeFor(budget.Process(), r, "a report", weight(data)); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, r); err != nil {
		if syntax := new(json.SyntaxError); errors.As(err, &syntax) {
			return nil, badReport("it is no JSON, or cut off, at byte %d of %d: %v", syntax.Offset, len(data), quote.Error(err))
		}
		return nil, badReport("%v", quote.Error(err))
	}
	if r.Format != Format {
		return nil, badReport("its format is %d; this program knows %d", r.Format, Format)
	}
	if err := checkTexts(r.Version, r.Go, r.System, r.Host.CPU, r.Host.Kernel, r.Host.Governor); err != nil {
		return nil, badReport("%v", err)
	}
	if len(r.Devices) == 0 && !r.Unfinished {
		return nil, badReport("no device")
	}
	type key struct {
		id   string
		size int64
	}
	seen := map[key]bool{}
	for i, d := range r.Devices {
		if d == nil {
			return nil, badReport("devices[%d] is null", i)
		}
		at := key{d.Device.ID, d.Size}
		if d.Device.ID == "" || seen[at] {
			return nil, badReport("devices[%d] has no id, or is %s at %d bytes, which is there twice", i, quote.Name(d.Device.ID), d.Size)
		}
		seen[at] = true
		if err := checkTexts(d.Device.ID, d.Device.Name, d.Device.Vendor, d.Device.Driver, string(d.Device.Kind), d.Clock); err != nil {
			return nil, badReport("devices[%d]: %v", i, err)
		}
		if err := d.check(r.Unfinished); err != nil {
			return nil, badReport("%s at %d bytes: %v", d.Device.ID, d.Size, err)
		}
	}
	return r, nil
}

// weight is the most bytes of memory that a report needs: a case without content is 3 bytes of
// the file.
func weight(data []byte) int64 {
	const object, member = 512, 32 // of each in memory
	objects, members := bytes.Count(data, []byte("{")), bytes.Count(data, []byte(","))
	return int64(len(data)) + object*int64(objects) + member*int64(members)
}

func badReport(text string, args ...any) error {
	return layout.Errorf(device.ErrInvalid, "report.Read", "a report of restride bench: "+text, args...)
}

func (r *Result) check(unfinished bool) error {
	switch {
	case r.Size < 1 || r.Sector < 1 || r.Passes < 0:
		return fmt.Errorf("a size of %d, sectors of %d, %d passes", r.Size, r.Sector, r.Passes)
	case r.Roofline == nil || r.Roofline.Copy == nil && !unfinished:
		return errors.New("no roofline")
	case bad(r.Seconds):
		return fmt.Errorf("%v seconds", r.Seconds)
	}
	if len(r.Readings) > r.Passes {
		return fmt.Errorf("%d readings of %d passes", len(r.Readings), r.Passes)
	}
	for i := range r.Readings {
		if err := r.Readings[i].check(); err != nil {
			return fmt.Errorf("readings[%d]: %w", i, err)
		}
	}
	if err := checkText(r.Roofline.Kernel); err != nil {
		return fmt.Errorf("roofline: %w", err)
	}
	for _, rate := range []*Rate{
		r.Roofline.Copy, r.Roofline.CopyAfter, r.Roofline.Driver, r.Roofline.Memcpy, r.Roofline.Fill,
		r.Roofline.Upload, r.Roofline.UploadPinned, r.Roofline.Download, r.Roofline.DownloadPinned,
	} {
		if rate != nil && (bad(rate.GBps) || rate.GBps == 0 || rate.Bytes < 1) {
			return fmt.Errorf("roofline: %v GB/s of %d bytes", rate.GBps, rate.Bytes)
		}
	}
	times := r.Roofline.Parts()
	if after := r.Roofline.CopyAfter; after != nil {
		times = append(times, Part{Name: "dense copy in the end", Time: &after.Timing})
	}
	seen := map[string]bool{}
	for i, c := range r.Cases {
		switch {
		case c == nil || c.Name == "":
			return fmt.Errorf("case %d is null or has no name", i)
		case seen[c.Name]:
			return fmt.Errorf("case %s is there twice", quote.Name(c.Name))
		case c.Time == nil && c.Error == "" && !unfinished:
			return fmt.Errorf("case %s has neither a time nor an error", quote.Name(c.Name))
		case c.Time != nil && c.Error != "":
			return fmt.Errorf("case %s has a time and an error", quote.Name(c.Name))
		case c.Logical < 0 || c.Touched < 0 || c.Rotated < 0 || bad(c.GBps) || bad(c.Ratio) || bad(c.MemcpyRatio) || bad(c.MemcpySpread) || bad(c.TouchedRatio):
			return fmt.Errorf("case %s has a negative figure, or one that is none", quote.Name(c.Name))
		}
		seen[c.Name] = true
		if err := checkTexts(c.Name, c.Class, c.Op, c.Case, c.Kernel, c.Verified); err != nil {
			return fmt.Errorf("case %d: %w", i, err)
		}
		for line := range strings.Lines(c.Error) {
			line = strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", " ")
			if line != quote.Text(line) {
				return fmt.Errorf("case %d: %.100q cannot be printed", i, c.Error)
			}
		}
		times = append(times, Part{Name: c.Name, Time: c.Time})
	}
	for _, t := range times {
		if t.Time == nil {
			continue
		}
		if err := t.Time.check(); err != nil {
			return fmt.Errorf("%s: %w", t.Name, err)
		}
	}
	for i, p := range r.Peers {
		if p == nil {
			return fmt.Errorf("peers[%d] is null", i)
		}
		if err := p.Check(); err != nil {
			return fmt.Errorf("peers[%d]: %w", i, err)
		}
	}
	return nil
}

func checkTexts(all ...string) error {
	for _, text := range all {
		if err := checkText(text); err != nil {
			return err
		}
	}
	return nil
}

// bad reports whether a figure is negative or not finite.
func bad(x float64) bool { return !(x >= 0 && x <= math.MaxFloat64) }

// A call lasts at least instant, in nanoseconds, and less than a day, so that rates are finite.
const (
	instant = 1e-3
	day     = float64(24 * time.Hour)
)

// check returns the reason why a timing is invalid.
func (t *Timing) check() error {
	switch {
	case t.Samples < 1 || t.Batch < 1:
		return fmt.Errorf("%d samples of %d calls: want at least 1 of 1", t.Samples, t.Batch)
	case !(t.Min >= instant && t.Max < day): // or one is NaN
		return fmt.Errorf("a call took %g to %g ns: want at least %g, and less than a day", t.Min, t.Max, instant)
	case !(t.Min <= t.Q1 && t.Q1 <= t.Median && t.Median <= t.Q3 && t.Q3 <= t.Max):
		return fmt.Errorf("times of %g, %g, %g, %g, %g ns: want min, q1, median, q3, max in order", t.Min, t.Q1, t.Median, t.Q3, t.Max)
	}
	for _, p := range t.Passes {
		if !(p >= t.Min && p <= t.Max) {
			return fmt.Errorf("a pass took %v, which no sample did", p)
		}
	}
	return nil
}

// WriteFile replaces a file by the report, atomically.
func (r *Report) WriteFile(path string) error {
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	f, err := file.Replace(path)
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err = f.Write(text); err == nil {
		err = f.Commit()
	}
	return quote.Error(err)
}
