package cuda

import (
	"unsafe"

	"github.com/restride/restride/internal/dl"
)

// peerCalls are the calls about two devices.
type peerCalls struct {
	*driverLibrary

	peerReach, peerOpen, peerCopy uintptr
}

func (l *peerCalls) reaches(ordinal, other int) (bool, error) {
	d, err := l.handle(ordinal)
	if err != nil {
		return false, err
	}
	peer, err := l.handle(other)
	if err != nil {
		return false, err
	}
	can := new(int32)
	err = l.do("cuDeviceCanAccessPeer", dl.Call(l.peerReach, uintptr(unsafe.Pointer(can)), d, peer))
	return *can != 0, err
}

func (l *peerCalls) openContext(c cuContext) error {
	return l.do("cuCtxEnablePeerAccess", dl.Call(l.peerOpen, uintptr(c), 0))
}

func (l *peerCalls) copyPeer(f *frame, dst cuDevicePtr, to cuContext, src cuDevicePtr, from cuContext, n int64, s cuStream) error {
	f.args[0], f.args[1], f.args[2], f.args[3] = uintptr(dst), uintptr(to), uintptr(src), uintptr(from)
	f.args[4], f.args[5] = uintptr(n), uintptr(s)
	return l.do("cuMemcpyPeerAsync", dl.Call(l.peerCopy, f.args[:6]...))
}
