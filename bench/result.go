package bench

import (
	"slices"
	"time"

	"github.com/restride/restride/device"
)

// Report is what a benchmark found on some devices. Times are in nanoseconds,
// sizes in bytes, rates in 10^9 bytes a second.
type Report struct {
	Format  int       `json:"format"` // 1
	Date    time.Time `json:"date"`
	Version string    `json:"version,omitempty"` // of this module, as far as the build knows it
	Go      string    `json:"go"`
	System  string    `json:"system"` // as "linux/amd64"
	CPUs    int       `json:"cpus"`
	Devices []*Result `json:"devices"`
	Peers   []*Peer   `json:"peers,omitempty"` // other libraries, in the same run
}

// Result is what a device did.
type Result struct {
	Device   Facts         `json:"device"`
	Size     int64         `json:"size"`   // that was asked for: see Case.At
	Clock    string        `json:"clock"`  // "device": its events keep time; or "host"
	Sector   int64         `json:"sector"` // the unit of touched bytes
	Seconds  float64       `json:"seconds"`
	Roofline *Roofline     `json:"roofline"`
	Cases    []*CaseResult `json:"cases"`
}

// Facts say what a device is.
type Facts struct {
	ID     string      `json:"id"`
	Name   string      `json:"name"`
	Vendor string      `json:"vendor,omitempty"`
	Driver string      `json:"driver"`
	Kind   device.Kind `json:"kind"`
	Memory int64       `json:"memory"`
}

// Timing is how long something took: what the samples say.
type Timing struct {
	Samples int     `json:"samples"`
	Batch   int     `json:"batch"` // calls in a sample, whose mean it is
	Median  float64 `json:"median_ns"`
	Min     float64 `json:"min_ns"`
	Q1      float64 `json:"q1_ns"`
	Q3      float64 `json:"q3_ns"`
	Max     float64 `json:"max_ns"`
}

// newTiming sorts the samples.
func newTiming(samples []float64, batch int) Timing {
	slices.Sort(samples)
	at := func(part float64) float64 { return samples[int(part*float64(len(samples)-1)+.5)] }
	return Timing{len(samples), batch, at(.5), at(0), at(.25), at(.75), at(1)}
}

// Spread is the range of the samples' middle half, as a part of the median.
func (t Timing) Spread() float64 { return (t.Q3 - t.Q1) / t.Median }

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
}

// GBps is the roofline: the largest rate of a plain copy.
func (r *Roofline) GBps() float64 {
	best := 0.
	for _, c := range []*Rate{r.Copy, r.Driver, r.Memcpy} {
		if c != nil {
			best = max(best, c.GBps)
		}
	}
	return best
}

// CaseResult is how fast one case is.
type CaseResult struct {
	Name     string  `json:"name"`
	Class    string  `json:"class"`
	Case     string  `json:"case"`             // as restride verify --case takes it
	Kernel   string  `json:"kernel,omitempty"` // the class that the device's planner gave it
	Verified string  `json:"verified,omitempty"`
	Logical  int64   `json:"logical_bytes"` // see LogicalBytes
	Touched  int64   `json:"touched_bytes"` // see TouchedBytes
	Rotated  int64   `json:"rotated_bytes"` // of the buffers that took turns
	Time     *Timing `json:"time,omitempty"`
	// Rates by logical bytes, and how much of the roofline they are: of a copy, the
	// time of the plainest one of as many bytes in terms of this one's.
	GBps  float64 `json:"gb_per_s,omitempty"`
	Ratio float64 `json:"ratio,omitempty"`
	// MemcpyRatio is the same to Roofline.Memcpy alone, where there is one.
	MemcpyRatio float64 `json:"memcpy_ratio,omitempty"`
	// The same by touched bytes.
	TouchedRatio float64 `json:"touched_ratio,omitempty"`
	// Error is why there are no figures, or that the result was wrong. Unsupported:
	// the device cannot do it, or has no memory for it.
	Error       string `json:"error,omitempty"`
	Unsupported bool   `json:"unsupported,omitempty"`
}

// Failed reports whether something was wrong.
func (c *CaseResult) Failed() bool { return c.Error != "" && !c.Unsupported }
