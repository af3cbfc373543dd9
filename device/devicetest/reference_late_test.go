package devicetest

import (
	"errors"
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/layout"
)

// span is a range of a buffer's bytes, or strings.
type span struct {
	*refBuffer
	lo, hi int64
}

// spanOf returns what an operand reaches.
func spanOf(o device.Operand, by ...layout.Index) span {
	ends := backend.BytesOf(&o, by)
	if words, ok := o.Buffer.(*refStrings); ok {
		return span{&words.refBuffer, ends[0], ends[1] + 1}
	}
	return span{o.Buffer.(*refBuffer), ends[0], ends[1] + 1}
}

// error returns the error of the first byte that is bad.
func (s span) error() error {
	for i := s.lo; i < min(s.hi, int64(len(s.bad))); i++ {
		if s.bad[i] != nil {
			return s.bad[i]
		}
	}
	return nil
}

// set makes all bytes bad, or, with nil, good.
func (s span) set(err error) {
	if more := s.hi - int64(len(s.bad)); err != nil && more > 0 {
		s.bad = append(s.bad, make([]error, more)...)
	}
	for i := s.lo; i < min(s.hi, int64(len(s.bad))); i++ {
		s.bad[i] = err
	}
}

// launch queues f, which computes dst from srcs: errors of these become errors of dst.
func (q *refQueue) launch(dst device.Operand, f func(), srcs ...device.Operand) error {
	return q.launchFrom(dst, func() error { f(); return nil }, srcs...)
}

// launchFrom is launch for work that may fail late.
func (q *refQueue) launchFrom(dst device.Operand, f func() error, srcs ...device.Operand) error {
	return q.count(dst, func() {
		err := f()
		for _, s := range srcs {
			if s.Buffer != nil && err == nil && !q.dev.has("errors stop at copies") {
				err = spanOf(s).error()
			}
		}
		spanOf(dst).set(err)
	})
}

// tell makes an error of indices out of range, if there are any.
func (q *refQueue) tell(op string, by []layout.Index, wrong []int64) error {
	if len(wrong) == 0 || q.dev.has("silent indices") {
		return nil
	}
	x := by[slices.IndexFunc(by, func(x layout.Index) bool { _, ok := x.Resolve(wrong[0]); return !ok })]
	if q.dev.has("half an extent") {
		x.Extent &= 1<<32 - 1
	}
	err := layout.Errorf(device.ErrInvalid, op, "%s", backend.OutOfRange(wrong[0], backend.ToldExtent(&x)))
	q.mu.Lock()
	q.err = err
	q.mu.Unlock()
	return err
}

func (q *refQueue) Read(dst []byte, src device.Buffer, off int64) error {
	if err := q.first(q.dev.of(src), plain("Read", src), backend.CheckRange("Read", src, off, int64(len(dst)))); err != nil {
		return err
	}
	q.dev.counters.Download(int64(len(dst)))
	if q.dev.has("uncounted reads") {
		q.dev.counters.Download(-int64(len(dst)))
	}
	from := span{src.(*refBuffer), off, off + int64(len(dst))}
	return q.readFrom(from, func() { copy(dst, memory(src)[off:]) })
}

// readFrom is a checked read by f.
func (q *refQueue) readFrom(from span, f func()) error {
	var bad error
	err := q.waitAfter(func() {
		f()
		if bad = from.error(); q.dev.has("errors are told once") {
			from.set(nil)
		}
	})
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case err == nil && q.dev.has("errors go astray"):
		err, q.err = q.err, nil
	case err == nil:
		if err = bad; err != nil && errors.Is(q.err, err) && !q.dev.has("errors stay") {
			q.err = nil
		}
	}
	return err
}

func (q *refQueue) Wait() error {
	if err := q.waitAfter(func() {}); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	err := q.err
	if !q.dev.has("errors stay") {
		q.err = nil
	}
	return err
}
