package bench

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/oracle"
)

// Report is what a benchmark found on some devices. Times are in nanoseconds,
// sizes in bytes, rates in 10^9 bytes a second.
type Report struct {
	Format  int       `json:"format"` // 2
	Date    time.Time `json:"date"`
	Version string    `json:"version,omitempty"` // of this module, as far as the build knows it
	Go      string    `json:"go"`
	System  string    `json:"system"` // as "linux/amd64"
	CPUs    int       `json:"cpus"`
	Host    Host      `json:"host"`
	Devices []*Result `json:"devices"`
	// Unfinished says that the run was interrupted: what it measured until then is
	// here, some of it in fewer passes, some cases not at all.
	Unfinished bool `json:"unfinished,omitempty"`
}

// Result is what a device did at a size.
type Result struct {
	Device   Facts         `json:"device"`
	Size     int64         `json:"size"`               // that was asked for: see Case.At
	Cached   bool          `json:"cached,omitempty"`   // the same buffers each time, which caches hold; otherwise some take turns
	Passes   int           `json:"passes,omitempty"`   // how often the run came by each figure; Timing.Passes has as many, when it is finished
	Clock    string        `json:"clock"`              // "device": its events keep time; or "host"
	Readings []Reading     `json:"readings,omitempty"` // what the machine did, one for each pass
	Sector   int64         `json:"sector"`             // the unit of touched bytes
	Seconds  float64       `json:"seconds"`
	Roofline *Roofline     `json:"roofline"`
	Cases    []*CaseResult `json:"cases"`
	Peers    []*Peer       `json:"peers,omitempty"` // other libraries, in the same passes
}

// Facts say what a device is.
type Facts struct {
	ID     string      `json:"id"`
	Name   string      `json:"name"`
	Vendor string      `json:"vendor,omitempty"`
	Driver string      `json:"driver"`
	Kind   device.Kind `json:"kind"`
	Memory int64       `json:"memory"`
	MHz    int         `json:"mhz,omitempty"` // the highest clock, where the driver tells
}

// Timing is how long something took. Of several passes, the median and the quartiles are
// the medians of what each says.
type Timing struct {
	Samples int     `json:"samples"`
	Batch   int     `json:"batch"` // calls in a sample, whose mean it is
	Median  float64 `json:"median_ns"`
	Min     float64 `json:"min_ns"`
	Q1      float64 `json:"q1_ns"`
	Q3      float64 `json:"q3_ns"`
	Max     float64 `json:"max_ns"`
	// Passes are the medians of each pass of the run. Passes are apart in time, so
	// they say what samples of one burst do not: what another run may find.
	Passes []float64 `json:"passes_ns,omitempty"`
}

// newTiming sorts the samples of a pass.
func newTiming(samples []float64, batch int) Timing {
	slices.Sort(samples)
	return Timing{
		Samples: len(samples), Batch: batch,
		Median: quantile(samples, .5), Min: samples[0], Q1: quantile(samples, .25), Q3: quantile(samples, .75), Max: samples[len(samples)-1],
	}
}

// quantile is what so large a part of sorted figures is below. Between two of them
// lies their geometric mean: so that of ratios is the other way round what that of the
// inverse ratios is.
func quantile(sorted []float64, part float64) float64 {
	at := part * float64(len(sorted)-1)
	i := int(at)
	if at == float64(i) {
		return sorted[i]
	}
	between := math.Pow(sorted[i+1]/sorted[i], at-float64(i))
	return min(max(sorted[i]*between, sorted[i]), sorted[i+1]) // whatever is rounded
}

// summary puts the timings of passes together: each figure is the median of theirs, so
// that all passes count alike, though fast ones have more samples.
func summary(passes []Timing) Timing {
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

// Range is what the time varies in: between the fastest and the slowest pass. Of
// what was sampled in one pass it is the middle half of the samples.
func (t Timing) Range() (low, high float64) {
	if len(t.Passes) < 2 {
		return t.Q1, t.Q3
	}
	return slices.Min(t.Passes), slices.Max(t.Passes)
}

// Spread is how far the range goes from the median at most, as a part of it.
func (t Timing) Spread() float64 {
	low, high := t.Range()
	return max(t.Median-low, high-t.Median) / t.Median
}

// Rate is a timing of something that moves bytes.
type Rate struct {
	Timing
	Bytes int64   `json:"bytes"` // read and written, each counted
	GBps  float64 `json:"gb_per_s"`
}

func (t Timing) rate(bytes int64) *Rate { return &Rate{t, bytes, float64(bytes) / t.Median} }

// Roofline is what bounds a device. What it does not have is null.
type Roofline struct {
	Copy      *Rate  `json:"copy"`                  // one dense buffer to another, by our kernel
	Kernel    string `json:"copy_kernel,omitempty"` // its name
	CopyAfter *Rate  `json:"copy_after,omitempty"`  // the same when all cases are done: whether the machine still is what it was
	Driver    *Rate  `json:"driver_copy"`           // the same, by the driver
	Memcpy    *Rate  `json:"memcpy"`                // processors: by two goroutines, on huge pages
	Fill      *Rate  `json:"fill"`

	Upload         *Rate `json:"upload"` // from Go's memory, and waiting
	UploadPinned   *Rate `json:"upload_pinned"`
	Download       *Rate `json:"download"`
	DownloadPinned *Rate `json:"download_pinned"`

	Enqueue   *Timing `json:"enqueue"`    // of a tiny copy, on the host
	Launch    *Timing `json:"launch"`     // of one of many tiny copies, until all are done
	RoundTrip *Timing `json:"round_trip"` // of a tiny copy that is waited for

	ReshapeLayout *Timing `json:"reshape_layout,omitempty"` // what moves nothing, on the host: of a layout
	ReshapeTensor *Timing `json:"reshape_tensor,omitempty"` // and of a tensor, which is released
}

// Part is one figure of a roofline.
type Part struct {
	Name  string
	About string // the same for people who read it the first time
	Time  *Timing
	Bytes int64 // that it moves; 0: what counts is the call
}

// Figure is the rate, or the time of what moves nothing to speak of.
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

// Parts lists the figures in an order that stays; the Time of one that the device
// does not have is nil.
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

// roof is what a case is held against.
func (r *Roofline) roof(c *CaseResult) *Rate {
	if c.Op == string(oracle.OpFill) {
		return r.Fill
	}
	return r.Fastest()
}

// GBps is the roofline: the largest rate of a plain copy.
func (r *Roofline) GBps() float64 {
	if c := r.Fastest(); c != nil {
		return c.GBps
	}
	return 0
}

// Fastest is that copy; nil where none was measured.
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
	Op       string  `json:"op"`               // "copy", "convert", "fill" or "take"
	Case     string  `json:"case"`             // as restride verify --case takes it
	Kernel   string  `json:"kernel,omitempty"` // the class that the device's planner gave it
	Verified string  `json:"verified,omitempty"`
	Logical  int64   `json:"logical_bytes"` // see LogicalBytes
	Touched  int64   `json:"touched_bytes"` // see TouchedBytes
	Rotated  int64   `json:"rotated_bytes"` // of the buffers that took turns
	Time     *Timing `json:"time,omitempty"`
	// Rates by logical bytes, and how much of the roofline they are: the time of the
	// fastest plain copy of as many bytes in terms of this one's, or, for a fill, of the
	// plain fill. Both are of the same pass, and this is the passes' median: machines
	// change their speed.
	GBps  float64 `json:"gb_per_s,omitempty"`
	Ratio float64 `json:"ratio,omitempty"`
	// MemcpyRatio is the same to Roofline.Memcpy alone, where there is one; 0 for a fill,
	// which does not read.
	MemcpyRatio float64 `json:"memcpy_ratio,omitempty"`
	// MemcpySpread is how far from that the ratios of single passes are, at most, as
	// a part of it.
	MemcpySpread float64 `json:"memcpy_spread,omitempty"`
	// The same by touched bytes.
	TouchedRatio float64 `json:"touched_ratio,omitempty"`
	// Error is why there are no figures, or that the result was wrong. Unsupported:
	// the device cannot do it, or has no memory for it.
	Error       string `json:"error,omitempty"`
	Unsupported bool   `json:"unsupported,omitempty"`
}

// Failed reports whether something was wrong.
func (c *CaseResult) Failed() bool { return c.Error != "" && !c.Unsupported }
