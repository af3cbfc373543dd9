package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// slot holds the resources of one batch from Source to Sink. One goroutine at a time owns it.
type slot struct {
	r      *run
	number int64 // of the batch

	in     []*Array
	room   []device.Buffer // for the inputs, on the device
	out    []*Array        // one for each result
	arrays []*Array        // the most results so far: out is a prefix

	// held are tensors to release when the results, which are among them, are downloaded.
	held, results []*tensor.Tensor
	lends         []bool // of the results: Sink borrows their memory
	reads         []device.Event

	spans                [3]span // of upload, work and download
	source               time.Duration
	uploaded, downloaded int64
}

func (p *slot) fail(stage string, err error) error {
	return fmt.Errorf("pipeline: %s of batch %d: %w", stage, p.number, err)
}

// prepare allocates the memory for the inputs.
func (p *slot) prepare() error {
	for _, in := range p.r.Inputs {
		n, _ := layout.Shape(in.Dims).Bytes(in.Type) // no error: it is checked
		b, err := p.r.dev.Alloc(n)
		if err != nil {
			return err
		}
		p.room = append(p.room, b)
		a := &Array{dtype: in.Type}
		p.in = append(p.in, a)
		if mem, ok := p.r.memory(b); ok {
			a.mem = mem
			continue
		}
		if err := p.grow(a, n); err != nil {
			return err
		}
	}
	return nil
}

// grow makes room in an unused array.
func (p *slot) grow(a *Array, bytes int64) (err error) {
	if err := p.shrink(a); err != nil {
		return err
	}
	a.mem, a.pinned, err = p.r.allocHost(bytes)
	return err
}

// shrink releases an array's memory.
func (p *slot) shrink(a *Array) (err error) {
	if a.pinned {
		err = p.r.pinner.FreeHost(a.mem)
	}
	a.mem, a.bytes, a.pinned = nil, 0, false
	return err
}

// widen gives the inputs their largest extents.
func (p *slot) widen() {
	for i, a := range p.in {
		a.dims = append(a.dims[:0], p.r.Inputs[i].Dims...)
		a.bytes = int64(len(a.mem))
	}
}

// upload queues the transfer of the inputs. The device's memory is idle.
func (p *slot) upload() (err error) {
	s := &p.spans[0]
	if s.begin, err = mark(p.r.up); err != nil {
		return err
	}
	p.uploaded = 0
	for i, a := range p.in {
		_, there := p.r.memory(p.room[i])
		switch {
		case there:
		case p.r.async:
			_, err = p.r.writer.WriteAsync(p.room[i], 0, a.Bytes())
		default:
			err = p.r.up.Write(p.room[i], 0, a.Bytes())
		}
		if err != nil {
			return err
		}
		p.uploaded += a.bytes
	}
	s.end, err = mark(p.r.up)
	return err
}

// work calls Work after the upload, and keeps its results.
func (p *slot) work(ctx context.Context) (err error) {
	q, s := p.r.stream.Queue(), &p.spans[1]
	if err := q.WaitFor(p.spans[0].end.event); err != nil {
		return err
	}
	if s.begin, err = mark(q); err != nil {
		return err
	}
	in := make([]*tensor.Tensor, len(p.in))
	for i, a := range p.in {
		l, err := layout.Contiguous(a.dims...)
		if err != nil {
			return err
		}
		if in[i], err = tensor.BorrowBuffer(p.r.stream, p.room[i], a.dtype, l); err != nil {
			return err
		}
		p.held = append(p.held, in[i])
	}
	results, err := p.r.Work(ctx, in)
	p.held = append(p.held, results...)
	if err != nil {
		return err
	}
	for i, x := range results {
		own := x != nil && x.Unshared()
		y, err := p.settle(x)
		if err != nil {
			return fmt.Errorf("result %d: %w", i, err)
		}
		p.results = append(p.results, y)
		p.lends = append(p.lends, p.r.lends(y) && (own || y.Unshared()))
	}
	s.end, err = mark(q)
	return err
}

// settle returns a result as a run of elements that starts at a byte, computed by work that is
// on the pipeline's stream, or is on another device.
func (p *slot) settle(x *tensor.Tensor) (_ *tensor.Tensor, err error) {
	if x == nil {
		return nil, layout.Errorf(device.ErrInvalid, "Work", "the tensor is nil")
	}
	if x.DType() == layout.String {
		return nil, layout.Errorf(device.ErrUnsupported, "Work", "the tensor is of type string; only elements of fixed size are transferred")
	}
	step := func(y *tensor.Tensor, failed error) {
		if err = failed; err == nil {
			p.held = append(p.held, y)
			x = y
		}
	}
	if x.Stream() != p.r.stream && x.Stream().Device() == p.r.dev {
		step(x.To(p.r.stream))
	}
	if err == nil {
		step(x.Contiguous())
	}
	if err == nil {
		if l := x.Layout(); l.Offset()*int64(x.DType().Bits())%8 != 0 {
			step(x.Clone())
		}
	}
	return x, err
}

// download queues the transfer of the results after the work, and releases them.
func (p *slot) download() (err error) {
	q, s := p.r.down, &p.spans[2]
	if err := q.WaitFor(p.spans[1].end.event); err != nil {
		return err
	}
	if s.begin, err = mark(q); err != nil {
		return err
	}
	for len(p.arrays) < len(p.results) {
		p.arrays = append(p.arrays, &Array{})
	}
	p.out = p.arrays[:len(p.results)]
	p.downloaded = 0
	for i, x := range p.results {
		if err := p.fetch(p.out[i], x, p.lends[i]); err != nil {
			return err
		}
	}
	if s.end, err = mark(q); err != nil {
		return err
	}
	if slices.Contains(p.lends, true) {
		return nil // takeBack releases them
	}
	return p.release()
}

// takeBack ends Sink's loans.
func (p *slot) takeBack() error {
	for _, a := range p.out {
		if a.lent {
			a.mem, a.bytes, a.lent = nil, 0, false
		}
	}
	return p.release()
}

// fetch transfers a result to an array, or lends it the result's memory.
func (p *slot) fetch(a *Array, x *tensor.Tensor, lend bool) error {
	n, err := x.Shape().Bytes(x.DType())
	if err != nil {
		return err
	}
	l := x.Layout()
	from := int64(0)
	if n > 0 {
		from = l.Offset() * int64(x.DType().Bits()) / 8
	}
	switch {
	case lend:
		err = p.shrink(a)
		mem, _ := p.r.memory(x.Buffer()) // it belongs to the device
		a.mem, a.lent = mem[from:][:n:n], true
	case int64(len(a.mem)) < n:
		err = p.grow(a, n)
	}
	if err != nil {
		return err
	}
	a.dtype, a.dims, a.bytes = x.DType(), l.AppendDims(a.dims[:0]), n
	if x.Stream().Device() != p.r.dev {
		return x.ReadInto(a.Bytes()) // small values of the host, as a rule
	}
	if p.downloaded += n; a.lent {
		return nil
	}
	if p.r.async {
		read, err := p.r.reader.ReadAsync(a.Bytes(), x.Buffer(), from)
		if err == nil {
			p.reads = append(p.reads, read)
		}
		return err
	}
	return p.r.down.Read(a.Bytes(), x.Buffer(), from)
}

// wait waits for the batch.
func (p *slot) wait() error {
	for i, stage := range [...]string{"upload", "work", "download"} {
		// An event may report the errors of its own queue only.
		if err := p.spans[i].end.event.Wait(); err != nil {
			return p.fail(stage, err)
		}
	}
	for _, read := range p.reads {
		if err := read.Wait(); err != nil { // of the work that computed the result
			return p.fail("work", err)
		}
	}
	for _, a := range p.out {
		a.trim()
	}
	return nil
}

// release releases the batch's tensors.
func (p *slot) release() error {
	var errs []error
	for _, t := range p.held {
		errs = append(errs, t.Release())
	}
	clear(p.held)
	clear(p.results)
	clear(p.reads)
	p.held, p.results, p.lends, p.reads = p.held[:0], p.results[:0], p.lends[:0], p.reads[:0]
	return errors.Join(errs...)
}

// close releases the memory, which is no longer in use.
func (p *slot) close() error {
	var errs []error
	for _, b := range p.room {
		errs = append(errs, b.Free())
	}
	for _, a := range append(p.in, p.arrays...) {
		errs = append(errs, p.shrink(a))
	}
	return errors.Join(errs...)
}
