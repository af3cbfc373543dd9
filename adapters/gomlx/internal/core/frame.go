package core

import (
	"slices"

	"github.com/pkg/errors"
	"github.com/restride/restride/device"
	"github.com/restride/restride/tensor"
)

// frame is one execution.
type frame struct {
	*Executable
	inputs []*Held
	donate []bool
	data   []datum         // the arrays, by slot
	spared []bool          // slots whose Go buffer is a spare
	owned  []bool          // slots whose Go buffer is this execution's alone
	used   []*Held         // inputs
	viewed []viewed        // the Go buffers of released slots, whose memory views may still have
	taken  []device.Buffer // memory that outputs must not share: inputs', constants' and other outputs'
}

func newFrame(e *Executable, inputs []*Held, donate []bool) *frame {
	n := len(e.plan.slots)
	return &frame{Executable: e, inputs: inputs, donate: donate, data: make([]datum, n), spared: make([]bool, n), owned: make([]bool, n)}
}

// run executes the plan.
func (f *frame) run() ([]*Held, error) {
	for i, x := range f.inputs {
		at := f.plan.params[i]
		s := &f.plan.slots[at]
		var err error
		if f.data[at], err = x.use(s.inTensor || s.output, s.inGo); err != nil {
			return nil, errors.WithMessagef(err, "input %d, %q", i, f.names[i])
		}
		f.used = append(f.used, x)
		f.take(f.data[at].t)
	}
	for i, c := range f.plan.constants {
		t, err := f.constants.tensors[i].Alias()
		if err != nil {
			return nil, err
		}
		f.data[c.slot].t = t
		f.take(t)
	}
	for i := range f.plan.steps {
		s := &f.plan.steps[i]
		err := error(nil)
		if s.node != nil {
			err = f.layout(s)
		} else {
			err = f.execute(i, s)
		}
		if err != nil {
			return nil, err
		}
		for _, slot := range s.done {
			f.release(slot)
		}
	}
	return f.outputs()
}

// take records that outputs must not share t's memory.
func (f *frame) take(t *tensor.Tensor) {
	if t != nil {
		f.taken = append(f.taken, t.Buffer())
	}
}

// release releases an array.
func (f *frame) release(slot int) {
	d := &f.data[slot]
	switch {
	case d.g == nil:
	case f.spared[slot]:
		f.spares[slot].Put(d.g)
	case f.owned[slot] && d.t == nil:
		f.b.Recycle(d.g)
	case f.owned[slot] && f.b.host != nil:
		f.viewed = append(f.viewed, viewed{d.g, d.t.Buffer()})
	}
	f.spared[slot], f.owned[slot] = false, false
	d.release()
}

// viewed is a buffer of the Go backend with the device's buffer over its memory.
type viewed struct {
	g  Buffer
	of device.Buffer
}

// end releases the rest, and gives back memory that no result has.
func (f *frame) end() {
	for slot := range f.data {
		f.release(slot)
	}
	for _, x := range f.used {
		x.used()
	}
	if len(f.viewed) == 0 || f.b.Stream.Wait() != nil { // the queue may still read it
		return
	}
	for _, v := range f.viewed {
		if !slices.Contains(f.taken, v.of) {
			f.b.Recycle(v.g)
		}
	}
}

// spare returns memory of the Go backend for an array: an earlier execution's, if available.
func (f *frame) spare(slot int) (Buffer, error) {
	if g := f.spares[slot].Get(); g != nil {
		return g, nil
	}
	return f.b.memory(f.plan.slots[slot].to)
}

// layout runs a layout operation.
func (f *frame) layout(s *step) (err error) {
	in := make([]*tensor.Tensor, len(s.in))
	for i, slot := range s.in {
		if err := f.b.needTensor(&f.data[slot], f.plan.slots[slot].to); err != nil {
			return err
		}
		in[i] = f.data[slot].t
	}
	slot := s.out[0]
	f.b.layoutSteps.Add(1)
	if s.node.view != nil {
		f.data[slot].t, err = s.node.view(f.b.Stream, in, f.plan.slots[slot].to)
	} else {
		err = f.fill(slot, s.node.fill, in)
	}
	return errors.Wrap(err, s.node.op)
}

// fill runs an operation that writes its result: into the Go backend's memory, if only that
// reads it.
func (f *frame) fill(slot int, fill fillFunc, in []*tensor.Tensor) (err error) {
	s, d := &f.plan.slots[slot], &f.data[slot]
	direct := f.b.host != nil && s.inGo && !s.inTensor && !s.output
	if direct {
		if d.g, err = f.spare(slot); err != nil {
			return err
		}
		f.spared[slot] = true
		d.t, err = f.b.over(d.g, s.to)
	} else {
		d.t, err = tensor.Empty(f.b.Stream, s.to.DType, s.to.Dims...)
	}
	if err != nil {
		return err
	}
	if d.t.Count() > 0 {
		err = fill(d.t, in)
	}
	if direct {
		_ = d.t.Release() // of borrowed memory
		d.t = nil
	}
	return err
}

// execute runs operations of the Go backend.
func (f *frame) execute(number int, s *step) error {
	in, donate := make([]Buffer, len(s.in)), make([]bool, len(s.in))
	for i, slot := range s.in {
		d := &f.data[slot]
		if d.g == nil {
			err := f.b.needGo(d, f.plan.slots[slot].to, func() (Buffer, error) { return f.spare(slot) })
			if err != nil {
				return err
			}
			f.spared[slot] = true
		}
		in[i], donate[i] = d.g, f.donates(slot, number)
	}
	if f.b.host != nil { // other devices wait at reads
		if err := f.b.Stream.Wait(); err != nil {
			return err
		}
	}
	f.b.goSteps.Add(1)
	for _, c := range s.counters {
		c.total.Add(c.times)
	}
	out, err := executeSafely(s.exec, in, donate)
	if err != nil {
		return err
	}
	for i, slot := range s.in {
		if donate[i] {
			f.data[slot].g, f.owned[slot] = nil, false
		}
	}
	for i, slot := range s.out {
		f.data[slot].g, f.owned[slot] = out[i], true
	}
	return nil
}

// donates reports whether the Go backend may write to a buffer's memory, in an execution that
// is a step of the plan: nothing uses it afterwards.
func (f *frame) donates(slot, number int) bool {
	s := &f.plan.slots[slot]
	if f.spared[slot] || s.inTensor || s.output || s.last != number {
		return false
	}
	i := slices.Index(f.plan.params, slot)
	if i < 0 {
		return true
	}
	if len(f.donate) == 0 || !f.donate[i] {
		return false
	}
	for k, x := range f.inputs {
		if k != i && x == f.inputs[i] {
			return false
		}
	}
	return true
}

// executeSafely converts a panic of the Go backend to an error.
func executeSafely(exec Program, in []Buffer, donate []bool) (out []Buffer, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.Errorf("the Go backend: %v", r)
		}
	}()
	return exec.Execute(in, donate)
}

// outputs returns the results: each contiguous, in its own memory.
func (f *frame) outputs() ([]*Held, error) {
	out := make([]*Held, 0, len(f.plan.outputs))
	for i, slot := range f.plan.outputs {
		again := slices.Contains(f.plan.outputs[:i], slot)
		to, d, err := f.output(slot, again)
		if err != nil {
			for _, x := range out {
				x.Finalize()
			}
			return nil, errors.WithMessagef(err, "output %d", i)
		}
		out = append(out, f.b.hold(to, d))
	}
	return out, nil
}

func (f *frame) output(slot int, again bool) (to Array, own datum, err error) {
	d := &f.data[slot]
	to = f.plan.slots[slot].to
	if to.Open() {
		if to, err = f.b.Describe(d.g); err != nil {
			return to, own, err
		}
	}
	if d.t == nil && !again {
		f.owned[slot] = false
		return to, datum{g: d.g}, nil
	}
	if err := f.b.needTensor(d, to); err != nil {
		return to, own, err
	}
	if again || slices.Contains(f.taken, d.t.Buffer()) || !dense(d.t) {
		own.t, err = d.t.Clone()
		return to, own, err
	}
	f.take(d.t)
	own.t, err = d.t.Alias()
	if !f.spared[slot] {
		own.g, f.owned[slot] = d.g, false // of the same memory, or the same elements
	}
	return to, own, err
}

// dense reports whether a tensor's elements are contiguous from a byte on, and fill most of
// their memory.
func dense(t *tensor.Tensor) bool {
	l, bits := t.Layout(), int64(t.DType().Bits())
	return l.IsContiguous() && l.Offset()*bits%8 == 0 && t.Buffer().Size() <= 2*((t.Count()*bits+7)/8)+4096
}
