package report

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/restride/restride/device"
)

// Format is the version of the JSON form.
const Format = 2

// Report is the result of a benchmark on some devices. Times are in nanoseconds, sizes in
// bytes, rates in 10^9 bytes per second.
type Report struct {
	Format  int       `json:"format"` // Format
	Date    time.Time `json:"date"`
	Version string    `json:"version,omitempty"` // of this module, if the build knows it
	Go      string    `json:"go"`
	System  string    `json:"system"` // such as "linux/amd64"
	CPUs    int       `json:"cpus"`
	Host    Host      `json:"host"`
	Devices []*Result `json:"devices"`
	// Unfinished marks an interrupted run: some figures have fewer passes, some cases are
	// missing.
	Unfinished bool `json:"unfinished,omitempty"`
}

// Result is the result of a device at a size.
type Result struct {
	Device   Facts         `json:"device"`
	Size     int64         `json:"size"`               // as requested: see cases.Case.At
	Cached   bool          `json:"cached,omitempty"`   // each call uses the same buffers, which caches hold; otherwise buffers rotate
	Passes   int           `json:"passes,omitempty"`   // of a finished run: Timing.Passes has as many
	Clock    string        `json:"clock"`              // "device": times by its events; or "host"
	Readings []Reading     `json:"readings,omitempty"` // one for each pass
	Sector   int64         `json:"sector"`             // the unit of touched bytes
	Seconds  float64       `json:"seconds"`
	Roofline *Roofline     `json:"roofline"`
	Cases    []*CaseResult `json:"cases"`
	Peers    []*Peer       `json:"peers,omitempty"` // other libraries, in the same passes
}

// Host is the machine around the devices, as far as its system reports it.
type Host struct {
	CPU      string `json:"cpu,omitempty"`
	Memory   int64  `json:"memory,omitempty"`
	Kernel   string `json:"kernel,omitempty"`   // of the system, such as "6.18.44"
	Cache    int64  `json:"cache,omitempty"`    // the last level's
	MHz      int    `json:"mhz,omitempty"`      // of the first core: its highest under a governor, otherwise its present one
	Governor string `json:"governor,omitempty"` // of the first core's frequency
}

// Facts describe a device.
type Facts struct {
	ID     string      `json:"id"`
	Name   string      `json:"name"`
	Vendor string      `json:"vendor,omitempty"`
	Driver string      `json:"driver"`
	Kind   device.Kind `json:"kind"`
	Memory int64       `json:"memory"`
	MHz    int         `json:"mhz,omitempty"` // the highest clock, if the driver reports it
}

// Timing is the duration of something. The median and the quartiles of several passes are the
// medians of theirs.
type Timing struct {
	Samples int     `json:"samples"`
	Batch   int     `json:"batch"` // calls in a sample, which is their mean
	Median  float64 `json:"median_ns"`
	Min     float64 `json:"min_ns"`
	Q1      float64 `json:"q1_ns"`
	Q3      float64 `json:"q3_ns"`
	Max     float64 `json:"max_ns"`
	// Passes are the medians of each pass. Passes are apart in time, so they differ like two
	// runs; samples of one burst differ less.
	Passes []float64 `json:"passes_ns,omitempty"`
}

// NewTiming is the timing of a pass. It sorts the samples: nanoseconds, at least one.
func NewTiming(samples []float64, batch int) Timing {
	slices.Sort(samples)
	return Timing{
		Samples: len(samples), Batch: batch,
		Median: quantile(samples, .5), Min: samples[0], Q1: quantile(samples, .25), Q3: quantile(samples, .75), Max: samples[len(samples)-1],
	}
}

// quantile interpolates geometrically between sorted figures, so that the quantile of ratios is
// the inverse of the quantile of the inverse ratios.
func quantile(sorted []float64, part float64) float64 {
	at := part * float64(len(sorted)-1)
	i := int(at)
	if at == float64(i) {
		return sorted[i]
	}
	between := math.Pow(sorted[i+1]/sorted[i], at-float64(i))
	return min(max(sorted[i]*between, sorted[i]), sorted[i+1]) // despite rounding
}

// Summary joins the timings of passes. Each figure is the median of theirs, so that all
// passes count alike, though fast ones have more samples.
func Summary(passes []Timing) Timing {
	of := func(figure func(*Timing) float64) (all []float64, median float64) {
		for i := range passes {
			all = append(all, figure(&passes[i]))
		}
		sorted := slices.Sorted(slices.Values(all))
		return all, quantile(sorted, .5)
	}
	t := Timing{Batch: passes[0].Batch, Min: passes[0].Min, Max: passes[0].Max}
	for _, p := range passes {
		t.Samples += p.Samples
		t.Min, t.Max = min(t.Min, p.Min), max(t.Max, p.Max)
	}
	t.Passes, t.Median = of(func(t *Timing) float64 { return t.Median })
	_, t.Q1 = of(func(t *Timing) float64 { return t.Q1 })
	_, t.Q3 = of(func(t *Timing) float64 { return t.Q3 })
	return t
}

// extremes are the medians of the fastest and the slowest pass; for a single pass, the
// quartiles of its samples.
func (t Timing) extremes() (low, high float64) {
	if len(t.Passes) < 2 {
		return t.Q1, t.Q3
	}
	return slices.Min(t.Passes), slices.Max(t.Passes)
}

// Spread is the largest deviation of a pass from the median, as a part of the median; for a
// single pass, the deviation of its quartiles.
func (t Timing) Spread() float64 {
	low, high := t.extremes()
	return max(t.Median-low, high-t.Median) / t.Median
}

// Rate is the timing of an operation that moves bytes.
type Rate struct {
	Timing
	Bytes int64   `json:"bytes"` // read and written, each counted
	GBps  float64 `json:"gb_per_s"`
}

// Rate is the rate of moving the given number of bytes in this time.
func (t Timing) Rate(bytes int64) *Rate { return &Rate{t, bytes, float64(bytes) / t.Median} }

// Roofline is the bounds of a device. Bounds that the device does not have are null.
type Roofline struct {
	Copy      *Rate  `json:"copy"`                  // one dense buffer to another, by the device's kernel
	Kernel    string `json:"copy_kernel,omitempty"` // its name
	CopyAfter *Rate  `json:"copy_after,omitempty"`  // the same after all cases, to detect a machine that changed
	Driver    *Rate  `json:"driver_copy"`           // the same, by the driver
	Memcpy    *Rate  `json:"memcpy"`                // processors: by two goroutines, on huge pages
	Fill      *Rate  `json:"fill"`

	Upload         *Rate `json:"upload"` // from Go's memory, and waiting
	UploadPinned   *Rate `json:"upload_pinned"`
	Download       *Rate `json:"download"`
	DownloadPinned *Rate `json:"download_pinned"`

	Enqueue   *Timing `json:"enqueue"`    // of a tiny copy, on the host
	Launch    *Timing `json:"launch"`     // per copy of many tiny ones, until all are done
	RoundTrip *Timing `json:"round_trip"` // of a tiny copy, with a wait

	ReshapeLayout *Timing `json:"reshape_layout,omitempty"` // a view, on the host: of a layout
	ReshapeTensor *Timing `json:"reshape_tensor,omitempty"` // and of a tensor, with its release
}

// Part is one figure of a roofline.
type Part struct {
	Name  string
	About string // a longer name
	Time  *Timing
	Bytes int64 // that it moves; 0: the figure is the time of a call
}

// Figure is the rate, or the time of a call.
func (p Part) Figure() string {
	switch ns := p.Time.Median; {
	case p.Bytes > 0:
		return fmt.Sprintf("%.2f GB/s", float64(p.Bytes)/ns)
	case ns < 100:
		return fmt.Sprintf("%.1f ns", ns)
	default:
		return fmt.Sprintf("%.2f µs", ns/1e3)
	}
}

// Parts lists the figures, always all of them in the same order; Time is nil for those that the
// device does not have.
func (r *Roofline) Parts() []Part {
	rate := func(name, about string, r *Rate) Part {
		if r == nil {
			return Part{Name: name, About: about}
		}
		return Part{name, about, &r.Timing, r.Bytes}
	}
	return []Part{
		rate("dense copy", "dense copy by our kernel", r.Copy),
		rate("driver's copy", "dense copy by the driver", r.Driver),
		rate("memcpy", "memcpy by two goroutines", r.Memcpy),
		rate("fill", "fill, of what is written", r.Fill),
		rate("upload", "upload", r.Upload),
		rate("upload, pinned", "upload, pinned", r.UploadPinned),
		rate("download", "download", r.Download),
		rate("download, pinned", "download, pinned", r.DownloadPinned),
		{"queueing", "queueing a copy of 256 bytes", r.Enqueue, 0},
		{"launch", "one of many, until all are done", r.Launch, 0},
		{"round trip", "one that is waited for", r.RoundTrip, 0},
		{"reshaping a layout", "reshaping a layout: no copy", r.ReshapeLayout, 0},
		{"reshaping a tensor", "reshaping a tensor: no copy", r.ReshapeTensor, 0},
	}
}

// roof is the yardstick of a case.
func (r *Roofline) roof(c *CaseResult) *Rate {
	if c.Fills() {
		return r.Fill
	}
	return r.Fastest()
}

// Fastest is the plain copy with the largest rate; nil if none was measured.
func (r *Roofline) Fastest() *Rate {
	var best *Rate
	for _, c := range []*Rate{r.Copy, r.Driver, r.Memcpy} {
		if c != nil && (best == nil || c.GBps > best.GBps) {
			best = c
		}
	}
	return best
}

// CaseResult is how fast one case is.
type CaseResult struct {
	Name     string  `json:"name"`
	Class    string  `json:"class"`
	Op       string  `json:"op"`               // "copy", "convert", "fill", "take" and so on
	Case     string  `json:"case"`             // in the form of restride verify --case
	Kernel   string  `json:"kernel,omitempty"` // chosen by the device's planner
	Verified string  `json:"verified,omitempty"`
	Logical  int64   `json:"logical_bytes"` // see cases.LogicalBytes
	Touched  int64   `json:"touched_bytes"` // the least traffic of memory, in sectors: see cases.Touched
	Rotated  int64   `json:"rotated_bytes"` // of all buffers
	Time     *Timing `json:"time,omitempty"`
	GBps     float64 `json:"gb_per_s,omitempty"` // of logical bytes
	// Ratio is that rate to the roof's: the fastest plain copy, or for a fill the plain
	// fill. Both are of the same pass, since machines change their speed; this is the
	// median of passes. MemcpyRatio is the same to Roofline.Memcpy, where there is one,
	// and 0 for a fill, which does not read; MemcpySpread is its Timing.Spread.
	Ratio        float64 `json:"ratio,omitempty"`
	MemcpyRatio  float64 `json:"memcpy_ratio,omitempty"`
	MemcpySpread float64 `json:"memcpy_spread,omitempty"`
	TouchedRatio float64 `json:"touched_ratio,omitempty"` // Ratio by touched bytes
	// Error is the reason for missing figures, such as a wrong result. Unsupported: the device
	// cannot do it, or has no memory for it.
	Error       string `json:"error,omitempty"`
	Unsupported bool   `json:"unsupported,omitempty"`
}

// Fills reports whether the case only writes, so that its roof is the plain fill.
func (c *CaseResult) Fills() bool { return c.Op == "fill" }

// Failed reports whether the case has an error other than being unsupported.
func (c *CaseResult) Failed() bool { return c.Error != "" && !c.Unsupported }

// Relate computes the rates and ratios of all cases from their times.
func (r *Result) Relate() {
	for _, c := range r.Cases {
		c.GBps, c.Ratio, c.MemcpyRatio, c.MemcpySpread, c.TouchedRatio = 0, 0, 0, 0, 0
		if c.Time == nil {
			continue
		}
		roof := r.Roofline.roof(c)
		c.GBps = float64(c.Logical) / c.Time.Median
		c.Ratio, _ = c.ratio(roof)
		c.TouchedRatio = c.Ratio * float64(c.Touched) / float64(c.Logical)
		if m := r.Roofline.Memcpy; m != nil && roof != r.Roofline.Fill {
			c.MemcpyRatio, c.MemcpySpread = c.ratio(m)
		}
	}
}

// ratio is a case's rate to another, with its spread.
func (c *CaseResult) ratio(to *Rate) (ratio, spread float64) {
	t := relative(c.Time, &to.Timing)
	return float64(c.Logical) / float64(to.Bytes) / t.Median, t.Spread()
}
