package onnx

import (
	"errors"
	"fmt"
	"strings"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/quote"
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

// String shows the sequence: its type, then each item on a line of its own or
// more. It reads the items' elements, as Tensor.String does.
func (s *Sequence) String() string {
	if s == nil {
		return "<nil>"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "sequence of %v, %d items", s.Elem, len(s.Items))
	sep := ":\n"
	for _, v := range s.Items {
		b.WriteString(sep)
		b.WriteString(text(v))
		sep = "\n"
	}
	return b.String()
}

// String shows the optional: its type, then its value or none. It reads the
// value's elements, as Tensor.String does.
func (o *Optional) String() string {
	if o == nil {
		return "<nil>"
	}
	return fmt.Sprintf("optional of %v: %s", o.Elem, text(o.Value))
}

// text shows a value.
func text(v Value) string {
	if absent(v) {
		return "none"
	}
	return fmt.Sprint(v)
}

// typeString writes a value's type as model.Type does: "sequence(float)".
func typeString(v Value) string {
	if absent(v) {
		return "?"
	}
	switch v := v.(type) {
	case *tensor.Tensor:
		return describe(v)
	case *Sequence:
		return "sequence(" + v.Elem.String() + ")"
	case *Optional:
		if _, ok := v.Value.(*Sequence); ok {
			return "optional(" + typeString(v.Value) + ")"
		}
		return "optional(" + v.Elem.String() + ")"
	}
	return "?"
}

// Release releases the items. On a nil sequence it does nothing.
func (s *Sequence) Release() error {
	if s == nil {
		return nil
	}
	var errs []error
	for _, v := range s.Items {
		errs = release(errs, v)
	}
	return errors.Join(errs...)
}

// Release releases the value, if there is one. On a nil optional it does nothing.
func (o *Optional) Release() error {
	if o == nil || absent(o.Value) {
		return nil
	}
	return o.Value.Release()
}

// release releases a value, if it is there, and appends the error, if there is
// one.
func release(errs []error, v Value) []error {
	if absent(v) {
		return errs
	}
	if err := v.Release(); err != nil {
		errs = append(errs, err)
	}
	return errs
}

// absent reports whether a value is none: nil, of whatever Go type.
func absent(v Value) bool {
	switch v := v.(type) {
	case nil:
		return true
	case *tensor.Tensor:
		return v == nil
	case *Sequence:
		return v == nil
	case *Optional:
		return v == nil
	case *pending:
		return v == nil
	}
	return false
}

// elemOfValue returns the element type of a value.
func elemOfValue(v Value) layout.DType {
	switch v := v.(type) {
	case *tensor.Tensor:
		return v.DType()
	case *Sequence:
		return v.Elem
	case *Optional:
		return v.Elem
	case *pending:
		return v.dtype
	}
	return layout.Invalid
}

// holds reports whether a value is one that ONNX has a type for: a tensor, a
// sequence of such, or an optional of either, and all of one element type.
func holds(v Value, elem layout.DType) bool {
	if absent(v) || elemOfValue(v) != elem {
		return false
	}
	switch v := v.(type) {
	case *Sequence:
		for _, item := range v.Items {
			if _, ok := item.(*tensor.Tensor); !ok || !holds(item, elem) {
				return false
			}
		}
	case *Optional:
		if _, nested := v.Value.(*Optional); nested || v.Value != nil && !holds(v.Value, elem) {
			return false
		}
	}
	return true
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
	if absent(v) {
		return "nothing"
	}
	switch v := v.(type) {
	case *tensor.Tensor:
		return fmt.Sprintf("%v%v", v.DType(), v.Shape())
	case *Sequence:
		return fmt.Sprintf("a sequence of %v", v.Elem)
	case *Optional:
		return fmt.Sprintf("an optional of %v", v.Elem)
	case *pending:
		return fmt.Sprintf("%v%v", v.dtype, layout.Shape(v.dims))
	}
	return fmt.Sprintf("%T", v)
}

// Values are named values: the inputs or outputs of a graph.
type Values map[string]Value

// Tensor returns the named value, which must be a tensor.
func (vs Values) Tensor(name string) (*tensor.Tensor, error) {
	v, ok := vs[name]
	if !ok {
		return nil, layout.Errorf(device.ErrInvalid, "Values", "there is no value %s", quote.Name(name))
	}
	t, ok := v.(*tensor.Tensor)
	if !ok || t == nil {
		return nil, layout.Errorf(device.ErrInvalid, "Values", "%s is %s, not a tensor", quote.Name(name), describe(v))
	}
	return t, nil
}

// Release releases all values.
func (vs Values) Release() error {
	var errs []error
	for _, v := range vs {
		errs = release(errs, v)
	}
	return errors.Join(errs...)
}
