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
	Time  time.Duration // for the samples of one figure, of which there are at least 9; 0: 200 ms
	Seed  uint64        // of the data
	// Progress is called when the roofline is there, and after each case.
	Progress func(*Result)
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
		Format: 1, Date: time.Now().UTC().Truncate(time.Second), Go: runtime.Version(),
		System: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(),
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
}

// Run measures a device. A case that fails, or gives a wrong result, has that in
// its Error, and the others go on; what else fails is returned.
func Run(ctx context.Context, dev device.Device, o Options) (result *Result, err error) {
	info := dev.Info()
	start := time.Now()
	r := &runner{Options: o, dev: dev, footprint: 256 << 20}
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
	if r.meter, err = newMeter(ctx, r.q, r.Time); err != nil {
		return nil, err
	}
	result = &Result{
		Device: Facts{info.ID(), info.Name, info.Vendor, info.Driver, info.Kind, info.Memory},
		Size:   r.Size, Clock: "host", Sector: 32, Cases: []*CaseResult{},
	}
	if r.meter.clock {
		result.Clock = "device"
	}
	if info.Kind == device.CPU {
		result.Sector = 64 // a cache line
	} else {
		r.footprint *= 2 // caches of GPUs have grown to a quarter of this
	}
	r.hold(r.Size)
	if result.Roofline, err = r.roofline(); err != nil {
		return nil, err
	}
	progress := func() {
		if r.Progress != nil {
			r.Progress(result)
		}
	}
	progress()
	for _, c := range r.Cases {
		one := &CaseResult{Name: c.Name, Class: c.Class}
		if err := r.run(c, one, result); err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			one.Error = err.Error()
			one.Unsupported = errors.Is(err, device.ErrUnsupported) || errors.Is(err, device.ErrOutOfMemory)
		}
		result.Cases = append(result.Cases, one)
		progress()
	}
	if result.Roofline.CopyAfter, err = r.again(); err != nil {
		return nil, err
	}
	result.Seconds = time.Since(start).Seconds()
	return result, nil
}

// hold has noise of at least so many bytes.
func (r *runner) hold(bytes int64) {
	if int64(len(r.noise)) < bytes {
		r.noise = randomBytes(bytes, r.Seed)
	}
}

// turns is how many operands of so many bytes take turns.
func (r *runner) turns(bytes int64) int {
	return int(min(max(r.footprint/max(bytes, 1), 2), 16))
}

// run measures a case.
func (r *runner) run(c Case, out *CaseResult, of *Result) (err error) {
	at, err := c.At(r.Size)
	if err != nil {
		return err
	}
	out.Case = at.String()
	if out.Logical, err = LogicalBytes(at); err != nil {
		return err
	}
	out.Touched = TouchedBytes(at, of.Sector)
	all, err := r.operands(at)
	defer func() {
		for i := range all {
			err = errors.Join(err, all[i].Free())
		}
	}()
	if err != nil {
		return err
	}
	for i := range all {
		out.Rotated += all[i].size()
	}
	if namer, ok := r.q.(device.KernelNamer); ok && at.Op == oracle.OpCopy {
		out.Kernel = namer.KernelName(all[0].Dst, all[0].Src)
	}
	verified, err := r.verify(c, at, &all[0])
	if err != nil {
		return err
	}
	t, err := r.meter.measure(len(all), func(i int) error { return all[i%len(all)].Run(r.q) })
	if err != nil {
		return err
	}
	out.Verified, out.Time = verified, &t
	roof := of.Roofline.GBps()
	out.GBps = float64(out.Logical) / t.Median
	out.Ratio = out.GBps / roof
	if m := of.Roofline.Memcpy; m != nil {
		out.MemcpyRatio = out.GBps / m.GBps
	}
	out.TouchedRatio = float64(out.Touched) / t.Median / roof
	return nil
}

// operands returns those that take turns, with noise in what is read and something
// in what is written, so that its pages are there.
func (r *runner) operands(at oracle.Case) (all []Operands, err error) {
	for n := 2; len(all) < n; {
		o, err := NewOperands(r.dev, at)
		if err != nil {
			return all, fmt.Errorf("operands %d: %w", len(all), err)
		}
		all = append(all, o)
		n = r.turns(o.size())
		size := o.Src.Buffer.Size()
		r.hold(size)
		if err := errors.Join(r.q.Write(o.Src.Buffer, 0, r.noise[:size]), o.poison(r.q)); err != nil {
			return all, err
		}
	}
	return all, r.q.Wait()
}
