package onnx

import (
	"errors"
	"math"
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// RunOption is an option of Session.Run and Session.Capture.
type RunOption struct {
	output string
	x      *tensor.Tensor
}

// Into makes a run write an output into the caller's memory: the elements of x, a tensor of
// the output's type and shape on the session's stream. The output is another reference to
// them. Nodes that assemble their output, such as Concat, Pad and the Scatter family, write
// it there directly. They do not move elements that are already in place: an input that is
// x itself, or a view of part of x, such as a cache that Concat extends. Outputs of other
// nodes are copied at the end of the run.
func Into(output string, x *tensor.Tensor) RunOption { return RunOption{output, x} }

// name checks the memory that the caller supplies for outputs, and holds it for the run.
func (p *program) name(r *run, options []RunOption) error {
	const op = "Session.Run"
	r.into = slices.Grow(r.into[:0], len(p.outputs))[:len(p.outputs)]
	clear(r.into)
	for _, o := range options {
		i := slices.IndexFunc(p.outputs, func(out port) bool { return out.name == o.output })
		fail := func(format string, args ...any) error {
			return layout.Errorf(device.ErrInvalid, op, "the memory for output "+quote.Name(o.output)+" "+format, args...)
		}
		switch {
		case i < 0:
			return layout.Errorf(device.ErrInvalid, op, "the graph has no output %s; it has %s", quote.Name(o.output), listedPorts(p.outputs))
		case o.x == nil:
			return fail("is nil")
		case r.into[i] != nil:
			return fail("is named twice")
		case o.x.Stream() != r.call.far:
			return fail("is not on the session's stream")
		case !p.outputs[i].accepts(o.x, true):
			return fail("is %s; the graph declares %v", describe(o.x), p.outputs[i].typ)
		}
		l := o.x.Layout()
		if l.SelfOverlaps() {
			return fail("has elements that share positions: %v", l)
		}
		for k, other := range r.into {
			if other != nil && meets(other, o.x) {
				return fail("overlaps that for output %s", quote.Name(p.outputs[k].name))
			}
		}
		x, err := o.x.Retain()
		if err != nil {
			return fail("has been released")
		}
		r.into[i] = x
	}
	return nil
}

// unname releases the memory of outputs.
func (r *run) unname() error {
	var errs []error
	for _, x := range r.into {
		errs = release(errs, x)
	}
	r.into = r.into[:0]
	return errors.Join(errs...)
}

// meets reports whether two tensors share elements.
func meets(a, b *tensor.Tensor) bool {
	if a.Buffer() != b.Buffer() {
		return false
	}
	if a.DType().Bits() != b.DType().Bits() {
		return true // assume overlap
	}
	l, m := a.Layout(), b.Layout()
	return l.Overlaps(&m)
}

// lies reports whether two tensors have the same elements in the same order.
func lies(a, b *tensor.Tensor) bool {
	l, m := a.Layout(), b.Layout()
	return a.Buffer() == b.Buffer() && a.DType() == b.DType() && l.Equal(&m)
}

// aim lets a step write to the caller's memory for its output.
func (r *run) aim(p *program, i int) {
	c, out := &r.call, p.steps[i].out
	for k, x := range r.into {
		if x == nil || len(out) == 0 || p.outputs[k].slot != out[0] {
			continue
		}
		c.into = x
		for slot, v := range r.values {
			if p.ends[slot] <= i {
				continue
			}
			for _, y := range tensorsOf(v) {
				if y.Buffer() == x.Buffer() {
					c.later = append(c.later, y)
				}
			}
		}
	}
}

// graphsOutput is the end of slots that are outputs of the graph.
const graphsOutput = math.MaxInt

// target returns the parts of the call's output that still have to be written to the memory
// that the caller supplied: all except those already in place. It returns false if the
// output has another form, or if that memory holds elements that are still to be read. all
// means that indices choose what is written.
func (c *call) target(s *tensor.Stream, t layout.DType, dims []int64, all bool, parts ...tensor.Part) ([]tensor.Part, bool) {
	x := c.into
	if x == nil || x.Stream() != s || x.DType() != t || !slices.Equal(x.Shape(), dims) {
		return nil, false
	}
	var left []tensor.Part
	var written []layout.Layout
	read := slices.Clone(c.later)
	for _, part := range parts {
		to, err := x.Layout(), error(nil)
		if part.Into != nil {
			to, err = part.Into(to)
		}
		if err != nil {
			return nil, false
		}
		if part.Src != nil && part.Src.Buffer() == x.Buffer() {
			from := part.Src.Layout()
			if part.From != nil {
				from, err = part.From(from)
			}
			if err == nil && part.Src.DType() == t && from.Equal(&to) {
				continue
			}
			read = append(read, part.Src)
		}
		left, written = append(left, part), append(written, to)
	}
	operands := c.in
	if all {
		written = []layout.Layout{x.Layout()}
		if len(left) == 0 {
			operands = operands[1:] // input 0 is the output's memory
		}
	}
	for _, v := range operands {
		if y, ok := v.(*tensor.Tensor); ok && y != nil {
			read = append(read, y)
		}
	}
	for _, y := range read {
		if y.Buffer() != x.Buffer() {
			continue
		}
		l := y.Layout()
		if y.DType().Bits() != t.Bits() || slices.ContainsFunc(written, func(w layout.Layout) bool { return w.Overlaps(&l) }) {
			return nil, false
		}
	}
	return left, true
}

// guard copies outputs that would be overwritten by writes to other outputs.
func (p *program) guard(r *run) error {
	written := func(x *tensor.Tensor) bool {
		return slices.ContainsFunc(r.into, func(t *tensor.Tensor) bool { return t != nil && meets(t, x) })
	}
	for i := range r.into {
		v := r.values[p.outputs[i].slot]
		if x, ok := v.(*tensor.Tensor); ok && r.into[i] != nil && lies(x, r.into[i]) {
			continue
		}
		if !slices.ContainsFunc(tensorsOf(v), written) {
			continue
		}
		y, err := again(opIdentity, v, (*tensor.Tensor).Clone)
		if err != nil {
			return err
		}
		if r.copies == nil {
			r.copies = make([]Value, len(p.outputs))
		}
		r.copies[i] = y
	}
	return nil
}

// place returns an output in the memory that the caller supplied for it.
func (r *run) place(port *port, v Value, to *tensor.Tensor) (Value, error) {
	x, ok := v.(*tensor.Tensor)
	if !ok || x.DType() != to.DType() || !slices.Equal(x.Shape(), to.Shape()) {
		return nil, layout.Errorf(device.ErrInvalid, "Session.Run", "output %s is %s; the memory for it is %s", quote.Name(port.name), describe(v), describe(to))
	}
	if lies(x, to) {
		return to.Alias()
	}
	if x.Stream() == tensor.Host() && to.Stream() != tensor.Host() {
		y, err := x.To(to.Stream())
		if err != nil {
			return nil, err
		}
		defer y.Release()
		x = y
	}
	began := r.call.profile.begin()
	if err := to.CopyFrom(x); err != nil {
		return nil, layout.Named("output "+quote.Name(port.name), err)
	}
	if hook := r.call.hook; hook != nil {
		n := NodeReport{Index: -1, Op: "Into", OutputInfo: infoOf(port.name, to), Why: "copied to the memory that the caller named"}
		n.Kind = tensor.Copy
		n.Bytes, _ = to.Shape().Bytes(to.DType()) // it exists: no overflow
		r.call.profile.end(began, &n)
		(*hook)(n)
	}
	return to.Alias()
}
