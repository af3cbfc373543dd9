package onnx

import (
	"errors"
	"fmt"
	"strings"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// A Value is the content of an edge of a graph: a *tensor.Tensor, a *Sequence or an
// *Optional. The receiver of a Value must release it.
type Value interface{ Release() error }

// Sequence is an ONNX sequence: values of one type.
type Sequence struct {
	Elem  layout.DType // element type of the tensors
	Items []Value
}

// countItems charges memory for n items, each about the size of a tensor without its
// elements, until holder is garbage.
func countItems[T any](op string, holder *T, n int) error {
	const item = 512
	return budget.TakeFor(budget.Process(), holder, op, int64(n)*item)
}

// Optional is an ONNX optional: a value or none.
type Optional struct {
	Elem  layout.DType // element type of the tensors
	Value Value        // nil: none
}

// Format formats a value: a tensor as tensor.Tensor.Format does; a sequence or an optional
// as its type followed by each value on one or more lines. Elements that cannot be read are
// an error.
func Format(v Value) (string, error) {
	return format(v, (*tensor.Tensor).Format)
}

// format formats a value with a function for its tensors.
func format(v Value, show func(*tensor.Tensor) (string, error)) (string, error) {
	if absent(v) {
		return "none", nil
	}
	switch v := v.(type) {
	case *tensor.Tensor:
		return show(v)
	case *Optional:
		text, err := format(v.Value, show)
		return fmt.Sprintf("optional of %v: %s", v.Elem, text), err
	case *Sequence:
		var b strings.Builder
		fmt.Fprintf(&b, "sequence of %v, %d items", v.Elem, len(v.Items))
		sep := ":\n"
		for i, item := range v.Items {
			text, err := format(item, show)
			if err != nil {
				return "", fmt.Errorf("item %d: %w", i, err)
			}
			b.WriteString(sep)
			b.WriteString(text)
			sep = "\n"
		}
		return b.String(), nil
	}
	return fmt.Sprintf("a %T", v), nil
}

// shown is a tensor's String as a function for format.
func shown(t *tensor.Tensor) (string, error) { return t.String(), nil }

// String is Format with error text in place of elements that cannot be read.
func (s *Sequence) String() string {
	if s == nil {
		return "<nil>"
	}
	text, _ := format(s, shown) // never an error
	return text
}

// String is Format with error text in place of elements that cannot be read.
func (o *Optional) String() string {
	if o == nil {
		return "<nil>"
	}
	text, _ := format(o, shown) // never an error
	return text
}

// typeString formats a value's type as model.Type does: "sequence(float)".
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

// release releases a value, if there is one, and appends any error.
func release(errs []error, v Value) []error {
	if absent(v) {
		return errs
	}
	if err := v.Release(); err != nil {
		errs = append(errs, err)
	}
	return errs
}

// absent reports whether a value is nil, of any Go type.
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
	case donation:
		return v.x == nil
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

// holds reports whether ONNX has a type for the value: a tensor, a sequence of tensors, or
// an optional of either, all with one element type.
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
	return again(op, v, func(x *tensor.Tensor) (*tensor.Tensor, error) { return x.WithLayout(op, x.Layout()) })
}

// again returns a value like v, made of what a function returns for each of its tensors.
func again(op string, v Value, each func(*tensor.Tensor) (*tensor.Tensor, error)) (Value, error) {
	switch v := v.(type) {
	case *tensor.Tensor:
		return each(v)
	case *Sequence:
		out := &Sequence{Elem: v.Elem}
		if err := countItems(op, out, len(v.Items)); err != nil {
			return nil, err
		}
		out.Items = make([]Value, 0, len(v.Items))
		for _, item := range v.Items {
			a, err := again(op, item, each)
			if err != nil {
				return nil, errors.Join(err, out.Release())
			}
			out.Items = append(out.Items, a)
		}
		return out, nil
	case *Optional:
		if absent(v.Value) {
			return &Optional{Elem: v.Elem}, nil
		}
		a, err := again(op, v.Value, each)
		if err != nil {
			return nil, err
		}
		return &Optional{Elem: v.Elem, Value: a}, nil
	}
	return nil, layout.Errorf(device.ErrInvalid, op, "%T is not a value", v)
}

// tensorsOf returns the tensors whose elements a value holds or, if it is pending, will have.
func tensorsOf(v Value) []*tensor.Tensor {
	if absent(v) {
		return nil
	}
	var all []*tensor.Tensor
	switch v := v.(type) {
	case *tensor.Tensor:
		all = append(all, v)
	case *Sequence:
		for _, item := range v.Items {
			all = append(all, tensorsOf(item)...)
		}
	case *Optional:
		all = tensorsOf(v.Value)
	case *pending:
		for i := range v.parts {
			all = append(all, tensorsOf(v.parts[i].Src)...)
		}
	}
	return all
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
	case donation:
		return describe(v.x) + " that is given away"
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
