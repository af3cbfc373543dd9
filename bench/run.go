package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/oracle"
	"github.com/restride/restride/layout"
)

// Options say how to measure. The zero Options are right for most uses.
type Options struct {
	Cases []Case        // nil: Cases()
	Size  int64         // in bytes, see Case.At; 0: DefaultSize
	Time  time.Duration // for the samples of one figure, in all passes, of which each has at least 3; 0: 200 ms
	Seed  uint64        // of the data
	// Peers are asked for each case of each pass, right after the device. Who started
	// them closes them.
	Peers []*PeerProcess
	// Progress is called when a pass has the roofline, and after each of its cases,
	// with what the passes so far say and how much of the run is done, up to 1.
	Progress func(r *Result, part float64)
}

// DefaultSize is the size for a device: so large that a batch is no matter of the
// calls, nor of the caches.
func DefaultSize(i device.Info) int64 {
	if i.Kind == device.CPU {
		return Reference
	}
	return 4 * Reference
}

// NewReport returns an empty report of this machine.
func NewReport() *Report {
	r := &Report{
		Format: format, Date: time.Now().UTC().Truncate(time.Second), Go: runtime.Version(),
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

// runner takes a device through the cases.
type runner struct {
	Options
	dev   device.Device
	q     device.Queue
	meter *meter
	noise []byte // what sources hold
	// scratch is for what is read back.
	scratch []byte
	// footprint is the size from which on caches hold little of what takes turns.
	footprint int64
	series    map[string]*series
	now       *Reading // the pass's
	start     time.Time
	done      int // pieces of work
}

// Run measures a device. A case that fails, or gives a wrong result, has that in
// its Error, and the others go on; what else fails is returned.
func Run(ctx context.Context, dev device.Device, o Options) (result *Result, err error) {
	info := dev.Info()
	r := &runner{Options: o, dev: dev, start: time.Now(), footprint: footprint(), series: map[string]*series{}}
	if r.Cases == nil {
		r.Cases = Cases()
	}
	if r.Size == 0 {
		r.Size = DefaultSize(info)
	}
	if r.Size < 1 || r.Time < 0 {
		return nil, layout.Errorf(device.ErrInvalid, "bench", "size %d, time %v: want a size of at least 1, and a time of at least 0", r.Size, r.Time)
	}
	if r.Time == 0 {
		r.Time = 200 * time.Millisecond
	}
	if r.q, err = dev.NewQueue(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.q.Close()) }()
	if r.meter, err = newMeter(ctx, r.q, r.Time/Passes); err != nil {
		return nil, err
	}
	result = &Result{
		Device: Facts{info.ID(), info.Name, info.Vendor, info.Driver, info.Kind, info.Memory, info.MHz},
		Size:   r.Size, Cached: cached(r.Size), Passes: Passes, Clock: "host", Sector: 32, Roofline: new(Roofline), Cases: []*CaseResult{},
	}
	for _, p := range r.Peers {
		result.Peers = append(result.Peers, &Peer{Name: p.Peer, Device: p.Device, Cases: []*PeerCase{}})
	}
	if r.meter.clock {
		result.Clock = "device"
	}
	if info.Kind == device.CPU {
		result.Sector = 64 // a cache line
	} else {
		r.footprint = 512 << 20 // caches of GPUs have grown to a quarter of this
	}
	r.hold(r.Size)
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

// pass goes through everything once.
func (r *runner) pass(result *Result) error {
	result.Readings = append(result.Readings, Reading{})
	r.now = &result.Readings[len(result.Readings)-1]
	begin := ticksNow()
	if err := r.roofline(result.Roofline); err != nil {
		return err
	}
	progress := func() {
		r.done++
		result.relate()
		r.now.since(begin, ticksNow())
		result.Seconds = time.Since(r.start).Seconds()
		if r.Progress != nil {
			r.Progress(result, float64(r.done)/float64(Passes*(1+len(r.Cases))))
		}
	}
	progress()
	for i, c := range r.Cases {
		if i == len(result.Cases) { // in the first pass
			result.Cases = append(result.Cases, &CaseResult{Name: c.Name, Class: c.Class})
		}
		one := result.Cases[i]
		if one.Error == "" {
			err := r.run(c, one, result.Sector)
			if err == nil {
				before := ticksNow()
				err = r.askPeers(c, result.Peers)
				begin = begin.without(before, ticksNow()) // peers are no strangers
			}
			if err != nil {
				if r.meter.ctx.Err() != nil {
					result.relate() // ours may be there, without theirs
					return err
				}
				one.fail(err)
			}
		}
		progress()
	}
	return nil
}

// of returns the samples of something.
func (r *runner) of(name string) *series {
	s := r.series[name]
	if s == nil {
		s = new(series)
		r.series[name] = s
	}
	return s
}

// measure takes a pass's samples of something, and says what all passes so far do.
func (r *runner) measure(name string, turns int, call func(i int) error) (Timing, error) {
	return r.measureBy(r.meter, name, turns, call)
}

// measurePlain is measure for what everything is compared with: it takes its time.
func (r *runner) measurePlain(m *meter, name string, turns int, call func(i int) error) (Timing, error) {
	patient := *m
	patient.budget *= 4
	return r.measureBy(&patient, name, turns, call)
}

// measureHost is measure for calls that wait by themselves, by the host's clock.
func (r *runner) measureHost(name string, turns int, call func(i int) error) (Timing, error) {
	return r.measureBy(r.meter.byHost(), name, turns, call)
}

func (r *runner) measureBy(m *meter, name string, turns int, call func(i int) error) (Timing, error) {
	s := r.of(name)
	if err := m.pass(s, turns, call); err != nil {
		return Timing{}, err
	}
	return s.timing(), nil
}

// hold has noise of at least so many bytes.
func (r *runner) hold(bytes int64) {
	if int64(len(r.noise)) < bytes {
		r.noise = randomBytes(bytes, r.Seed)
	}
}

// turns is how many operands of so many bytes take turns: see there.
func (r *runner) turns(bytes int64) int { return turns(r.Size, bytes, r.footprint) }

// run measures a case, for one pass.
func (r *runner) run(c Case, out *CaseResult, sector int64) (err error) {
	at, err := c.At(r.Size)
	if err != nil {
		return err
	}
	out.Case, out.Op = at.String(), string(at.Op)
	if out.Logical, err = LogicalBytes(at); err != nil {
		return err
	}
	out.Touched = TouchedBytes(at, sector)
	all, err := r.operands(at)
	defer func() {
		for i := range all {
			err = errors.Join(err, all[i].Free())
		}
	}()
	if err != nil {
		return err
	}
	out.Rotated = 0
	for i := range all {
		out.Rotated += all[i].size()
	}
	if at.Op != oracle.OpCopy {
		out.Kernel = string(at.Op) // nobody tells more
	} else if namer, ok := r.q.(device.KernelNamer); ok {
		out.Kernel = namer.KernelName(all[0].Dst, all[0].Src)
	}
	if out.Verified == "" {
		if out.Verified, err = r.verify(c, at, &all[0]); err != nil {
			return err
		}
	}
	t, err := r.measure("case "+c.Name, len(all), func(i int) error { return all[i%len(all)].Run(r.q) })
	if err != nil {
		return err
	}
	out.Time = &t
	return nil
}

// fail says why there are no figures.
func (c *CaseResult) fail(err error) {
	c.Verified, c.Time, c.Error = "", nil, plainText(err.Error())
	c.Unsupported = errors.Is(err, device.ErrUnsupported) || errors.Is(err, device.ErrOutOfMemory)
}

// relate sets what follows from times.
func (r *Result) relate() {
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

// ratio is a case's rate by another.
func (c *CaseResult) ratio(to *Rate) (ratio, spread float64) {
	t := relative(c.Time, &to.Timing)
	return float64(c.Logical) / float64(to.Bytes) / t.Median, t.Spread()
}

// operands returns those that take turns, with noise in what is read and something
// in what is written, so that its pages are there.
func (r *runner) operands(at Operation) (all []Operands, err error) {
	indices, err := at.indices(r.Seed)
	if err != nil {
		return nil, err
	}
	for n := 1; len(all) < n; {
		o, err := NewOperands(r.dev, at)
		if err != nil {
			return all, fmt.Errorf("operands %d: %w", len(all), err)
		}
		all = append(all, o)
		n = r.turns(o.size())
		if o.Src.Buffer != nil {
			size := o.Src.Buffer.Size()
			r.hold(size)
			err = r.q.Write(o.Src.Buffer, 0, r.noise[:size])
		}
		if err := errors.Join(err, o.writeIndices(r.q, indices), o.poison(r.q)); err != nil {
			return all, err
		}
	}
	return all, r.q.Wait()
}
