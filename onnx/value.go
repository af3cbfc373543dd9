package onnx

import (
	"errors"
	"fmt"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// A Value is what an edge of a graph carries: a *tensor.Tensor, a *Sequence or
// an *Optional. Whoever gets one releases it.
type Value interface{ Release() error }

// Sequence is an ONNX sequence: values of one type.
type Sequence struct {
	Elem  layout.DType // of the tensors
	Items []Value
}

// Optional is an ONNX optional: a value or none.
type Optional struct {
	Elem  layout.DType // of the tensors
	Value Value        // nil: none
}

// Release releases the items.
func (s *Sequence) Release() error {
	var errs []error
	for _, v := range s.Items {
		errs = append(errs, v.Release())
	}
	return errors.Join(errs...)
}

// Release releases the value, if there is one.
func (o *Optional) Release() error {
	if o.Value == nil {
		return nil
	}
	return o.Value.Release()
}

// alias returns another reference to a value; op names the operation to trace
// hooks.
func alias(op string, v Value) (Value, error) {
	switch v := v.(type) {
	case *tensor.Tensor:
		return v.WithLayout(op, v.Layout())
	case *Sequence:
		out := &Sequence{Elem: v.Elem, Items: make([]Value, 0, len(v.Items))}
		for _, item := range v.Items {
			a, err := alias(op, item)
			if err != nil {
				return nil, errors.Join(err, out.Release())
			}
			out.Items = append(out.Items, a)
		}
		return out, nil
	case *Optional:
		if v.Value == nil {
			return &Optional{Elem: v.Elem}, nil
		}
		a, err := alias(op, v.Value)
		if err != nil {
			return nil, err
		}
		return &Optional{Elem: v.Elem, Value: a}, nil
	}
	return nil, layout.Errorf(device.ErrInvalid, op, "%T is not a value", v)
}

// describe names a value's type for errors.
func describe(v Value) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case *tensor.Tensor:
		return fmt.Sprintf("%v%v", v.DType(), v.Shape())
	case *Sequence:
		return fmt.Sprintf("a sequence of %v", v.Elem)
	case *Optional:
		return fmt.Sprintf("an optional of %v", v.Elem)
	}
	return fmt.Sprintf("%T", v)
}

// Values are named values: the inputs or outputs of a graph.
type Values map[string]Value

// Tensor returns the named value, which must be a tensor.
func (vs Values) Tensor(name string) (*tensor.Tensor, error) {
	v, ok := vs[name]
	if !ok {
		return nil, layout.Errorf(device.ErrInvalid, "Values", "there is no value %q", name)
	}
	t, ok := v.(*tensor.Tensor)
	if !ok {
		return nil, layout.Errorf(device.ErrInvalid, "Values", "%q is %s, not a tensor", name, describe(v))
	}
	return t, nil
}

// Release releases all values.
func (vs Values) Release() error {
	var errs []error
	for _, v := range vs {
		errs = append(errs, v.Release())
	}
	return errors.Join(errs...)
}
