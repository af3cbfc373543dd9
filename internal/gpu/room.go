package gpu

import (
	"errors"
	"fmt"

	"github.com/restride/restride/device"
)

// upload queues a transfer to a block; the caller keeps the host memory alive. Drivers that
// allocate at first use may run out of memory only here.
func (q *timeline) upload(b *block, off int64, src []byte) error {
	err := q.stream.Upload(b.mem, off, src)
	if isMemory(err) {
		q.makeRoom()
		err = q.noRoom(q.stream.Upload(b.mem, off, src))
	}
	return err
}

// download is upload in the other direction.
func (q *timeline) download(dst []byte, b *block, off int64) error {
	err := q.stream.Download(dst, b.mem, off)
	if isMemory(err) {
		q.makeRoom()
		err = q.noRoom(q.stream.Download(dst, b.mem, off))
	}
	return err
}

func isMemory(err error) bool { return err != nil && errors.Is(err, device.ErrOutOfMemory) }

// makeRoom frees what memory it can, for a piece of work that is not queued yet.
func (q *timeline) makeRoom() {
	q.drain(q.seq - 1)
	for _, other := range q.dev.openQueues() {
		other.poll()
	}
	_ = q.dev.trimPool()
}

// withRoom calls f, which allocates memory outside the pool: once more, after makeRoom, if
// memory is short.
func (q *timeline) withRoom(f func() (Mem, error)) (Mem, error) {
	m, err := f()
	if isMemory(err) {
		q.makeRoom()
		m, err = f()
	}
	return m, q.noRoom(err)
}

// noRoom adds the amount of held memory to an out-of-memory error.
func (q *timeline) noRoom(err error) error {
	if !isMemory(err) {
		return err
	}
	return fmt.Errorf("%w (%d bytes of %d are held)", err, q.dev.pool.Reserved(), q.dev.properties.Info.Memory)
}

// loadParameters returns a function that copies a launch's parameters to the device.
func (q *timeline) loadParameters(l Loader) func(parameters []byte) (Mem, error) {
	return func(parameters []byte) (Mem, error) {
		return q.withRoom(func() (Mem, error) { return l.LoadParameters(parameters) })
	}
}
