package dlpack

import (
	"fmt"
	"math"
	"math/bits"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/layout"
)

// form is a capsule's description of its elements.
type form struct {
	dtype  layout.DType
	layout layout.Layout // in the bytes from the lowest element's on
	bytes  int64         // the number of these; 0: no elements
	before int64         // bytes before the element that data points to
	copied bool          // exclusive to the importer
}

func (f *form) String() string { return fmt.Sprintf("%v%v", f.dtype, f.layout) }

// formOf checks a tensor's description of its elements.
func formOf(t *cTensor, flags uint64, as layout.DType) (form, error) {
	f := form{copied: flags&flagCopied != 0}
	var err error
	if f.dtype, err = elementType(t, as); err != nil {
		return f, err
	}
	dims, strides, err := axesOf(t, f.dtype, flags&flagPadded != 0)
	if err != nil {
		return f, err
	}
	return f, f.lay(dims, strides)
}

// axesOf returns the extents and strides of a tensor, in elements of a type.
func axesOf(t *cTensor, of layout.DType, padded bool) (dims, strides []int64, err error) {
	const op = "Import"
	invalid := func(format string, args ...any) ([]int64, []int64, error) {
		return nil, nil, layout.Errorf(device.ErrInvalid, op, format, args...)
	}
	switch {
	case t.rank < 0 || t.rank > layout.MaxRank:
		return invalid("the rank is %d; it may be 0 to %d", t.rank, layout.MaxRank)
	case t.rank > 0 && t.shape == 0:
		return invalid("rank %d without a shape", t.rank)
	case (t.shape|t.strides)%unsafe.Alignof(int64(0)) != 0:
		return invalid("the addresses of shape and strides, %#x and %#x, are those of no int64", t.shape, t.strides)
	}
	if t.rank > 0 {
		dims = append(dims, numbers(t.shape, t.rank)...)
	}
	if t.strides != 0 && t.rank > 0 {
		strides = append(strides, numbers(t.strides, t.rank)...)
	} else {
		l, err := layout.Contiguous(dims...)
		if err != nil {
			return nil, nil, layout.Named(op, err)
		}
		strides = l.Strides()
	}
	pitch := int64(t.bits) // the bits of a lane
	if padded && t.bits < 8 {
		pitch = 8
	}
	lanes, unit := int64(t.lanes), pitch/int64(of.Bits()) // the step of lanes, in elements of the type
	if lanes > 1 && pitch*lanes%8 != 0 {
		return nil, nil, layout.Errorf(device.ErrUnsupported, op, "%d lanes of %d bits: of how many bytes they take, DLPack says different things", lanes, t.bits)
	}
	for i, stride := range strides {
		if dims[i] <= 1 {
			strides[i] = 0 // any value: it is not used
			continue
		}
		hi, lo := bits.Mul64(magnitude(stride), uint64(lanes*unit))
		if hi != 0 || lo > math.MaxInt64 {
			return invalid("the stride %d of %d lanes of %d bits overflows int64", stride, lanes, t.bits)
		}
		strides[i] = stride * lanes * unit
	}
	if lanes > 1 {
		dims, strides = append(dims, lanes), append(strides, unit)
	}
	if of == layout.Bit && t.bits > 1 {
		dims, strides = append(dims, int64(t.bits)), append(strides, 1)
	}
	return dims, strides, nil
}

// lay finds the lowest and the highest byte of elements.
func (f *form) lay(dims, strides []int64) error {
	const op = "Import"
	n, err := layout.Shape(dims).Count()
	if err != nil {
		return layout.Named(op, err)
	}
	if n == 0 {
		f.layout, err = layout.Contiguous(dims...)
		return layout.Named(op, err)
	}
	below, ok := int64(0), true // elements before the first
	for i, stride := range strides {
		if stride < 0 && ok {
			hi, span := bits.Mul64(uint64(dims[i]-1), magnitude(stride))
			ok = hi == 0 && span <= 1<<60 && below <= 1<<60
			below += int64(span)
		}
	}
	width := int64(f.dtype.Bits())
	if each := 8 / width; each > 1 {
		below = (below + each - 1) / each * each // whole bytes
	}
	if ok {
		f.before, ok = layout.PackedBytes(below, int(width))
	}
	if !ok {
		return layout.Errorf(device.ErrInvalid, op, "%v by strides %v: a position overflows int64", layout.Shape(dims), layout.Shape(strides))
	}
	if f.layout, err = layout.Strided(dims, strides, below); err != nil {
		return layout.Named(op, err)
	}
	_, hi, _ := f.layout.Extent()
	if f.bytes, ok = 0, hi < math.MaxInt64; ok {
		f.bytes, ok = layout.PackedBytes(hi+1, int(width))
	}
	if !ok || f.bytes > 1<<62 {
		return layout.Errorf(device.ErrInvalid, op, "%v: the size in bytes overflows int64", f)
	}
	return nil
}

// address returns the begin of the bytes, for memory with addresses.
func (f *form) address(t *cTensor) (uintptr, error) {
	first, carry := bits.Add64(uint64(t.data), t.byteOffset, 0)
	last, more := bits.Add64(first, uint64(f.bytes-f.before), 0)
	switch {
	case t.data == 0:
		return 0, layout.Errorf(device.ErrInvalid, "Import", "the data of %v is nil", f)
	case carry+more != 0 || last > 1<<63 || first <= uint64(f.before):
		return 0, layout.Errorf(device.ErrInvalid, "Import", "%v, from byte %d behind address %#x, is not within any memory", f, t.byteOffset, t.data)
	}
	return uintptr(first) - uintptr(f.before), nil
}

// prepend adds n bytes before the others.
func (f *form) prepend(n int64) error {
	width := int64(f.dtype.Bits())
	if n*8%width != 0 {
		return layout.Errorf(device.ErrUnsupported, "Import", "%v begins at byte %d of what kernels are given, which is no multiple of %d bits", f, n, width)
	}
	var err error
	f.layout, err = f.layout.Rebase(f.layout.Offset() + n*8/width)
	f.bytes += n
	return layout.Named("Import", err)
}

// words returns the bytes, rounded up to words.
func (f *form) words() int64 { return (f.bytes + word - 1) / word * word }

func magnitude(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

// bytesAt returns memory at an address.
func bytesAt(at uintptr, n int64) []byte { return unsafe.Slice((*byte)(dl.Pointer(at)), n) }
