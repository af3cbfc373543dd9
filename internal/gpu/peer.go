package gpu

import (
	"fmt"
	"sync/atomic"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// Peer is implemented by streams that copy from another device's memory. Their WaitFor accepts
// events of the streams that they reach, too.
type Peer interface {
	// Reaches reports whether CopyPeer works from memory of the other stream's
	// device.
	Reaches(from Stream) bool
	// CopyPeer queues a copy from memory of the device of the stream from, on which it queues
	// nothing.
	CopyPeer(dst Mem, dstOff int64, from Stream, src Mem, srcOff, bytes int64) error
}

// queueNumber is the number of the newest queue. Of two queues, the one with the smaller number
// is locked first.
var queueNumber atomic.Uint64

// CopyPeer copies bytes of a buffer of another device, without the host. Both streams wait:
// this one before the copy, which reads the source's present content, and the source's until
// after it, so that the content does not change. The latter wait is work of the source's queue
// that uses the source: a device does not poll another's queues for uses.
func (q *Queue) CopyPeer(dst device.Buffer, dstOff int64, src device.Buffer, srcOff, bytes int64, from device.Queue) error {
	const op = "CopyPeer"
	p, can := q.stream.(Peer)
	s, ok := device.As[*Queue](from)
	if !can || !ok || s == nil || !p.Reaches(s.stream) {
		return layout.Errorf(device.ErrUnsupported, op, "%s has no way to the device of a %T but through the host", q.dev.Info().ID(), from)
	}
	first, second := q, s
	if s.number < q.number {
		first, second = s, q
	}
	if err := first.begin(op); err != nil {
		return err
	}
	defer first.mu.Unlock()
	if err := second.begin(op); err != nil {
		return err
	}
	defer second.mu.Unlock()
	to, err := q.useRange(op, written, dst, dstOff, bytes)
	if err != nil {
		return fmt.Errorf("dst: %w", err)
	}
	source, err := s.useRange(op, "src", src, srcOff, bytes)
	if err != nil {
		return fmt.Errorf("src: %w", err)
	}
	if bytes > 0 {
		if err := q.copyPeer(p, to.block, dstOff, s, source.block, srcOff, bytes); err != nil {
			return err
		}
		q.flow.parts = append(q.flow.parts[:0], part{b: source, lo: srcOff, hi: srcOff + bytes})
		q.flow.between(&q.timeline, part{b: to, lo: dstOff, hi: dstOff + bytes, dense: true}, nil, q.flow.parts)
	}
	q.dev.counters.Peer(bytes)
	return nil
}

// copyPeer queues the copy between two waits. Both queues are locked.
func (q *Queue) copyPeer(p Peer, to *block, dstOff int64, s *Queue, from *block, srcOff, bytes int64) error {
	if err := follow(q.stream, s.stream); err != nil {
		return err
	}
	err := p.CopyPeer(to.mem, dstOff, s.stream, from.mem, srcOff, bytes)
	if isMemory(err) {
		q.makeRoom()
		err = q.noRoom(p.CopyPeer(to.mem, dstOff, s.stream, from.mem, srcOff, bytes))
	}
	if err != nil {
		return err
	}
	if err := follow(s.stream, q.stream); err != nil {
		q.drain(q.seq) // the source's queue does not know of the use
		return err
	}
	return nil
}

// follow makes later work of a stream wait for all present work of another.
func follow(later, before Stream) error {
	e, err := before.Record()
	if err != nil {
		return err
	}
	defer e.Release()
	return later.WaitFor(e)
}
