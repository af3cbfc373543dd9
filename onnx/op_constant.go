package onnx

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

func init() {
	v1 := definition{attrs: []string{"value"}, constant: readConstant, prepare: prepareConstant}
	v11, v12 := v1, v1
	v11.attrs = append(v1.attrs[:1:1], "sparse_value")
	v12.attrs = append(v11.attrs[:2:2], "value_float", "value_floats", "value_int", "value_ints", "value_string", "value_strings")
	// The text of version 1 allows only floating-point types. However, models from that
	// period, including ONNX's own test cases, use Constant for Reshape-5's int64 shape. So
	// the types of version 9 are allowed from version 1 on.
	register("Constant", v1.versions(change{1, types5}, change{9, types5}), v11.versions(change{11, types5}),
		v12.versions(change{12, types5}, change{13, types13}), v12.growing(19, MaxOpset))
}

func prepareConstant(d *definition, attrs Attrs) (kernel, error) {
	t, err := readConstant(d, attrs)
	if err != nil {
		return nil, err
	}
	return func(c *call) error { return c.set(Load(tensor.Host(), t)) }, nil
}

// readConstant reads the single attribute of a Constant.
func readConstant(d *definition, attrs Attrs) (*model.Tensor, error) {
	if err := d.checkAttrs(attrs); err != nil {
		return nil, err
	}
	if len(attrs) != 1 {
		return nil, d.invalid("%d attributes are given; exactly one must be", len(attrs))
	}
	t, err := d.value(attrs[0])
	if err != nil {
		return nil, layout.Named(d.name, err)
	}
	return t, d.checkType(t.Type)
}

func (d *definition) value(a Attr) (*model.Tensor, error) {
	if a.Ref != "" {
		return nil, layout.Errorf(device.ErrUnsupported, d.name, "attribute %s takes the value of its function's attribute %s", a.Name, quote.Name(a.Ref))
	}
	refuse := func() (*model.Tensor, error) {
		return nil, d.invalid("attribute %s is of kind %v", a.Name, a.Kind())
	}
	switch v := a.Value.(type) {
	case *model.Tensor:
		if a.Name != "value" || v == nil {
			return refuse()
		}
		return v, nil
	case *model.SparseTensor:
		if a.Name != "sparse_value" || v == nil {
			return refuse()
		}
		return dense(d.name, "sparse_value", v)
	}
	if a.Name != "value_"+a.Kind() {
		return refuse()
	}
	t, err := literal(a.Value)
	if err != nil {
		return nil, err
	}
	for i, s := range t.Strings {
		if !utf8.ValidString(s) { // as in string tensors
			return nil, d.invalid("attribute %s: string %d is not valid UTF-8", a.Name, i)
		}
	}
	return t, nil
}

// literal makes a tensor from a number, a string or a list of either.
func literal(value any) (*model.Tensor, error) {
	t := &model.Tensor{}
	switch v := value.(type) {
	case int64:
		t.Type = layout.Int64
	case float32:
		t.Type = layout.Float32
	case string:
		t.Type, t.Strings = layout.String, []string{v}
		return t, nil
	case []int64:
		t.Type, t.Dims = layout.Int64, layout.Shape{int64(len(v))}
	case []float32:
		t.Type, t.Dims = layout.Float32, layout.Shape{int64(len(v))}
	case []string:
		t.Type, t.Dims, t.Strings = layout.String, layout.Shape{int64(len(v))}, v
		return t, nil
	}
	var err error
	t.Data, err = binary.Append(nil, binary.LittleEndian, value)
	return t, err
}

// dense fills a tensor with zeros except for the given values; op and what name the sparse
// tensor in errors. Indices are either linear, [n], or one row of coordinates per value,
// [n, rank]; they must be sorted, without repeats.
func dense(op, what string, s *model.SparseTensor) (*model.Tensor, error) {
	t := &model.Tensor{Name: s.Values.Name, Type: s.Values.Type, Dims: s.Dims}
	at, err := positions(op, what, s)
	if err != nil {
		return nil, err
	}
	size, err := sizeOf(t)
	if err != nil {
		return nil, err
	}
	if t.Type == layout.String {
		if len(s.Values.Strings) != len(at) {
			return nil, layout.Errorf(device.ErrInvalid, op, "%s: %d strings for %d indices", what, len(s.Values.Strings), len(at))
		}
		if t.Strings, err = budget.Make[string](budget.Process(), op, size/16); err != nil {
			return nil, err
		}
		for i, p := range at {
			t.Strings[p] = s.Values.Strings[i]
		}
		return t, nil
	}
	values, err := s.Values.Bytes()
	if err != nil {
		return nil, err
	}
	if t.Data, err = budget.Make[byte](budget.Process(), op, size); err != nil {
		return nil, err
	}
	if bits := t.Type.Bits(); bits < 8 {
		per := int64(8 / bits)
		for i, p := range at {
			v := values[int64(i)/per] >> (int64(i) % per * int64(bits)) & (1<<bits - 1)
			t.Data[p/per] |= v << (p % per * int64(bits))
		}
	} else {
		size := int64(bits / 8)
		for i, p := range at {
			copy(t.Data[p*size:][:size], values[int64(i)*size:])
		}
	}
	return t, nil
}

// positions returns the linear index of each value of a sparse tensor.
func positions(op, what string, s *model.SparseTensor) ([]int64, error) {
	refuse := func(format string, args ...any) ([]int64, error) {
		return nil, layout.Errorf(device.ErrInvalid, op, "%s: %s", what, fmt.Sprintf(format, args...))
	}
	count, err := s.Dims.Count()
	if err != nil {
		return nil, err
	}
	n, rank := int64(-1), int64(len(s.Dims))
	if len(s.Values.Dims) == 1 {
		n = s.Values.Dims[0]
	}
	linear := s.Indices.Dims.Equal(layout.Shape{n})
	if n < 0 || s.Indices.Type != layout.Int64 || !linear && !s.Indices.Dims.Equal(layout.Shape{n, rank}) {
		return refuse("values %v and indices %v%v of dims %v; indices must be int64 and of shape [n] or [n,%d] for n values",
			s.Values.Dims, s.Indices.Type, s.Indices.Dims, s.Dims, rank)
	}
	if n > count { // n need not match any stored data: see [n,0]
		return refuse("%d values for %d elements", n, count)
	}
	raw, err := s.Indices.Bytes()
	if err != nil {
		return nil, err
	}
	index, err := budget.Make[int64](budget.Process(), op, int64(len(raw)/8))
	if err != nil {
		return nil, err
	}
	if _, err := binary.Decode(raw, binary.LittleEndian, index); err != nil {
		return nil, err
	}
	out, err := budget.Make[int64](budget.Process(), op, n)
	if err != nil {
		return nil, err
	}
	for i := range out {
		p := int64(0)
		if linear {
			p = index[i]
			if p < 0 || p >= count {
				return refuse("index %d is outside [0,%d)", p, count)
			}
		} else {
			for axis, x := range index[int64(i)*rank:][:rank] {
				if x < 0 || x >= s.Dims[axis] {
					return refuse("index %d of axis %d is outside [0,%d)", x, axis, s.Dims[axis])
				}
				p = p*s.Dims[axis] + x
			}
		}
		if i > 0 && p <= out[i-1] {
			return refuse("the indices are not in rising order")
		}
		out[i] = p
	}
	return out, nil
}
