package adversary

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/restride/restride/internal/bench/page"
	"github.com/restride/restride/internal/bench/report"
)

func init() {
	register(Generator{
		Name: "reports", About: "changed reports of benchmarks: read, printed, compared and shown as a page, or refused",
		Host: true, Try: tryReport,
	})
}

// reportBounds: a report is read from a file of its size, and its output is at most some
// hundred times as long.
var reportBounds = bounds{memory: 256 << 20, time: 5 * time.Second, grace: 5 * time.Second}

func tryReport(t *Trial) error {
	base := sampleReport(t.Rand)
	text, err := json.Marshal(base)
	if err != nil {
		return err
	}
	if _, err := report.Read(text); err != nil {
		return fmt.Errorf("a valid report: %w", err)
	}
	changed := changedJSON(t.Rand, text)
	if _, err = reportBounds.hold(t.Dir, func(context.Context) error {
		r, err := report.Read(changed)
		if err != nil {
			return err
		}
		return show(base, r)
	}); err != nil {
		return fmt.Errorf("%w, with the report %.8000q", err, changed)
	}
	return nil
}

// show processes a report like commands do, and checks their output.
func show(old, now *report.Report) error {
	var out bytes.Buffer
	for _, d := range now.Devices {
		(&report.Table{W: &out}).Close(d)
	}
	for _, pair := range [][2]*report.Report{{old, now}, {now, old}, {now, now}} {
		c := report.Compare(pair[0], pair[1])
		c.Print(&out)
		if n := c.Regressions(); pair[0] == pair[1] && n != 0 {
			return fmt.Errorf("it has %d regressions to itself", n)
		}
	}
	if err := now.WriteBenchmarks(&out); err != nil {
		return err
	}
	if err := checkText(out.String()); err != nil {
		return err
	}
	out.Reset()
	if err := page.Write(&out, now); err != nil {
		return err
	}
	html := out.String()
	for _, spoiled := range []string{"<script>alert", "<img", "NaN", "+Inf"} {
		if at := strings.Index(html, spoiled); at >= 0 {
			return fmt.Errorf("the page has %q: %.200q", spoiled, html[max(at-80, 0):])
		}
	}
	return checkText(html)
}

// sampleReport is a small report of random figures.
func sampleReport(rng *rand.Rand) *report.Report {
	timing := func() report.Timing {
		ns := 100 + 1e6*rng.Float64()
		return report.Summary([]report.Timing{report.NewTiming([]float64{ns, ns * 1.1, ns * 0.9}, 1), report.NewTiming([]float64{ns * 1.02}, 1)})
	}
	rate := func() *report.Rate { return timing().Rate(1 << 20) }
	r := &report.Report{Format: report.Format, Date: time.Unix(1e9, 0).UTC(), Go: "go1.26", System: "linux/amd64", CPUs: 2, Host: report.Host{CPU: "A Processor", Memory: 1 << 34}}
	for i := range 1 + rng.IntN(3) {
		call := timing()
		d := &report.Result{
			Device: report.Facts{ID: fmt.Sprint("gpu:", i), Name: "A Device", Driver: "driver 1", Kind: "gpu", Memory: 1 << 30},
			Size:   1 << 20, Clock: "device", Sector: 32, Seconds: 2, Passes: 2,
			Roofline: &report.Roofline{Copy: rate(), Kernel: "contiguous.128", CopyAfter: rate(), Driver: rate(), Memcpy: rate(), Fill: rate(), Upload: rate(), Enqueue: &call},
			Readings: []report.Reading{{MHz: 1000, Celsius: 50, HeldBack: []string{"heat"}}, {Watts: 70, HeldBack: []string{}}},
		}
		peer := &report.Peer{Name: "Peer 1.0", Device: "its device"}
		for n := range 1 + rng.IntN(5) {
			t := timing()
			name := fmt.Sprintf("a-case/%d", 8<<n)
			c := &report.CaseResult{Name: name, Class: "a", Op: "copy", Case: "copy/int8/16/dst=1@0/src=1@0", Kernel: "k.8", Logical: 1 << 20, Touched: 1 << 20, Verified: "all", Time: &t}
			if rng.IntN(4) == 0 {
				c.Time, c.Error = nil, "no\nluck"
			}
			d.Cases = append(d.Cases, c)
			peer.Cases = append(peer.Cases, &report.PeerCase{Name: name, Timing: timing(), Verified: "all"})
		}
		d.Peers = []*report.Peer{peer}
		d.Relate()
		r.Devices = append(r.Devices, d)
	}
	return r
}
