package cuda

import (
	"sync/atomic"

	"github.com/restride/restride/internal/engine"
)

// peerDriver is implemented by drivers that copy between devices.
type peerDriver interface {
	// reaches says whether a device can use the memory of another.
	reaches(ordinal, other int) (bool, error)
	// openContext lets the current context use the memory of another, but for that
	// of pools; openPool lets a device use that of another's pool.
	openContext(context) error
	openPool(owner, guest int) error
	copyPeer(f *frame, dst pointer, to context, src pointer, from context, n int64, s stream) error
}

// gpuNumber is the number of the newest device that was opened: unlike contexts,
// none has that of an earlier one.
var gpuNumber atomic.Uint64

// Reaches: two contexts of one device have other ways, and those of two drivers
// none.
func (q *queue) Reaches(from engine.Stream) bool {
	other, ok := from.(*queue)
	_, can := q.g.drv.(peerDriver)
	return ok && can && other.g.drv == q.g.drv && other.g.ordinal != q.g.ordinal
}

func (q *queue) CopyPeer(dst engine.Mem, dstOff int64, from engine.Stream, src engine.Mem, srcOff, bytes int64) error {
	drv, other := q.g.drv.(peerDriver), from.(*queue).g
	if err := q.g.enter(&q.seat); err != nil {
		return err
	}
	defer q.g.leave(&q.seat)
	q.g.openWay(drv, other)
	return q.g.check(drv.copyPeer(&q.seat.frame, dst.(*memory).at+pointer(dstOff), q.g.ctx,
		src.(*memory).at+pointer(srcOff), other.ctx, bytes, q.s))
}

// openWay makes copies from another device go direct, if they can, when the first
// one comes; where they cannot, the driver takes them through the host's memory.
// The device's context is current.
func (g *gpu) openWay(drv peerDriver, from *gpu) {
	g.mu.Lock()
	before := g.ways[from.number]
	g.ways[from.number] = true
	g.mu.Unlock()
	if before {
		return
	}
	if can, err := drv.reaches(g.ordinal, from.ordinal); err != nil || !can {
		return
	}
	// An error says that somebody has done it, or that it cannot be done.
	_ = drv.openContext(from.ctx)
	if from.ordered {
		_ = drv.openPool(from.ordinal, g.ordinal)
	}
}
