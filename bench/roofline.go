package bench

import (
	"errors"
	"fmt"
	"time"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// roofline measures what bounds the device, for one pass.
func (r *runner) roofline(roof *Roofline) error {
	for _, part := range []struct {
		name string
		run  func(*Roofline) error
	}{
		{"copies", r.plainCopies}, {"memcpy", r.memcpy}, {"transfers", r.transfers}, {"launches", r.launches}, {"views", r.views},
	} {
		if err := part.run(roof); err != nil {
			return fmt.Errorf("roofline: %s: %w", part.name, err)
		}
	}
	return nil
}

// plain are dense buffers that take turns, and hold noise.
type plain []device.Buffer

func (r *runner) plain(bytes int64) (plain, error) {
	n := 2 * r.turns(2*bytes)
	var all plain
	for range n {
		b, err := r.dev.Alloc(bytes)
		if err == nil {
			all = append(all, b)
			err = r.q.Write(b, 0, r.noise[:bytes])
		}
		if err != nil {
			return nil, errors.Join(err, all.free())
		}
	}
	return all, r.q.Wait()
}

// turn is the i-th pair.
func (p plain) turn(i int) (dst, src device.Buffer) {
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
func (r *runner) plainCopies(roof *Roofline) (err error) {
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
	if namer, ok := r.q.(device.KernelNamer); ok {
		roof.Kernel = namer.KernelName(Dense(p[0]), Dense(p[1]))
	}
	if driver, ok := r.dev.(device.DriverCopier); ok {
		t, err := r.measurePlain(r.meter, "driver", len(p)/2, func(i int) error {
			dst, src := p.turn(i)
			return driver.CopyByDriver(r.q, dst, src, r.Size)
		})
		switch {
		case err == nil:
			roof.Driver = t.rate(2 * r.Size)
		case !errors.Is(err, device.ErrUnsupported):
			return err
		}
	}
	t, err := r.measure("fill", len(p)/2, func(i int) error {
		dst, _ := p.turn(i)
		return r.q.Fill(Dense(dst), []byte{byte(i)})
	})
	if err != nil {
		return err
	}
	roof.Fill = t.rate(r.Size)
	return nil
}

// plainCopy measures a copy from one dense buffer to another.
func (r *runner) plainCopy(name string, p plain) (*Rate, error) {
	t, err := r.measurePlain(r.meter, name, len(p)/2, func(i int) error {
		dst, src := p.turn(i)
		return r.q.Copy(Dense(dst), Dense(src))
	})
	if err != nil {
		return nil, err
	}
	return t.rate(2 * r.Size), nil
}

// again measures the plain copy anew, when all else is done.
func (r *runner) again() (rate *Rate, err error) {
	p, err := r.plain(r.Size)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.free()) }()
	return r.plainCopy("copy after", p)
}

func (r *runner) memcpy(roof *Roofline) (err error) {
	if r.dev.Info().Kind != device.CPU {
		return nil
	}
	turns := r.turns(2 * r.Size)
	m, err := newMemcpy(r.Size, turns)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	t, err := r.measurePlain(r.meter.byHost(), "memcpy", turns, func(i int) error { m.Run(i); return nil })
	if err != nil {
		return err
	}
	roof.Memcpy = t.rate(2 * r.Size)
	return nil
}

// transfers measures those from and to Go's memory and, where there is some, the
// driver's.
func (r *runner) transfers(roof *Roofline) (err error) {
	b, err := r.dev.Alloc(r.Size)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Free()) }()
	rate := func(name string, to **Rate, call func() error) {
		if err != nil {
			return
		}
		var t Timing
		if t, err = r.measureHost(name, 2, func(int) error { return call() }); err == nil {
			*to = t.rate(r.Size)
		}
	}
	host := append([]byte(nil), r.noise[:r.Size]...)
	rate("upload", &roof.Upload, func() error { return r.q.Write(b, 0, host) })
	rate("download", &roof.Download, func() error { return r.q.Read(host, b, 0) })

	allocator, ok := r.dev.(device.HostAllocator)
	queue, ok2 := r.q.(device.AsyncQueue)
	if err != nil || !ok || !ok2 {
		return err
	}
	pinned, err := allocator.AllocHost(r.Size)
	if errors.Is(err, device.ErrUnsupported) || errors.Is(err, device.ErrOutOfMemory) {
		return nil // as where a container's limit on locked memory is low
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

// launches measures copies of 256 bytes, which take no time but that of the call.
func (r *runner) launches(roof *Roofline) error {
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
		defer b.Free() // an error of it would have been one of the calls before
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
	// Without the time of the waits. Few enough calls for queues of drivers, which
	// have an end.
	const calls = 256
	var samples []float64
	for range 3 * fewest {
		start := time.Now()
		for i := range calls {
			if err := tiny(i); err != nil {
				return err
			}
		}
		samples = append(samples, float64(time.Since(start))/calls)
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

// views measures a reshape that moves nothing, of a layout and of a tensor: the
// heads of a batch of sentences, put together.
func (r *runner) views(roof *Roofline) (err error) {
	l, err := layout.Contiguous(8, 512, 16, 64)
	if err != nil {
		return err
	}
	x, err := tensor.Empty(tensor.Adopt(r.dev, r.q), layout.Uint8, 8, 512, 16, 64)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Release()) }()
	reshape := func(name string, call func() error) *Timing {
		if err != nil {
			return nil
		}
		var t Timing
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
