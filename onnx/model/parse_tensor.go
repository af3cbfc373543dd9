package model

import (
	"encoding/binary"
	"math"

	"github.com/restride/restride/internal/onnxpb"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

func readTensor(b []byte, dir string) (*Tensor, error) {
	p := new(onnxpb.TensorProto)
	return read(b, p, "tensor", func(t *Tensor) (err error) {
		name := p.GetName()
		*t, err = reader{dir}.tensor(p)
		return within(err, "tensor %s", quote.Name(name))
	})
}

func (r reader) sparse(p *onnxpb.SparseTensorProto) (*SparseTensor, error) {
	if p.Values == nil || p.Indices == nil {
		return nil, invalidf("a sparse tensor needs values and indices")
	}
	s := &SparseTensor{Dims: shapeOf(p.Dims)}
	var err error
	if s.Values, err = r.tensor(p.Values); err != nil {
		return nil, within(err, "values")
	}
	if s.Indices, err = r.tensor(p.Indices); err != nil {
		return nil, within(err, "indices")
	}
	return s, s.check()
}

// shapeOf returns nil for the shape of a scalar, in whatever form it was written.
func shapeOf(dims []int64) layout.Shape {
	if len(dims) == 0 {
		return nil
	}
	return dims
}

func (r reader) tensor(p *onnxpb.TensorProto) (Tensor, error) {
	t := Tensor{Name: p.GetName(), Dims: shapeOf(p.Dims)}
	var err error
	if t.Type, err = dtype(p.GetDataType()); err != nil {
		return t, err
	}
	if p.Segment != nil {
		return t, unsupportedf("it is a segment of a tensor")
	}
	field, err := dataField(p)
	if err != nil {
		return t, err
	}
	switch p.GetDataLocation() {
	case 0:
		err = t.decode(p, field)
	case 1:
		if field != "" {
			return t, invalidf("elements are given both in %s and in external data", field)
		}
		t.External, err = r.external(p.ExternalData)
	default:
		err = unsupportedf("data_location %d is not known", p.GetDataLocation())
	}
	if err != nil {
		return t, err
	}
	p.Name, p.Dims, p.DataType, p.DataLocation, p.ExternalData = nil, nil, nil, nil, nil
	p.RawData, p.FloatData, p.Int32Data, p.StringData = nil, nil, nil, nil
	p.Int64Data, p.DoubleData, p.Uint64Data = nil, nil, nil
	if t.rest, err = restOf(p); err != nil {
		return t, err
	}
	return t, t.check()
}

// dataField returns the name of the single field that holds elements, or "" if none does.
func dataField(p *onnxpb.TensorProto) (string, error) {
	field := ""
	for _, f := range [...]struct {
		name string
		set  bool
	}{
		{"raw_data", p.RawData != nil},
		{"float_data", len(p.FloatData) > 0},
		{"int32_data", len(p.Int32Data) > 0},
		{"string_data", len(p.StringData) > 0},
		{"int64_data", len(p.Int64Data) > 0},
		{"double_data", len(p.DoubleData) > 0},
		{"uint64_data", len(p.Uint64Data) > 0},
	} {
		if f.set && field != "" {
			return "", invalidf("elements are given both in %s and in %s", field, f.name)
		}
		if f.set {
			field = f.name
		}
	}
	return field, nil
}

// typedField returns the field that holds elements of type t if raw_data does not.
func typedField(t layout.DType) string {
	switch t {
	case layout.Float32, layout.Complex64:
		return "float_data"
	case layout.Float64, layout.Complex128:
		return "double_data"
	case layout.Int64:
		return "int64_data"
	case layout.Uint32, layout.Uint64:
		return "uint64_data"
	case layout.String:
		return "string_data"
	}
	return "int32_data"
}

// decode sets Data or Strings from the field that holds the elements.
func (t *Tensor) decode(p *onnxpb.TensorProto, field string) error {
	typed := typedField(t.Type)
	switch {
	case field != "" && field != typed && (field != "raw_data" || t.Type == layout.String):
		return invalidf("elements of type %v are given in %s, which does not hold them", t.Type, field)
	case t.Type == layout.String:
		t.Strings = make([]string, len(p.StringData))
		for i, s := range p.StringData {
			t.Strings[i] = string(s)
		}
		return nil
	case field == "raw_data":
		if err := t.fits(int64(len(p.RawData)), 1, field); err != nil {
			return err
		}
		t.Data = t.clearTail(p.RawData)
		return nil
	}
	switch typed {
	case "float_data":
		return decodeField(t, p.FloatData, 4, typed, func(out []byte, v float32) bool {
			binary.LittleEndian.PutUint32(out, math.Float32bits(v))
			return true
		})
	case "double_data":
		return decodeField(t, p.DoubleData, 8, typed, func(out []byte, v float64) bool {
			binary.LittleEndian.PutUint64(out, math.Float64bits(v))
			return true
		})
	case "int64_data":
		return decodeField(t, p.Int64Data, 8, typed, func(out []byte, v int64) bool {
			binary.LittleEndian.PutUint64(out, uint64(v))
			return true
		})
	case "uint64_data":
		if t.Type == layout.Uint64 {
			return decodeField(t, p.Uint64Data, 8, typed, func(out []byte, v uint64) bool {
				binary.LittleEndian.PutUint64(out, v)
				return true
			})
		}
		return decodeField(t, p.Uint64Data, 4, typed, func(out []byte, v uint64) bool {
			binary.LittleEndian.PutUint32(out, uint32(v))
			return v <= math.MaxUint32
		})
	}
	return t.decodeInt32s(p.Int32Data)
}

// decodeInt32s reads the field for types of at most 32 bits. A signed integer is stored as
// its value. For other types an entry is the element's bits as an unsigned number or, for
// types smaller than a byte, the bits of one packed byte. ONNX's own writers do so; other
// numbers are refused. (Packed signed types may also have a signed byte: ONNX 1.16 wrote
// int4 so.)
func (t *Tensor) decodeInt32s(entries []int32) error {
	low, high := int32(0), int32(math.MaxUint8)
	width := 1
	switch t.Type {
	case layout.Int32:
		low, high, width = math.MinInt32, math.MaxInt32, 4
	case layout.Int16:
		low, high, width = math.MinInt16, math.MaxInt16, 2
	case layout.Int8:
		low, high = math.MinInt8, math.MaxInt8
	case layout.Int4, layout.Int2:
		low = math.MinInt8
	case layout.Uint16, layout.Float16, layout.BFloat16:
		high, width = math.MaxUint16, 2
	case layout.Bool:
		high = 1
	}
	err := decodeField(t, entries, width, "int32_data", func(out []byte, v int32) bool {
		switch width {
		case 1:
			out[0] = byte(v)
		case 2:
			binary.LittleEndian.PutUint16(out, uint16(v))
		default:
			binary.LittleEndian.PutUint32(out, uint32(v))
		}
		return low <= v && v <= high
	})
	if err == nil {
		t.Data = t.clearTail(t.Data)
	}
	return err
}

// decodeField fills Data from a typed field with entries of width bytes. put writes one
// entry and reports whether it is in range for the type.
func decodeField[T any](t *Tensor, entries []T, width int, field string, put func([]byte, T) bool) error {
	if err := t.fits(int64(len(entries)), width, field); err != nil {
		return err
	}
	t.Data = make([]byte, len(entries)*width)
	for i, v := range entries {
		if !put(t.Data[i*width:], v) {
			return invalidf("entry %d of %s is %v, out of range for type %v", i, field, v, t.Type)
		}
	}
	return nil
}

// fits checks that a field's n entries of width bytes match type and shape. It must precede
// any allocation of that size.
func (t *Tensor) fits(n int64, width int, field string) error {
	size, err := t.Dims.Bytes(t.Type)
	if err != nil {
		return err
	}
	if want := size / int64(width); n != want {
		unit := "entries"
		if field == "raw_data" {
			unit = "bytes"
		}
		return invalidf("%s has %d %s, and %v%v takes %d", field, n, unit, t.Type, t.Dims, want)
	}
	return nil
}
