package onnx

import (
	"encoding/binary"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

func init() {
	v1 := definition{attrs: []string{"value"}, prepare: prepareConstant}
	v11, v12 := v1, v1
	v11.attrs = append(v1.attrs[:1:1], "sparse_value")
	v12.attrs = append(v11.attrs[:2:2], "value_float", "value_floats", "value_int", "value_ints", "value_string", "value_strings")
	// The text of version 1 allows floating-point numbers only. Models of that
	// time give Reshape-5 its int64 shape with it all the same, ONNX's own test
	// cases among them: what version 9 allows is allowed from the start.
	register("Constant", v1.versions(change{1, types5}, change{9, types5})...)
	register("Constant", v11.versions(change{11, types5})...)
	register("Constant", v12.versions(change{12, types5}, change{13, types13}, change{19, types19}, change{21, types21},
		change{23, types23}, change{24, types24}, change{25, types25})...)
}

// Constant returns the tensor that an attribute gives (ONNX Constant-1 to -25):
// value, or from opset 11 sparse_value, or from opset 12 value_int(s),
// value_float(s), value_string(s). The result is on s: one transfer.
func Constant(s *tensor.Stream, v Opset, value Attr) (*tensor.Tensor, error) {
	d, err := lookup("Constant", v)
	if err != nil {
		return nil, err
	}
	t, err := d.constant(Attrs{value})
	if err != nil {
		return nil, err
	}
	return Load(s, t)
}

func prepareConstant(d *definition, attrs Attrs) (kernel, error) {
	t, err := d.constant(attrs)
	if err != nil {
		return nil, err
	}
	return func(c *call) error { return c.set(Load(tensor.Host(), t)) }, nil
}

// constant reads the one attribute of a Constant.
func (d *definition) constant(attrs Attrs) (*model.Tensor, error) {
	if err := d.checkAttrs(attrs); err != nil {
		return nil, err
	}
	if len(attrs) != 1 {
		return nil, d.invalid("%d attributes are given; exactly one must be", len(attrs))
	}
	var t *model.Tensor
	var err error
	kind := attrs[0].Kind()
	switch attrs[0].Name {
	case "value":
		t, _, err = attrs.Tensor("value")
	case "sparse_value":
		sparse, ok := attrs[0].Value.(*model.SparseTensor)
		if !ok {
			return nil, d.invalid("attribute sparse_value is of kind %v", kind)
		}
		t, err = dense(d, sparse)
	case "value_int", "value_ints", "value_float", "value_floats", "value_string", "value_strings":
		t, err = literal(d, attrs[0])
	}
	if err != nil {
		return nil, err
	}
	if err := d.checkType(t.Type); err != nil {
		return nil, err
	}
	return t, nil
}

// literal makes a tensor of an attribute that is a number, a string or a list.
func literal(d *definition, a Attr) (*model.Tensor, error) {
	t := &model.Tensor{}
	wants := model.NoKind
	switch a.Name {
	case "value_int":
		wants, t.Type = model.IntAttr, layout.Int64
	case "value_ints":
		wants, t.Type = model.IntsAttr, layout.Int64
	case "value_float":
		wants, t.Type = model.FloatAttr, layout.Float32
	case "value_floats":
		wants, t.Type = model.FloatsAttr, layout.Float32
	case "value_string":
		wants, t.Type = model.StringAttr, layout.String
	case "value_strings":
		wants, t.Type = model.StringsAttr, layout.String
	}
	if a.Kind() != wants || a.Ref != "" {
		return nil, d.invalid("attribute %s is of kind %v; it must be of kind %v", a.Name, a.Kind(), wants)
	}
	n := int64(-1) // a scalar
	var err error
	switch v := a.Value.(type) {
	case string:
		t.Strings = []string{v}
	case []string:
		t.Strings, n = v, int64(len(v))
	case []int64:
		t.Data, err = binary.Append(nil, binary.LittleEndian, v)
		n = int64(len(v))
	case []float32:
		t.Data, err = binary.Append(nil, binary.LittleEndian, v)
		n = int64(len(v))
	default:
		t.Data, err = binary.Append(nil, binary.LittleEndian, v)
	}
	if n >= 0 {
		t.Dims = layout.Shape{n}
	}
	return t, err
}

// maxDense is the largest tensor, in bytes, that a sparse constant may stand
// for: a few bytes of a file must not take all memory.
const maxDense = 1 << 30

// dense fills a tensor with zeros but for the given values. Indices are either
// linear, [n], or one row of coordinates per value, [n, rank]; they must be
// in order, without repeats.
func dense(d *definition, s *model.SparseTensor) (*model.Tensor, error) {
	t := &model.Tensor{Name: s.Values.Name, Type: s.Values.Type, Dims: s.Dims}
	count, err := s.Dims.Count()
	if err != nil {
		return nil, err
	}
	if t.Type == layout.String {
		if count > maxDense/16 {
			return nil, layout.Errorf(device.ErrUnsupported, d.name, "sparse_value of %v strings: at most %d", s.Dims, maxDense/16)
		}
		t.Strings = make([]string, count)
	} else {
		size, err := s.Dims.Bytes(t.Type)
		if err != nil {
			return nil, err
		}
		if size > maxDense {
			return nil, layout.Errorf(device.ErrUnsupported, d.name, "sparse_value of %v%v: %d bytes; at most %d", t.Type, s.Dims, size, maxDense)
		}
		t.Data = make([]byte, size)
	}
	at, err := positions(d, s)
	if err != nil {
		return nil, err
	}
	if t.Type == layout.String {
		for i, p := range at {
			t.Strings[p] = s.Values.Strings[i]
		}
		return t, nil
	}
	values, err := s.Values.Bytes()
	if err != nil {
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
func positions(d *definition, s *model.SparseTensor) ([]int64, error) {
	n, rank := int64(0), int64(len(s.Dims))
	if len(s.Values.Dims) == 1 {
		n = s.Values.Dims[0]
	}
	linear := s.Indices.Dims.Equal(layout.Shape{n})
	if len(s.Values.Dims) != 1 || s.Indices.Type != layout.Int64 || !linear && !s.Indices.Dims.Equal(layout.Shape{n, rank}) {
		return nil, d.invalid("sparse_value: values %v and indices %v%v of dims %v; indices must be int64 and of shape [n] or [n,%d] for n values",
			s.Values.Dims, s.Indices.Type, s.Indices.Dims, s.Dims, rank)
	}
	raw, err := s.Indices.Bytes()
	if err != nil {
		return nil, err
	}
	count, err := s.Dims.Count()
	if err != nil {
		return nil, err
	}
	index := make([]int64, len(raw)/8)
	if _, err := binary.Decode(raw, binary.LittleEndian, index); err != nil {
		return nil, err
	}
	out := make([]int64, n)
	for i := range out {
		p := int64(0)
		if linear {
			p = index[i]
			if p < 0 || p >= count {
				return nil, d.invalid("sparse_value: index %d is outside [0,%d)", p, count)
			}
		} else {
			for axis, x := range index[int64(i)*rank:][:rank] {
				if x < 0 || x >= s.Dims[axis] {
					return nil, d.invalid("sparse_value: index %d of axis %d is outside [0,%d)", x, axis, s.Dims[axis])
				}
				p = p*s.Dims[axis] + x
			}
		}
		if i > 0 && p <= out[i-1] {
			return nil, d.invalid("sparse_value: the indices are not in rising order")
		}
		out[i] = p
	}
	return out, nil
}
