package bench

import (
	"bytes"
	"context"
	"errors"
	"math"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/internal/bench/cases"
	"github.com/restride/restride/internal/bench/report"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/layout"
	_ "github.com/restride/restride/opencl"
)

// some returns the cases that match.
func some(t *testing.T, filter string) []cases.Case {
	re := regexp.MustCompile(filter)
	list := slices.DeleteFunc(cases.All(), func(c cases.Case) bool { return !re.MatchString(c.Name) })
	require.NotEmpty(t, list)
	return list
}

func onCPU(t *testing.T) device.Device {
	dev, err := cpu.Open()
	require.NoError(t, err)
	t.Cleanup(func() { _ = dev.Close() })
	return dev
}

// A small run of all cases on the cpu device has consistent figures.
func TestRun(t *testing.T) {
	dev := onCPU(t)
	list := cases.All()
	if testing.Short() {
		list = some(t, "4$")
	}
	calls, last := 0, 0.
	r, err := Run(context.Background(), dev, Options{Cases: list, Size: 64 << 10, Time: time.Nanosecond, Progress: func(r *report.Result, part float64) {
		assert.NotNil(t, r.Roofline.Memcpy)
		assert.Len(t, r.Cases, min(calls, len(list)))
		if n := len(r.Cases); n > 0 {
			assert.Positive(t, r.Cases[n-1].Ratio)
		}
		assert.Greater(t, part, last)
		last = part
		calls++
	}})
	require.NoError(t, err)
	require.Len(t, r.Cases, len(list))
	check(t, r)
	assert.Equal(t, Passes*(len(list)+1), calls)
	assert.InDelta(t, 1, last, 1e-9)
	assert.True(t, r.Cached)
	assert.Equal(t, "host", r.Clock)
	assert.NotNil(t, r.Roofline.Memcpy)
	assert.Nil(t, r.Roofline.UploadPinned)
	assert.Nil(t, r.Roofline.Driver)
	assert.Zero(t, dev.Stats().Buffers, "all memory is given back")
}

// In a cached run all calls use the same buffers, at a size beyond caches, too.
func TestRunCached(t *testing.T) {
	dev := onCPU(t)
	rotated := func(o Options) int64 {
		o.Cases, o.Size, o.Time, o.footprint = some(t, "^rows-reversed/32$"), 2<<20, time.Nanosecond, 16<<20
		r, err := Run(context.Background(), dev, o)
		require.NoError(t, err)
		assert.Equal(t, o.Cached, r.Cached)
		return r.Cases[0].Rotated
	}
	assert.EqualValues(t, 4<<20, rotated(Options{Cached: true}))
	assert.EqualValues(t, 16<<20, rotated(Options{}))
	assert.EqualValues(t, 512<<10, DefaultSize(dev.Info(), true))
}

// The same, in part, on OpenCL, which has pinned memory and may measure time.
func TestRunOpenCL(t *testing.T) {
	dev, err := device.Open("opencl")
	devicetest.Require(t, "opencl", err)
	defer func() { require.NoError(t, dev.Close()) }()
	r, err := Run(context.Background(), dev, Options{Cases: some(t, "^(a-transpose/(4|32)|c-heads/16|unpack/4)$"), Size: 64 << 10, Time: time.Nanosecond})
	require.NoError(t, err)
	require.Len(t, r.Cases, 4)
	check(t, r)
	assert.NotNil(t, r.Roofline.Driver)
	assert.NotNil(t, r.Roofline.UploadPinned)
	assert.NotNil(t, r.Roofline.DownloadPinned)
	assert.Zero(t, dev.Stats().Buffers)
}

// check checks properties of every result without failures.
func check(t *testing.T, r *report.Result) {
	t.Helper()
	f := r.Roofline
	for _, x := range []*report.Timing{f.ReshapeLayout, f.ReshapeTensor} {
		require.NotNil(t, x)
		sane(t, x)
	}
	for name, rate := range map[string]*report.Rate{"copy": f.Copy, "fill": f.Fill, "upload": f.Upload, "download": f.Download} {
		require.NotNil(t, rate, name)
		sane(t, &rate.Timing)
		assert.InEpsilon(t, float64(rate.Bytes)/rate.Median, rate.GBps, 1e-9, name)
	}
	require.NotNil(t, f.CopyAfter)
	assert.Len(t, f.CopyAfter.Passes, 1)
	assert.Equal(t, 2*r.Size, f.Copy.Bytes)
	assert.Equal(t, r.Size, f.Fill.Bytes)
	assert.GreaterOrEqual(t, f.Fastest().GBps, f.Copy.GBps)
	for _, timing := range []*report.Timing{f.Enqueue, f.Launch, f.RoundTrip} {
		require.NotNil(t, timing)
		sane(t, timing)
	}
	for _, c := range r.Cases {
		require.Empty(t, c.Error, c.Name)
		require.NotNil(t, c.Time, c.Name)
		sane(t, c.Time)
		assert.Contains(t, c.Verified, "every bit", c.Name)
		assert.InEpsilon(t, float64(c.Logical)/c.Time.Median, c.GBps, 1e-9)
		op := parse(t, c.Case).Op
		assert.Equal(t, string(op), c.Op)
		roof := f.Fastest()
		if op == oracle.OpFill {
			roof = f.Fill
		}
		var ratios []float64
		for i, ns := range c.Time.Passes {
			ratios = append(ratios, float64(c.Logical)/ns/(float64(roof.Bytes)/roof.Passes[i]))
		}
		slices.Sort(ratios)
		assert.InEpsilon(t, math.Sqrt(ratios[Passes/2-1]*ratios[Passes/2]), c.Ratio, 1e-9, "the median of the ratios of passes")
		assert.Equal(t, f.Memcpy != nil && op != oracle.OpFill, c.MemcpyRatio > 0)
		assert.InEpsilon(t, c.Ratio*float64(c.Touched)/float64(c.Logical), c.TouchedRatio, 1e-9)
		assert.Equal(t, op == oracle.OpCopy, c.Kernel != c.Op, c.Name)
	}
}

func sane(t *testing.T, x *report.Timing) {
	t.Helper()
	assert.GreaterOrEqual(t, x.Samples, Passes*fewest)
	assert.Len(t, x.Passes, Passes)
	assert.Positive(t, x.Batch)
	assert.Positive(t, x.Min)
	low, high := slices.Min(x.Passes), slices.Max(x.Passes)
	assert.True(t, x.Min <= low && low <= x.Median && x.Median <= high && high <= x.Max, "%+v", *x)
	assert.True(t, x.Min <= x.Q1 && x.Q1 <= x.Median && x.Median <= x.Q3 && x.Q3 <= x.Max, "%+v", *x)
}

// A device that is wrong in one place, and refuses some shapes.
type faulty struct {
	device.Device
	wrong func(dst device.Operand) bool // selects the copies that are wrong
	err   error                         // the error of refused copies
}

func (f *faulty) NewQueue() (device.Queue, error) {
	q, err := f.Device.NewQueue()
	return &faultyQueue{q, f}, err
}

type faultyQueue struct {
	device.Queue
	f *faulty
}

func (q *faultyQueue) Copy(dst, src device.Operand) error {
	if dst.Type == layout.Float16 && q.f.wrong(dst) {
		if q.f.err != nil {
			return q.f.err
		}
		// The first half of the first axis only.
		half, err := dst.Layout.Slice(0, 0, dst.Layout.Dim(0)/2, 1)
		if err != nil {
			return err
		}
		dst.Layout = half
		if src.Layout, err = src.Layout.Slice(0, 0, src.Layout.Dim(0)/2, 1); err != nil {
			return err
		}
	}
	return q.Queue.Copy(dst, src)
}

// Errors are reported without figures, and do not end the run: small operations are checked by
// the index walk, and operations that are wrong at full size only, by the sample.
func TestRunFindsFaults(t *testing.T) {
	for name, c := range map[string]struct {
		size        int64
		wrong       func(device.Operand) bool
		err         error
		word        string
		unsupported bool
	}{
		"small":       {64 << 10, func(device.Operand) bool { return true }, nil, oracle.ErrWrong.Error(), false},
		"large":       {16 << 20, func(d device.Operand) bool { return d.Layout.Count() > 1<<20 }, nil, "want 0x", false},
		"refused":     {64 << 10, func(device.Operand) bool { return true }, device.ErrDriver, "driver error", false},
		"unsupported": {64 << 10, func(device.Operand) bool { return true }, device.ErrUnsupported, "unsupported", true},
		"no memory":   {64 << 10, func(device.Operand) bool { return true }, device.ErrOutOfMemory, "out of memory", true},
	} {
		t.Run(name, func(t *testing.T) {
			dev := &faulty{onCPU(t), c.wrong, c.err}
			r, err := Run(context.Background(), dev, Options{Cases: some(t, "^c-heads/(16|32)$"), Size: c.size, Time: time.Nanosecond, footprint: 1})
			require.NoError(t, err)
			require.Len(t, r.Cases, 2)
			bad, good := r.Cases[0], r.Cases[1]
			assert.Contains(t, bad.Error, c.word)
			assert.Equal(t, c.unsupported, bad.Unsupported)
			assert.Equal(t, !c.unsupported, bad.Failed())
			assert.Nil(t, bad.Time)
			assert.Zero(t, bad.Ratio)
			assert.False(t, good.Failed())
			assert.Positive(t, good.Ratio)
			assert.Zero(t, dev.Stats().Buffers)

			var out bytes.Buffer
			table := &report.Table{W: &out}
			table.Update(r)
			table.Close(r)
			want := "FAIL"
			if c.unsupported {
				want = "unsupported:"
			}
			assert.Regexp(t, `(?m)^c-heads/16 +`+want, out.String())
		})
	}
}

func TestRunRefuses(t *testing.T) {
	dev := onCPU(t)
	for _, o := range []Options{{Size: -1}, {Time: -1}} {
		_, err := Run(context.Background(), dev, o)
		require.ErrorIs(t, err, device.ErrInvalid)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Run(ctx, dev, Options{Size: 1 << 10})
	require.ErrorIs(t, err, context.Canceled)
	ctx, cancel = context.WithCancel(context.Background())
	_, err = Run(ctx, dev, Options{Size: 1 << 10, Time: time.Nanosecond, Progress: func(*report.Result, float64) { cancel() }})
	require.ErrorIs(t, err, context.Canceled)
	assert.Zero(t, dev.Stats().Buffers)
	require.NoError(t, dev.Close())
	_, err = Run(context.Background(), dev, Options{})
	require.ErrorIs(t, err, device.ErrClosed)
}

// Rotating buffers have twice the bytes of the last cache.
func TestRotation(t *testing.T) {
	const m = 1 << 20
	for want, args := range map[int][2]int64{
		256: {0, 256 * m}, 128: {2 * m, 256 * m}, 4: {128 * m, 520 * m}, 2: {1 << 40, 256 * m},
	} {
		assert.Equal(t, want, rotation(args[0], args[1]), args)
	}
	f := footprint(device.CPU)
	assert.GreaterOrEqual(t, f, int64(256*m))
	assert.LessOrEqual(t, f, int64(1024*m))
	assert.GreaterOrEqual(t, 2*f, min(4*lastCache(), 2048*m))
}

// The host's clock is used where the device's events measure no time.
func TestNoClock(t *testing.T) {
	dev := &tickless{onCPU(t)}
	q, err := dev.NewQueue()
	require.NoError(t, err)
	m, err := newMeter(context.Background(), q, time.Millisecond)
	require.NoError(t, err)
	assert.False(t, m.clock)
	calls := 0
	s := new(series)
	require.NoError(t, m.pass(s, 3, func(i int) error {
		assert.Equal(t, calls, i, "the rotation goes on from batch to batch")
		calls++
		return nil
	}))
	require.Len(t, s.passes, 1)
	assert.GreaterOrEqual(t, s.passes[0].Samples, fewest)
	failed := errors.New("no more")
	require.ErrorIs(t, m.pass(s, 1, func(int) error { return failed }), failed)
}

type tickless struct{ device.Device }

func (d *tickless) NewQueue() (device.Queue, error) {
	q, err := d.Device.NewQueue()
	return ticklessQueue{q}, err
}

type ticklessQueue struct{ device.Queue }

func (ticklessQueue) Record() (device.Event, error) { return ticklessEvent{}, nil }

// ticklessEvent claims to measure time, and does not.
type ticklessEvent struct{}

func (ticklessEvent) Done() bool  { return true }
func (ticklessEvent) Wait() error { return nil }
func (ticklessEvent) Since(device.Event) (time.Duration, error) {
	return 0, device.ErrUnsupported
}
