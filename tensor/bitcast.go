package tensor

import (
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// Bitcast returns a view of the same bits as elements of another type. The rule for widths is
// TensorFlow's bitcast: narrower elements get a new last axis over the parts of each element, low
// bits first; wider elements merge such an axis:
//
//	int32 [K,N]    to uint4   [K,N,8]
//	uint4 [K,N,8]  to int32   [K,N]
//	uint8 [N]      to bit     [N,8]
//
// A last axis of another extent is device.ErrInvalid. device.ErrUnsupported: the parts of wider
// elements are not adjacent, or do not begin on a multiple of their width. Bitcast never copies;
// a tensor from [Tensor.Contiguous] or [Tensor.Clone] has suitable elements.
func (t *Tensor) Bitcast(to layout.DType) (*Tensor, error) {
	const op = "Bitcast"
	if t == nil {
		return nil, nilTensor(op)
	}
	l, err := t.layout, error(nil)
	switch {
	case !to.Storable():
		err = layout.Errorf(device.ErrInvalid, op, "%v is not an element type", to)
	case (to == layout.String) != (t.dtype == layout.String):
		err = layout.Errorf(device.ErrInvalid, op, "to %v: strings have no bits to share", to)
	case to.Bits() != t.dtype.Bits():
		l, err = l.Bitcast(t.dtype.Bits(), to.Bits())
	}
	v, err := t.reference(t.stream, op, &l, err)
	if err != nil {
		return nil, err
	}
	v.dtype = to
	return v.publish(), nil
}
