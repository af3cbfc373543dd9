package opencl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/kernels"
)

// kernel is a cl_kernel of one queue: the driver keeps arguments in it, so that
// only those are set that differ from the last launch's.
type kernel struct {
	handle uintptr

	// What the driver was given, and reads from here: the buffers dst, src and
	// descriptor; then dBase, sBase, lo, hi.
	blocks [3]*block // a handle may return with another block: these do not
	values [7]uint64
	known  [7]bool

	set           [4]uintptr // the arguments of clSetKernelArg
	run           [9]uintptr // and of clEnqueueNDRangeKernel
	global, local uintptr
}

// kernel returns the queue's kernel for a spec.
func (q *Queue) kernel(s kernels.Spec) (*kernel, error) {
	if k := q.kernels[s]; k != nil {
		return k, nil
	}
	program, err := q.dev.programs.get(s)
	if err != nil {
		return nil, err
	}
	name := append([]byte(s.String()), 0)
	handle, err := clCreateKernel.create(program, uintptr(unsafe.Pointer(&name[0])))
	if err != nil {
		return nil, err
	}
	k := &kernel{handle: handle}
	k.set = [4]uintptr{handle, 0, 8, 0}
	k.run = [9]uintptr{q.handle, handle, 1, 0, uintptr(unsafe.Pointer(&k.global)), uintptr(unsafe.Pointer(&k.local)), 0, 0, 0}
	q.kernels[s] = k
	return k, nil
}

func (k *kernel) release() { _ = clReleaseKernel.call(k.handle) }

// launch queues a planned launch. It does not allocate.
func (q *Queue) launch(e *kernels.Entry[*block], dst, src *Buffer, dOff, sOff int64, lo, hi uint64) error {
	if e.Groups == 0 {
		return nil
	}
	k, err := q.kernel(e.Spec)
	if err != nil {
		return err
	}
	dBase, sBase := e.Bases(dOff, sOff)
	blocks := [3]*block{dst.block, src.block, e.OnDevice}
	values := [7]uint64{3: uint64(dBase), uint64(sBase), lo, hi}
	if err = k.enqueue(&blocks, &values, e); isMemory(err) {
		q.makeRoom()
		err = q.noRoom(k.enqueue(&blocks, &values, e))
	}
	if err != nil {
		return err
	}
	q.dev.counters.Launch(e.Bytes)
	return nil
}

func (k *kernel) enqueue(blocks *[3]*block, values *[7]uint64, e *kernels.Entry[*block]) error {
	for i, b := range blocks {
		if k.blocks[i] != b {
			k.blocks[i], k.known[i] = b, false
		}
		values[i] = uint64(b.mem)
	}
	for i, v := range values {
		if k.known[i] && k.values[i] == v {
			continue
		}
		k.values[i] = v
		k.set[1], k.set[3] = uintptr(i), uintptr(unsafe.Pointer(&k.values[i]))
		err := clSetKernelArg.check(int32(dl.Call(clSetKernelArg.addr, k.set[:]...)))
		if k.known[i] = err == nil; err != nil {
			return err
		}
	}
	k.global, k.local = uintptr(e.Groups)*uintptr(e.Local), uintptr(e.Local)
	code := int32(dl.Call(clEnqueueNDRangeKernel.addr, k.run[:]...))
	runtime.KeepAlive(k)
	return clEnqueueNDRangeKernel.check(code)
}

func isMemory(err error) bool { return err != nil && errors.Is(err, device.ErrOutOfMemory) }

// makeRoom gives back what memory it can, while this queue is locked: drivers
// that allocate at first use refuse work, not Alloc.
func (q *Queue) makeRoom() {
	_ = q.finish()
	for _, other := range q.dev.openQueues() {
		other.poke()
	}
	q.dev.limbo.collect(q.dev)
	_ = q.dev.pool.Trim()
}

// noRoom adds to an error for want of memory how much there is.
func (q *Queue) noRoom(err error) error {
	if !isMemory(err) {
		return err
	}
	d := q.dev
	return fmt.Errorf("%w (a call on buffers of %s: %d bytes of %d are held)", err, d.proc.info.ID(), d.pool.Reserved(), d.proc.info.Memory)
}

// repeat repeats the pattern of an element of so many bits to 16 bytes.
func repeat(pattern []byte, bits int) (lo, hi uint64) {
	if bits < 8 {
		element := pattern[0] & (1<<bits - 1)
		for ; bits < 8; bits *= 2 {
			element |= element << bits
		}
		pattern = []byte{element}
	}
	var p [16]byte
	for n := 0; n < len(p); {
		n += copy(p[n:], pattern)
	}
	return binary.LittleEndian.Uint64(p[:8]), binary.LittleEndian.Uint64(p[8:])
}
