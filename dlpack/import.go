package dlpack

import (
	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// ImportOptions are options of Import.
type ImportOptions struct {
	// As replaces the type of elements: by a type of their width, for one that Restride lacks;
	// or by bit, which gives the bits of an element along a last axis, for widths that it
	// lacks, such as 6-bit floats. 0: the capsule's type.
	As layout.DType
	// ReadOnly accepts read-only memory. The caller must ensure that nothing writes to the
	// tensor.
	ReadOnly bool
}

// Import consumes a capsule: it returns a tensor over its memory, on a stream of the device
// that has it, and takes over the capsule's deleter, also after an error. It does not consume a
// capsule that is nil or consumed already; a stream that is nil; nor any on systems where C
// cannot be called (see docs/dlpack.md).
//
// Types and flags that Restride lacks, other versions' structures, and memory that a device
// cannot adopt are device.ErrUnsupported; contradictions are device.ErrInvalid.
func Import(s *tensor.Stream, c Capsule, o ImportOptions) (*tensor.Tensor, error) {
	const op = "Import"
	if s == nil {
		return nil, layout.Errorf(device.ErrInvalid, op, "the stream is nil")
	}
	if err := c.take(op); err != nil {
		return nil, err
	}
	b, f, err := c.buffer(s, o)
	if err != nil {
		c.giveBack()
		return nil, err
	}
	if b == nil { // no elements: nothing to share
		c.giveBack()
		return tensor.Empty(s, f.dtype, f.layout.Shape()...)
	}
	var x *tensor.Tensor
	if f.copied {
		x, err = tensor.OwnBuffer(s, b, f.dtype, f.layout)
	} else {
		x, err = tensor.ShareBuffer(s, b, f.dtype, f.layout)
	}
	if err != nil {
		_ = b.Free() // which calls the deleter
		return nil, err
	}
	return x, nil
}

// buffer makes a buffer of a capsule's memory, whose end calls the deleter; nil, without an
// error, if there are no elements.
func (c Capsule) buffer(s *tensor.Stream, o ImportOptions) (device.Buffer, form, error) {
	t, flags, err := c.open()
	if err != nil {
		return nil, form{}, err
	}
	if flags&flagReadOnly != 0 && !o.ReadOnly {
		return nil, form{}, layout.Errorf(device.ErrUnsupported, "Import", "the memory may only be read, which ImportOptions.ReadOnly accepts")
	}
	f, err := formOf(t, flags, o.As)
	if err != nil {
		return nil, form{}, err
	}
	place, err := placeOf(s, t)
	if err != nil || f.bytes == 0 {
		return nil, f, err
	}
	b, err := place(s, t, &f, c.giveBack)
	return b, f, err
}

// place makes a buffer of a tensor's memory, and sets the place of the elements in it in f.
// done is called when it is no longer used.
type place func(s *tensor.Stream, t *cTensor, f *form, done func()) (device.Buffer, error)

// placeOf returns the function by which a stream's device adopts memory of the tensor's kind.
func placeOf(s *tensor.Stream, t *cTensor) (place, error) {
	info := s.Device().Info()
	_, handles := device.As[device.HandleMemory](s.Device())
	switch {
	case s.IsHost() && (t.device == onCPU || t.device == onCUDAHost || t.device == onCUDAManaged):
		return placeHost, nil
	case handles && info.Backend == "cuda" && (t.device == onCUDA && int(t.deviceID) == info.Index || t.device == onCUDAManaged):
		return placeCUDA, nil
	case handles && info.Backend == "opencl" && t.device == onOpenCL:
		return placeOpenCL, nil
	}
	return nil, layout.Errorf(device.ErrInvalid, "Import", "the memory is of DLPack's device (%d, %d), the stream of %s: import it on a stream of its own device", t.device, t.deviceID, info.ID())
}

func placeHost(_ *tensor.Stream, t *cTensor, f *form, done func()) (device.Buffer, error) {
	first, err := f.address(t)
	if err != nil {
		return nil, err
	}
	return cpu.WrapFor(bytesAt(first, f.bytes), done), nil
}

// vector is the alignment of addresses that kernels accept, and word the alignment of sizes.
const vector, word = 16, 4

func placeCUDA(s *tensor.Stream, t *cTensor, f *form, done func()) (device.Buffer, error) {
	first, err := f.address(t)
	if err != nil {
		return nil, err
	}
	if err := f.prepend(int64(first % vector)); err != nil {
		return nil, err
	}
	handles, _ := device.As[device.HandleMemory](s.Device())
	return handles.AdoptHandle(first-first%vector, f.words(), done)
}

func placeOpenCL(s *tensor.Stream, t *cTensor, f *form, done func()) (device.Buffer, error) {
	const op = "Import"
	switch {
	case t.data == 0:
		return nil, layout.Errorf(device.ErrInvalid, op, "the cl_mem of %v is nil", f)
	case t.byteOffset > 1<<62 || int64(t.byteOffset) < f.before:
		return nil, layout.Errorf(device.ErrInvalid, op, "%v, from byte %d of a cl_mem, begins before it or overflows", f, t.byteOffset)
	}
	if err := f.prepend(int64(t.byteOffset) - f.before); err != nil {
		return nil, err
	}
	handles, _ := device.As[device.HandleMemory](s.Device())
	return handles.AdoptHandle(t.data, f.words(), done)
}
