package tensor

import (
	"github.com/restride/restride/device"
	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/layout"
)

// Iota returns a tensor of numbers whose elements are their indices along an axis: 0, 1, 2 and so
// on. Along the other axes they repeat, with strides of 0 (Contiguous copies all). One row
// is sent to the device. An integer type must hold the last index; floats round it, as Cast does.
func Iota(s *Stream, t layout.DType, axis int, dims ...int64) (*Tensor, error) {
	const op = "Iota"
	if s == nil {
		return nil, nilStream(op)
	}
	at, err := layout.Axis(op, axis, len(dims))
	if err == nil {
		_, err = layout.Shape(dims).Count()
	}
	if err == nil {
		err = checkIndexType(op, t, dims[at])
	}
	if err != nil {
		return nil, named(op, t, err)
	}
	row, err := indices(s, op, t, dims[at])
	if err != nil || len(dims) == 1 {
		return published(row, err)
	}
	defer row.Release()
	after := make([]int, len(dims)-at-1)
	for i := range after {
		after[i] = i + 1
	}
	l, err := row.layout.Unsqueeze(after...)
	if err == nil {
		l, err = l.Expand(dims...)
	}
	return row.view(s, op, &l, err)
}

// checkIndexType checks that a type can hold the indices below n.
func checkIndexType(op string, t layout.DType, n int64) error {
	bits := t.Bits()
	switch numeric.KindOf(t) {
	case numeric.FloatKind:
		return nil
	case numeric.IntKind:
		bits--
	case numeric.UintKind:
	default:
		return layout.Errorf(device.ErrUnsupported, op, "%v is not a type of numbers", t)
	}
	if bits < 63 && (n-1)>>bits > 0 {
		return layout.Errorf(device.ErrInvalid, op, "%v does not hold %d", t, n-1)
	}
	return nil
}

// indices returns 0 to n-1 on a stream.
func indices(s *Stream, op string, t layout.DType, n int64) (*Tensor, error) {
	values, err := budget.Make[int64](budget.Process(), op, n)
	if err != nil {
		return nil, err
	}
	for i := range values {
		values[i] = int64(i)
	}
	x, err := wrap(op, layout.Int64, bytesOfSlice(values), n, []int64{n}, false)
	if err != nil {
		return nil, err
	}
	defer x.Release()
	y, err := x.cast(op, t, device.Rounding{})
	if err != nil {
		return nil, err
	}
	defer y.Release()
	return y.to(op, s)
}
