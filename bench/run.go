package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/bench/cases"
	"github.com/restride/restride/internal/bench/peers"
	"github.com/restride/restride/internal/bench/report"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// Options of a run. Zero Options suit most uses.
type Options struct {
	Cases []cases.Case // nil: cases.All()
	Size  int64        // in bytes, see cases.Case.At; 0: DefaultSize
	// Cached: each call uses the same buffers, which stay in caches if they fit. It is the
	// default at the sizes of a processor's second-level cache.
	Cached bool
	Time   time.Duration // for the samples of a figure in all passes, each of at least 3; 0: 200 ms
	Seed   uint64        // of the data
	// Peers measure each case of each pass, directly after the device. The caller closes them.
	Peers []*peers.Process
	// Progress is called after the roofline of a pass and after each of its cases, with
	// the figures of all passes so far and the part of the run that is done, up to 1.
	Progress func(r *report.Result, part float64)

	footprint int64 // bytes of rotating buffers; 0: the device's footprint
}

// DefaultSize is the size for a device at which neither calls nor caches matter; or, for cached
// runs, at which caches hold everything.
func DefaultSize(i device.Info, inCaches bool) int64 {
	if inCaches {
		return cachedSize(i)
	}
	if i.Kind == device.CPU {
		return cases.Reference
	}
	return 4 * cases.Reference
}

// NewReport returns an empty report of this machine.
func NewReport() *report.Report {
	r := &report.Report{
		Format: report.Format, Date: time.Now().UTC().Truncate(time.Second), Go: runtime.Version(),
		System: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(), Host: host(),
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		r.Version = info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				r.Version = s.Value
			}
		}
	}
	return r
}

// runner measures the cases on a device.
type runner struct {
	Options
	dev   device.Device
	q     device.Queue
	meter *meter
	contents
	scarce  bool   // memory is short: no mirror of the noise
	scratch []byte // for results
	series  map[string]*series
	now     *report.Reading // the pass's
	start   time.Time
	done    int // steps of progress
}

// Run measures a device. A case that fails or is wrong has an Error, and the run continues; any
// other failure ends it.
func Run(ctx context.Context, dev device.Device, o Options) (result *report.Result, err error) {
	if ctx == nil || dev == nil {
		return nil, layout.Errorf(device.ErrInvalid, "bench", "the context or the device is nil")
	}
	info := dev.Info()
	r := &runner{Options: o, dev: dev, start: time.Now(), series: map[string]*series{}}
	if r.Cases == nil {
		r.Cases = cases.All()
	}
	if r.Size == 0 {
		r.Size = DefaultSize(info, r.Cached)
	}
	if r.Size < 1 || r.Time < 0 {
		return nil, layout.Errorf(device.ErrInvalid, "bench", "size %d, time %v: want a size of at least 1, and a time of at least 0", r.Size, r.Time)
	}
	r.Cached = r.Cached || cached(r.Size)
	if r.Time == 0 {
		r.Time = 200 * time.Millisecond
	}
	if r.footprint == 0 {
		r.footprint = footprint(info.Kind)
	}
	if r.q, err = dev.NewQueue(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.q.Close()) }()
	if r.meter, err = newMeter(ctx, r.q, r.Time/Passes); err != nil {
		return nil, err
	}
	result = &report.Result{
		Device: report.Facts{ID: info.ID(), Name: quote.Text(info.Name), Vendor: quote.Text(info.Vendor), Driver: quote.Text(info.Driver), Kind: info.Kind, Memory: info.Memory, MHz: info.MHz},
		Size:   r.Size, Cached: r.Cached, Passes: Passes, Clock: "host", Sector: 32, Roofline: new(report.Roofline), Cases: []*report.CaseResult{},
	}
	for _, p := range r.Peers {
		result.Peers = append(result.Peers, &report.Peer{Name: p.Peer, Device: p.Device, Cases: []*report.PeerCase{}})
	}
	if r.meter.clock {
		result.Clock = "device"
	}
	if info.Kind == device.CPU {
		result.Sector = 64 // a cache line
	}
	r.seed = r.Seed
	if info.Kind == device.GPU {
		r.kept, r.room = map[string][]byte{}, mostKept
	}
	defer func() { err = errors.Join(err, r.dropMirror()) }()
	if err := r.hold(r.Size); err != nil {
		return nil, err
	}
	for range Passes {
		if err := r.pass(result); err != nil {
			return nil, err
		}
	}
	if result.Roofline.CopyAfter, err = r.again(); err != nil {
		return nil, err
	}
	result.Seconds = time.Since(r.start).Seconds()
	return result, nil
}

func (r *runner) onGPU() bool { return r.dev.Info().Kind == device.GPU }

// pass measures every figure once.
func (r *runner) pass(result *report.Result) error {
	result.Readings = append(result.Readings, report.Reading{})
	r.now = &result.Readings[len(result.Readings)-1]
	begin := ticksNow()
	if err := r.roofline(result.Roofline); err != nil {
		return err
	}
	progress := func() {
		r.done++
		result.Relate()
		since(r.now, begin, ticksNow())
		result.Seconds = time.Since(r.start).Seconds()
		if r.Progress != nil {
			r.Progress(result, float64(r.done)/float64(Passes*(1+len(r.Cases))))
		}
	}
	progress()
	for i, c := range r.Cases {
		if i == len(result.Cases) { // in the first pass
			result.Cases = append(result.Cases, &report.CaseResult{Name: c.Name, Class: c.Class})
		}
		one := result.Cases[i]
		if one.Error == "" {
			rotation, err := r.run(c, one, result.Sector)
			if err == nil {
				before := ticksNow()
				err = r.askPeers(c, rotation, result.Peers)
				begin = begin.without(before, ticksNow()) // peers do not count as other processes
			}
			if err != nil {
				if r.meter.ctx.Err() != nil {
					result.Relate() // of our own figures
					return err
				}
				fail(one, err)
			}
		}
		progress()
	}
	return nil
}

// of returns the series of a figure.
func (r *runner) of(name string) *series {
	s := r.series[name]
	if s == nil {
		s = new(series)
		r.series[name] = s
	}
	return s
}

// measure adds a pass to a figure, and returns the timing of all passes so far.
func (r *runner) measure(name string, rotation int, call func(i int) error) (report.Timing, error) {
	return r.measureBy(r.meter, name, rotation, call)
}

// measurePlain is measure for plain copies, the yardsticks, with more samples.
func (r *runner) measurePlain(m *meter, name string, rotation int, call func(i int) error) (*report.Rate, error) {
	patient := *m
	patient.budget *= 4
	t, err := r.measureBy(&patient, name, rotation, call)
	if err != nil {
		return nil, err
	}
	return t.Rate(2 * r.Size), nil
}

// measureHost is measure for calls that wait themselves, by the host's clock.
func (r *runner) measureHost(name string, rotation int, call func(i int) error) (report.Timing, error) {
	return r.measureBy(r.meter.byHost(), name, rotation, call)
}

func (r *runner) measureBy(m *meter, name string, rotation int, call func(i int) error) (report.Timing, error) {
	s := r.of(name)
	if err := m.pass(s, rotation, call); err != nil {
		return report.Timing{}, err
	}
	return s.timing(), nil
}

// rotation is the number of operands of the given size that rotate.
func (r *runner) rotation(bytes int64) int {
	if r.Cached {
		return 1
	}
	return rotation(bytes, r.footprint)
}

// run measures a case, for one pass, and returns the number of operands that rotated.
func (r *runner) run(c cases.Case, out *report.CaseResult, sector int64) (rotation int, err error) {
	at, err := c.At(r.Size)
	if err != nil {
		return 0, err
	}
	out.Case, out.Op = at.String(), string(at.Op)
	if out.Logical, err = cases.LogicalBytes(at); err != nil {
		return 0, err
	}
	read, written := cases.Touched(at, sector)
	out.Touched = read + written
	all, err := r.operands(at)
	defer func() {
		for i := range all {
			err = errors.Join(err, all[i].Free())
		}
	}()
	if err != nil {
		return 0, err
	}
	out.Rotated = 0
	for i := range all {
		out.Rotated += all[i].size()
	}
	if at.Op != oracle.OpCopy {
		out.Kernel = string(at.Op) // planners name only copies
	} else if namer, ok := device.As[device.KernelNamer](r.q); ok {
		_, out.Kernel = namer.KernelName(all[0].Dst, all[0].Src)
	}
	if out.Verified == "" {
		if out.Verified, err = r.verify(c, at, &all[0]); err != nil {
			return 0, err
		}
	}
	t, err := r.measure("case "+c.Name, len(all), func(i int) error { return all[i%len(all)].Run(r.q) })
	if err != nil {
		return 0, err
	}
	out.Time = &t
	return len(all), nil
}

// fail replaces the figures of a case by an error.
func fail(c *report.CaseResult, err error) {
	c.Verified, c.Time, c.Error = "", nil, quote.Lines(err.Error())
	c.Unsupported = errors.Is(err, device.ErrUnsupported) || errors.Is(err, device.ErrOutOfMemory)
}

// operands returns rotating operands, with noise in sources and every page of memory written.
func (r *runner) operands(at oracle.Case) (all []Operands, err error) {
	filled := &Operands{}
	for n := 1; len(all) < n; {
		var o Operands
		err := r.roomy(func() (err error) { o, err = NewOperands(r.dev, at); return err })
		if err != nil {
			return all, fmt.Errorf("operands %d: %w", len(all), err)
		}
		all = append(all, o)
		n = r.rotation(o.size())
		if err := r.hold(o.Noise()); err != nil {
			return all, err
		}
		if err := o.fill(r.q, &r.contents, filled); err != nil {
			return all, err
		}
		if r.mirror != nil {
			filled = &all[0]
		}
	}
	return all, r.q.Wait()
}
