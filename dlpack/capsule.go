package dlpack

import (
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/layout"
)

// A Capsule is the object that libraries exchange: a DLManagedTensorVersioned or, as before
// DLPack 1.0, a DLManagedTensor.
type Capsule struct {
	Pointer     unsafe.Pointer
	Unversioned bool // it points to a DLManagedTensor
}

// Name returns the name of a Python capsule with such a pointer: dltensor_versioned, or
// dltensor. The consumer must put "used_" before the name.
func (c Capsule) Name() string {
	if c.Unversioned {
		return "dltensor"
	}
	return "dltensor_versioned"
}

// Delete calls the deleter of a capsule that nobody has consumed or will consume.
func (c Capsule) Delete() error {
	if err := c.take("Delete"); err != nil {
		return err
	}
	c.giveBack()
	return nil
}

// The structures of dlpack.h. Pointers are numbers here: they point outside Go's memory.
type (
	managedVersioned struct {
		major, minor     uint32
		context, deleter uintptr
		flags            uint64
		tensor           cTensor
	}
	managed struct {
		tensor           cTensor
		context, deleter uintptr
	}
	cTensor struct {
		data           uintptr
		device         deviceType
		deviceID       int32
		rank           int32
		code           typeCode
		bits           uint8
		lanes          uint16
		shape, strides uintptr
		byteOffset     uint64
	}
)

// The version that Export writes. Others with the major number have the same structures.
const major, minor = 1, 1

const (
	flagReadOnly = 1 << iota
	flagCopied
	flagPadded // elements below a byte have a byte each
	flagsKnown = flagReadOnly | flagCopied | flagPadded
)

// deviceType is dlpack.h's DLDeviceType.
type deviceType int32

const (
	onCPU         deviceType = 1
	onCUDA        deviceType = 2
	onCUDAHost    deviceType = 3
	onOpenCL      deviceType = 4
	onCUDAManaged deviceType = 13
)

// deleter returns a capsule's deleter; 0 if it has none.
func (c Capsule) deleter() uintptr {
	if c.Unversioned {
		return (*managed)(c.Pointer).deleter
	}
	return (*managedVersioned)(c.Pointer).deleter
}

// open returns the content of a capsule. For another version, only the deleter may be read.
func (c Capsule) open() (t *cTensor, flags uint64, err error) {
	const op = "Import"
	if c.Unversioned {
		return &(*managed)(c.Pointer).tensor, 0, nil
	}
	m := (*managedVersioned)(c.Pointer)
	switch {
	case m.major != major:
		return nil, 0, layout.Errorf(device.ErrUnsupported, op, "the capsule is of DLPack %d.%d, and this is %d.%d", m.major, m.minor, major, minor)
	case m.flags&^flagsKnown != 0:
		return nil, 0, layout.Errorf(device.ErrUnsupported, op, "the capsule has flags %#x, of which DLPack %d.%d knows %#x", m.flags, major, minor, flagsKnown)
	}
	return &m.tensor, m.flags, nil
}

// numbers returns n integers at an address in a capsule.
func numbers(at uintptr, n int32) []int64 {
	return unsafe.Slice((*int64)(dl.Pointer(at)), n)
}
