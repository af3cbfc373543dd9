package dlpack

import (
	"slices"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// ExportOptions are options of Export.
type ExportOptions struct {
	// Unversioned makes a DLManagedTensor, for a consumer whose __dlpack__ call has no
	// max_version, or one below 1.0.
	Unversioned bool
	// ReadOnly tells the consumer not to write. Only versioned capsules can.
	ReadOnly bool
	// Queue is the consumer's queue, on the tensor's device: it waits for the tensor's stream,
	// and the tensor's memory, once deleted, waits for it. nil: Export itself waits, and at the
	// deleter's call the consumer's work must be over.
	Queue device.Queue
	// NoWait says that the consumer's work follows the tensor's in any case: nothing waits.
	NoWait bool
}

// Export returns a capsule of a tensor, for a consumer to call its deleter once, or for
// [Capsule.Delete]; until then the memory stays, even if the tensor is released. Both see what
// the other writes.
//
// Strings are device.ErrUnsupported, like elements below a byte that begin within one
// (tensor.Tensor.Contiguous moves them), devices other than the host's, CUDA's and OpenCL's,
// and systems where C cannot call (see docs/dlpack.md).
func Export(t *tensor.Tensor, o ExportOptions) (Capsule, error) {
	const op = "Export"
	if err := dl.Available(); err != nil {
		return Capsule{}, layout.Errorf(device.ErrUnsupported, op, "%v", err)
	}
	if t == nil {
		return Capsule{}, layout.Errorf(device.ErrInvalid, op, "the tensor is nil")
	}
	if o.Unversioned && o.ReadOnly {
		return Capsule{}, layout.Errorf(device.ErrUnsupported, op, "a capsule before DLPack 1.0 cannot say that memory is only to be read")
	}
	held, err := t.Retain()
	if err != nil {
		return Capsule{}, layout.Named(op, err)
	}
	e := &export{tensor: held, queue: o.Queue}
	d, err := e.describe()
	if err == nil {
		err = wait(held, o)
	}
	if err != nil {
		_ = held.Release() // t still has the memory
		return Capsule{}, err
	}
	var flags uint64
	if o.ReadOnly {
		flags = flagReadOnly
	}
	e.versioned = managedVersioned{major: major, minor: minor, deleter: deleteExport(), flags: flags, tensor: d}
	e.unversioned = managed{tensor: d, deleter: deleteExport()}
	return e.begin(o.Unversioned), nil
}

// wait orders the consumer's work after the stream's work on a tensor, and returns that work's
// error.
func wait(t *tensor.Tensor, o ExportOptions) error {
	q := t.Stream().Queue()
	switch {
	case o.NoWait:
		return nil
	case o.Queue == nil:
		return t.Wait()
	}
	ready, err := q.Record()
	if err != nil {
		return err
	}
	if c, ok := device.As[device.Checker](q); ok { // the consumer has no way to learn of it later
		if err := c.CheckBuffer(t.Buffer(), 0, t.Buffer().Size()); err != nil {
			return err
		}
	}
	return o.Queue.WaitFor(ready)
}

// describe returns the description of the tensor for a consumer.
func (e *export) describe() (cTensor, error) {
	const op = "Export"
	t, l := e.tensor, e.tensor.Layout()
	k, ok := kinds[t.DType()]
	if !ok {
		return cTensor{}, layout.Errorf(device.ErrUnsupported, op, "%v%v: DLPack has no such type", t.DType(), l.Shape())
	}
	e.axes = slices.Concat(l.Shape(), l.Strides())
	d := cTensor{rank: int32(l.Rank()), code: k.code, bits: k.bits, lanes: 1}
	if l.Rank() > 0 {
		d.shape = uintptr(unsafe.Pointer(&e.axes[0]))
		d.strides = uintptr(unsafe.Pointer(&e.axes[l.Rank()]))
	}
	at := l.Offset() * int64(k.bits)
	if at%8 != 0 && l.Count() > 0 {
		return cTensor{}, layout.Errorf(device.ErrUnsupported, op, "%v%v begins at bit %d of a byte; a contiguous copy does not", t.DType(), l, at%8)
	}
	err := d.locate(t, uint64(at/8))
	return d, err
}

// locate returns the location of a tensor's memory, whose first element is at a byte of it.
// Without elements, the address is 0.
func (d *cTensor) locate(t *tensor.Tensor, at uint64) error {
	dev := t.Stream().Device()
	info := dev.Info()
	handles, _ := device.As[device.HandleMemory](dev)
	host, _ := device.As[device.HostMemory](dev)
	some := t.Count() > 0
	switch {
	case host != nil:
		d.device = onCPU
		mem, ok := host.HostBytes(t.Buffer())
		if !ok {
			return layout.Errorf(device.ErrClosed, "Export", "the memory of %v%v is freed", t.DType(), t.Shape())
		}
		if some {
			d.data = uintptr(unsafe.Pointer(&mem[at]))
		}
	case handles != nil && info.Backend == "cuda":
		d.device, d.deviceID = onCUDA, int32(info.Index)
		if some {
			d.data = handles.HandleOf(t.Buffer()) + uintptr(at)
		}
	case handles != nil && info.Backend == "opencl":
		d.device, d.deviceID = onOpenCL, int32(info.Index)
		if some {
			d.data, d.byteOffset = handles.HandleOf(t.Buffer()), at
		}
	default:
		return layout.Errorf(device.ErrUnsupported, "Export", "memory of the device %s has no address for others", info.ID())
	}
	return nil
}
