package cuda

import (
	"errors"
	"unsafe"

	"github.com/restride/restride/internal/dl"
)

// graphCalls are the calls that capture and replay.
type graphCalls struct {
	*driverLibrary

	// 0 where the driver is too old:
	captureBegin, captureEnd, graphInstantiate, graphLaunch uintptr
	graphExecDestroy, graphDestroyDraft                     uintptr
}

func (l *graphCalls) beginCapture(s cuStream) error {
	if l.captureBegin == 0 || l.graphInstantiate == 0 {
		return errNoReplay
	}
	return l.do("cuStreamBeginCapture", dl.Call(l.captureBegin, uintptr(s), relaxed))
}

func (l *graphCalls) endCapture(s cuStream) (cuGraphExec, error) {
	draft, g := new(uintptr), new(cuGraphExec)
	if err := l.do("cuStreamEndCapture", dl.Call(l.captureEnd, uintptr(s), uintptr(unsafe.Pointer(draft)))); err != nil {
		return 0, err
	}
	err := l.do("cuGraphInstantiate", dl.Call(l.graphInstantiate, uintptr(unsafe.Pointer(g)), *draft, 0))
	return *g, errors.Join(err, l.do("cuGraphDestroy", dl.Call(l.graphDestroyDraft, *draft)))
}

func (l *graphCalls) replay(f *frame, g cuGraphExec, s cuStream) error {
	f.args[0], f.args[1] = uintptr(g), uintptr(s)
	return l.do("cuGraphLaunch", dl.Call(l.graphLaunch, f.args[:2]...))
}

func (l *graphCalls) destroyGraph(g cuGraphExec) error {
	return l.do("cuGraphExecDestroy", dl.Call(l.graphExecDestroy, uintptr(g)))
}
