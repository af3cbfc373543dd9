package bench

import (
	"errors"
	"fmt"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/bench/report"
	"github.com/restride/restride/internal/clock"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// roofline measures the device's bounds, for one pass.
func (r *runner) roofline(roof *report.Roofline) error {
	for _, part := range []struct {
		name string
		run  func(*report.Roofline) error
	}{
		{"copies", r.plainCopies}, {"memcpy", r.memcpy}, {"transfers", r.transfers}, {"launches", r.launches}, {"views", r.views},
	} {
		if err := part.run(roof); err != nil {
			return fmt.Errorf("roofline: %s: %w", part.name, err)
		}
	}
	return nil
}

// plain are dense buffers, which rotate in pairs and hold noise.
type plain []device.Buffer

func (r *runner) plain(bytes int64) (plain, error) {
	n := 2 * r.rotation(2*bytes)
	var all plain
	for range n {
		var b device.Buffer
		err := r.roomy(func() (err error) { b, err = r.dev.Alloc(bytes); return err })
		if err == nil {
			all = append(all, b)
			err = r.putNoise(r.q, b)
		}
		if err != nil {
			return nil, errors.Join(err, all.free())
		}
	}
	return all, r.q.Wait()
}

// pair is the i-th, modulo their number.
func (p plain) pair(i int) (dst, src device.Buffer) {
	i = i % (len(p) / 2) * 2
	return p[i], p[i+1]
}

func (p plain) free() error {
	var errs []error
	for _, b := range p {
		errs = append(errs, b.Free())
	}
	return errors.Join(errs...)
}

// plainCopies measures dense copies and fills.
func (r *runner) plainCopies(roof *report.Roofline) (err error) {
	p, err := r.plain(r.Size)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.free()) }()
	if roof.Copy, err = r.plainCopy("copy", p); err != nil {
		return err
	}
	if err := r.sense(p, roof.Copy.Median); err != nil {
		return err
	}
	if namer, ok := device.As[device.KernelNamer](r.q); ok {
		_, roof.Kernel = namer.KernelName(dense(p[0]), dense(p[1]))
	}
	if driver, ok := device.As[device.DriverCopier](r.dev); ok {
		roof.Driver, err = r.measurePlain(r.meter, "driver", len(p)/2, func(i int) error {
			dst, src := p.pair(i)
			return driver.CopyByDriver(r.q, dst, src, r.Size)
		})
		if err != nil && !errors.Is(err, device.ErrUnsupported) {
			return err
		}
	}
	t, err := r.measure("fill", len(p)/2, func(i int) error {
		dst, _ := p.pair(i)
		return r.q.Fill(dense(dst), []byte{byte(i)})
	})
	if err != nil {
		return err
	}
	roof.Fill = t.Rate(r.Size)
	return nil
}

// plainCopy measures a copy from one dense buffer to another.
func (r *runner) plainCopy(name string, p plain) (*report.Rate, error) {
	return r.measurePlain(r.meter, name, len(p)/2, func(i int) error {
		dst, src := p.pair(i)
		return r.q.Copy(dense(dst), dense(src))
	})
}

// again measures the plain copy once more, at the end.
func (r *runner) again() (rate *report.Rate, err error) {
	p, err := r.plain(r.Size)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.free()) }()
	return r.plainCopy("copy after", p)
}

func (r *runner) memcpy(roof *report.Roofline) (err error) {
	if r.dev.Info().Kind != device.CPU {
		return nil
	}
	pairs := r.rotation(2 * r.Size)
	run, free, err := Memcpy(r.Size, pairs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, free()) }()
	roof.Memcpy, err = r.measurePlain(r.meter.byHost(), "memcpy", pairs, func(i int) error { run(i); return nil })
	return err
}

// transfers measures transfers from and to Go's memory and, where the device has it,
// pinned memory.
func (r *runner) transfers(roof *report.Roofline) (err error) {
	b, err := r.dev.Alloc(r.Size)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Free()) }()
	rate := func(name string, to **report.Rate, call func() error) {
		if err != nil {
			return
		}
		var t report.Timing
		if t, err = r.measureHost(name, 2, func(int) error { return call() }); err == nil {
			*to = t.Rate(r.Size)
		}
	}
	host := append([]byte(nil), r.noise[:r.Size]...)
	rate("upload", &roof.Upload, func() error { return r.q.Write(b, 0, host) })
	rate("download", &roof.Download, func() error { return r.q.Read(host, b, 0) })

	allocator, ok := device.As[device.HostAllocator](r.dev)
	queue, ok2 := device.As[device.AsyncQueue](r.q)
	if err != nil || !ok || !ok2 {
		return err
	}
	pinned, err := allocator.AllocHost(r.Size)
	if errors.Is(err, device.ErrUnsupported) || errors.Is(err, device.ErrOutOfMemory) {
		return nil // for example, a container's limit on locked memory is low
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, allocator.FreeHost(pinned)) }()
	copy(pinned, host)
	rate("upload, pinned", &roof.UploadPinned, func() error { _, err := queue.WriteAsync(b, 0, pinned); return err })
	rate("download, pinned", &roof.DownloadPinned, func() error { _, err := queue.ReadAsync(pinned, b, 0); return err })
	return err
}

// launches measures copies of 256 bytes, whose time is the call's.
func (r *runner) launches(roof *report.Roofline) error {
	square, err := layout.Contiguous(8, 8)
	if err != nil {
		return err
	}
	var xy [2]device.Operand
	for i := range xy {
		b, err := r.dev.Alloc(256)
		if err != nil {
			return err
		}
		defer b.Free() // its error would have been an earlier call's
		if err := r.q.Write(b, 0, make([]byte, 256)); err != nil {
			return err
		}
		xy[i] = device.Operand{Buffer: b, Layout: square, Type: layout.Float32}
	}
	xy[1].Layout = square.Reverse()
	tiny := func(int) error { return r.q.Copy(xy[0], xy[1]) }

	launch, err := r.measure("launch", 1, tiny)
	if err != nil {
		return err
	}
	roundTrip, err := r.measureHost("round trip", 1, func(int) error { return errors.Join(tiny(0), r.q.Wait()) })
	if err != nil {
		return err
	}
	// Without the time of waits. Drivers' queues have room for that many calls.
	const calls = 256
	var samples []float64
	for range 3 * fewest {
		start := clock.Now()
		for i := range calls {
			if err := tiny(i); err != nil {
				return err
			}
		}
		samples = append(samples, float64(clock.Since(start))/calls)
		if err := r.q.Wait(); err != nil {
			return err
		}
	}
	s := r.of("enqueue")
	s.batch = calls
	s.add(samples)
	enqueue := s.timing()
	roof.Enqueue, roof.Launch, roof.RoundTrip = &enqueue, &launch, &roundTrip
	return nil
}

// views measures a reshape that is a view, for a layout and for a tensor: attention heads are
// joined.
func (r *runner) views(roof *report.Roofline) (err error) {
	l, err := layout.Contiguous(8, 512, 16, 64)
	if err != nil {
		return err
	}
	x, err := tensor.Empty(tensor.Adopt(r.dev, r.q), layout.Uint8, 8, 512, 16, 64)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Release()) }()
	reshape := func(name string, call func() error) *report.Timing {
		if err != nil {
			return nil
		}
		var t report.Timing
		t, err = r.measureHost(name, 1, func(int) error { return call() })
		return &t
	}
	roof.ReshapeLayout = reshape("reshape of a layout", func() error { _, err := l.Reshape(8, 512, 1024); return err })
	roof.ReshapeTensor = reshape("reshape of a tensor", func() error {
		y, err := x.Reshape(8, 512, 1024)
		if err != nil {
			return err
		}
		return y.Release()
	})
	return err
}
