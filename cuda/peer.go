package cuda

import (
	"sync/atomic"

	"github.com/restride/restride/internal/gpu"
)

// peerAPI is implemented by an api that can copy between devices.
type peerAPI interface {
	// reaches reports whether a device can use the memory of another.
	reaches(ordinal, other int) (bool, error)
	// openContext lets the current context use the memory of another, except pools; openPool
	// lets a device use the memory of another's pool.
	openContext(cuContext) error
	openPool(pool cuPool, guest int) error
	copyPeer(f *frame, dst cuDevicePtr, to cuContext, src cuDevicePtr, from cuContext, n int64, s cuStream) error
}

// driverNumber is the number of the newest driver. Unlike contexts, drivers' numbers are
// unique.
var driverNumber atomic.Uint64

// Reaches: this does not work between two contexts of one device, or of two libraries.
func (s *stream) Reaches(from gpu.Stream) bool {
	other, ok := from.(*stream)
	_, can := s.driver.api.(peerAPI)
	return ok && can && other.driver.api == s.driver.api && other.driver.ordinal != s.driver.ordinal
}

func (s *stream) CopyPeer(dst gpu.Mem, dstOff int64, from gpu.Stream, src gpu.Mem, srcOff, bytes int64) error {
	api, other := s.driver.api.(peerAPI), from.(*stream).driver
	if err := s.driver.enter(&s.thread); err != nil {
		return err
	}
	defer s.driver.leave(&s.thread)
	s.driver.openPeer(api, other)
	err := api.copyPeer(&s.thread.frame, dst.(*memory).at+cuDevicePtr(dstOff), s.driver.ctx,
		src.(*memory).at+cuDevicePtr(srcOff), other.ctx, bytes, s.handle)
	return s.driver.checkBoth(&s.thread.frame, other, err)
}

// openPeer makes copies from another device direct, if possible; otherwise the driver copies
// through host memory. The first copy calls it, with the device's context current.
func (d *driver) openPeer(api peerAPI, from *driver) {
	d.mu.Lock()
	before := d.peers[from.number]
	d.peers[from.number] = true
	d.mu.Unlock()
	if before {
		return
	}
	if can, err := api.reaches(d.ordinal, from.ordinal); err != nil || !can {
		return
	}
	// An error means that it was done before, or is impossible; or that a device is lost, which
	// the copy reports.
	_ = api.openContext(from.ctx)
	if from.pool != 0 {
		_ = api.openPool(from.pool, d.ordinal)
	}
}
