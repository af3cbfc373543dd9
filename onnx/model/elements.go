package model

import (
	"encoding/binary"
	"slices"

	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// NewTensor returns a tensor with these elements; without dims it is a scalar. Types that
// Go lacks (float16, int4 and so on) are built from bytes: see Tensor.Data.
func NewTensor[T layout.Element](name string, values []T, dims ...int64) (Tensor, error) {
	t := Tensor{Name: name, Type: layout.TypeOf[T](), Dims: shapeOf(slices.Clone(dims))}
	if strs, ok := layout.Plain(values).([]string); ok {
		t.Strings = nonNil(slices.Clone(strs))
	} else {
		b, err := binary.Append([]byte{}, binary.LittleEndian, layout.Plain(values))
		if err != nil {
			return Tensor{}, named("NewTensor", invalidf("%v", err))
		}
		t.Data = b
	}
	if err := t.check(); err != nil {
		return Tensor{}, named("NewTensor", within(err, "tensor %s", quote.Name(name)))
	}
	return t, nil
}

// Elements returns a copy of the tensor's elements, and reads external data if necessary. T
// must match the tensor's type.
func Elements[T layout.Element](t *Tensor) ([]T, error) {
	if t == nil {
		return nil, nilError("Elements", "tensor")
	}
	values, err := elements[T](t)
	return values, named("Elements", within(err, "tensor %s", quote.Name(t.Name)))
}

func elements[T layout.Element](t *Tensor) ([]T, error) {
	if want := layout.TypeOf[T](); t.Type != want {
		return nil, invalidf("its type is %v, want %v", t.Type, want)
	}
	if err := t.check(); err != nil {
		return nil, err
	}
	if t.Type == layout.String {
		values, err := budget.Make[T](budget.Process(), "Elements", int64(len(t.Strings)))
		if err == nil {
			copy(layout.Plain(values).([]string), t.Strings)
		}
		return values, err
	}
	b, err := t.bytes()
	if err != nil {
		return nil, err
	}
	count, err := t.Dims.Count()
	if err != nil {
		return nil, err
	}
	values, err := budget.Make[T](budget.Process(), "Elements", count)
	if err != nil {
		return nil, err
	}
	if _, err := binary.Decode(b, binary.LittleEndian, layout.Plain(values)); err != nil {
		return nil, invalidf("%v", err)
	}
	return values, nil
}
