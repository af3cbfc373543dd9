package model

import (
	"github.com/restride/restride/internal/onnxpb"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

func (r reader) valueInfos(ps []*onnxpb.ValueInfoProto, what string) ([]ValueInfo, error) {
	if len(ps) == 0 {
		return nil, nil
	}
	for i, p := range ps {
		if p.GetName() == "" {
			return nil, nameless(what, i)
		}
	}
	vs := make([]ValueInfo, len(ps))
	for i, p := range ps {
		var err error
		v := &vs[i]
		v.Name = p.GetName()
		if v.Type, err = r.typ(p.Type, 0); err != nil {
			return nil, within(err, "%s %d %s", what, i, quote.Name(v.Name))
		}
		p.Name, p.Type = nil, nil
		if v.rest, err = restOf(p); err != nil {
			return nil, within(err, "%s %d %s", what, i, quote.Name(v.Name))
		}
	}
	return vs, nil
}

// typ reads a type; nil means that the file does not state the type.
func (r reader) typ(p *onnxpb.TypeProto, depth int) (Type, error) {
	t := Type{Denotation: p.GetDenotation()}
	err := deeper(depth, "type")
	if err != nil {
		return t, err
	}
	item := func(p *onnxpb.TypeProto) error {
		if p == nil {
			return nil
		}
		inner, err := r.typ(p, depth+1)
		t.Item = &inner
		return err
	}
	switch v := p.GetValue().(type) {
	case *onnxpb.TypeProto_TensorType:
		t.Kind = TensorType
		err = t.tensor(v.TensorType.GetElemType(), v.TensorType.GetShape())
	case *onnxpb.TypeProto_SparseTensorType:
		t.Kind = SparseTensorType
		err = t.tensor(v.SparseTensorType.GetElemType(), v.SparseTensorType.GetShape())
	case *onnxpb.TypeProto_SequenceType:
		t.Kind = SequenceType
		err = item(v.SequenceType.GetElemType())
	case *onnxpb.TypeProto_OptionalType:
		t.Kind = OptionalType
		err = item(v.OptionalType.GetElemType())
	case *onnxpb.TypeProto_MapType:
		t.Kind = MapType
		if t.Elem, err = statedElem(v.MapType.GetKeyType()); err == nil {
			err = item(v.MapType.GetValueType())
		}
	case *onnxpb.TypeProto_OpaqueType:
		t.Kind = OpaqueType
		t.Domain, t.Name = v.OpaqueType.GetDomain(), v.OpaqueType.GetName()
	}
	return t, err
}

// tensor sets the fields of tensors and sparse tensors.
func (t *Type) tensor(elem int32, shape *onnxpb.TensorShapeProto) (err error) {
	if t.Elem, err = statedElem(elem); err != nil || shape == nil {
		return err
	}
	if n := len(shape.Dim); n > layout.MaxRank {
		return unsupportedf("a type of rank %d; the highest is %d", n, layout.MaxRank)
	}
	t.HasShape = true
	for i, d := range shape.Dim {
		dim := Dim{Value: -1, Denotation: d.GetDenotation()}
		switch v := d.GetValue().(type) {
		case *onnxpb.TensorShapeProto_Dimension_DimValue:
			// Some exporters write -1 for an unknown extent.
			if dim.Value = v.DimValue; dim.Value < -1 {
				return invalidf("dim_value of axis %d is %d", i, dim.Value)
			}
		case *onnxpb.TensorShapeProto_Dimension_DimParam:
			dim.Param = v.DimParam
		}
		t.Dims = append(t.Dims, dim)
	}
	return nil
}

// statedElem reads an element type that a file may omit.
func statedElem(number int32) (layout.DType, error) {
	if number == 0 {
		return layout.Invalid, nil
	}
	return dtype(number)
}

// dtype reads an element type. A number that is too large comes from a newer ONNX; 0 and
// negative numbers are not valid in any ONNX.
func dtype(number int32) (layout.DType, error) {
	if number <= 0 {
		return layout.Invalid, invalidf("data_type %d is not an element type", number)
	}
	if t := layout.DType(min(number, 255)); t.Valid() {
		return t, nil
	}
	known := layout.DTypes()
	last := known[len(known)-1]
	return layout.Invalid, unsupportedf("data_type %d is not known; the last known is %d (%v)", number, last, last)
}
