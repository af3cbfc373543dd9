package cuda

import (
	"unsafe"

	"github.com/restride/restride/internal/dl"
)

// streamCalls are the calls about streams.
type streamCalls struct {
	*driverLibrary

	streamCreate, streamDestroy, streamSync, streamWait uintptr
	streamContext, streamCapturing                      uintptr
}

// nonBlocking streams do not wait for the legacy default stream.
const nonBlocking = 1

func (l *streamCalls) newStream() (cuStream, error) {
	s := new(cuStream)
	err := l.do("cuStreamCreate", dl.Call(l.streamCreate, uintptr(unsafe.Pointer(s)), nonBlocking))
	return *s, err
}

func (l *streamCalls) destroyStream(s cuStream) error {
	return l.do("cuStreamDestroy", dl.Call(l.streamDestroy, uintptr(s)))
}

func (l *streamCalls) contextOf(s cuStream) (cuContext, error) {
	c := new(cuContext)
	err := l.do("cuStreamGetCtx", dl.Call(l.streamContext, uintptr(s), uintptr(unsafe.Pointer(c))))
	return *c, err
}

func (l *streamCalls) isCapturing(f *frame, s cuStream) (bool, error) {
	f.args[0], f.args[1] = uintptr(s), uintptr(unsafe.Pointer(&f.n))
	err := l.do("cuStreamIsCapturing", dl.Call(l.streamCapturing, f.args[:2]...))
	return err == nil && f.n != 0, err
}

func (l *streamCalls) synchronize(f *frame, s cuStream) error {
	f.args[0] = uintptr(s)
	return l.do("cuStreamSynchronize", dl.Call(l.streamSync, f.args[:1]...))
}

func (l *streamCalls) waitEvent(f *frame, s cuStream, e cuEvent) error {
	f.args[0], f.args[1], f.args[2] = uintptr(s), uintptr(e), 0
	return l.do("cuStreamWaitEvent", dl.Call(l.streamWait, f.args[:3]...))
}

// eventCalls are the calls about events.
type eventCalls struct {
	*driverLibrary

	eventCreate, eventDestroy, eventRecord, eventQuery uintptr
	eventSync, eventElapsed                            uintptr
}

func (l *eventCalls) newEvent() (cuEvent, error) {
	e := new(cuEvent)
	err := l.do("cuEventCreate", dl.Call(l.eventCreate, uintptr(unsafe.Pointer(e)), 0))
	return *e, err
}

func (l *eventCalls) destroyEvent(e cuEvent) error {
	return l.do("cuEventDestroy", dl.Call(l.eventDestroy, uintptr(e)))
}

func (l *eventCalls) record(f *frame, e cuEvent, s cuStream) error {
	f.args[0], f.args[1] = uintptr(e), uintptr(s)
	return l.do("cuEventRecord", dl.Call(l.eventRecord, f.args[:2]...))
}

func (l *eventCalls) done(f *frame, e cuEvent) (bool, error) {
	f.args[0] = uintptr(e)
	result := dl.Call(l.eventQuery, f.args[:1]...)
	if int32(result) == codeNotReady {
		return false, nil
	}
	err := l.do("cuEventQuery", result)
	return err == nil, err
}

func (l *eventCalls) await(f *frame, e cuEvent) error {
	f.args[0] = uintptr(e)
	return l.do("cuEventSynchronize", dl.Call(l.eventSync, f.args[:1]...))
}

func (l *eventCalls) elapsed(from, to cuEvent) (milliseconds float32, err error) {
	ms := new(float32)
	err = l.do("cuEventElapsedTime", dl.Call(l.eventElapsed, uintptr(unsafe.Pointer(ms)), uintptr(from), uintptr(to)))
	return *ms, err
}
