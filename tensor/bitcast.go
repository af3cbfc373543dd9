package tensor

import (
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// Bitcast returns a view of the same bits as elements of another type. The rule for
// widths is that of TensorFlow's bitcast: narrower elements get a last axis, of the
// parts of an element with the low bits first, and wider ones are made of such an axis,
// which goes:
//
//	int32 [K,N]    to uint4   [K,N,8]
//	uint4 [K,N,8]  to int32   [K,N]
//	uint8 [N]      to bit     [N,8]
//
// A last axis of another extent is device.ErrInvalid. Wider elements whose parts do not
// lie beside each other, or do not begin on a multiple of their width, are
// device.ErrUnsupported: nothing is copied here, and a tensor that [Tensor.Contiguous]
// returns, or [Tensor.Clone], has them so.
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
