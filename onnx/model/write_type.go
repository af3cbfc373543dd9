package model

import (
	"github.com/restride/restride/internal/onnxpb"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"google.golang.org/protobuf/proto"
)

// typeProto writes a type; a fully unknown type becomes nil.
func typeProto(t Type, depth int) (*onnxpb.TypeProto, error) {
	if err := deeper(depth, "type"); err != nil {
		return nil, err
	}
	p := &onnxpb.TypeProto{Denotation: optional(t.Denotation)}
	var item *onnxpb.TypeProto
	if t.Item != nil {
		var err error
		if item, err = typeProto(*t.Item, depth+1); err != nil {
			return nil, err
		}
		if item == nil {
			item = new(onnxpb.TypeProto)
		}
	}
	elem, shape, err := t.tensorProto()
	if err != nil {
		return nil, err
	}
	switch t.Kind {
	case UnknownType:
		if p.Denotation == nil {
			return nil, nil
		}
	case TensorType:
		p.Value = &onnxpb.TypeProto_TensorType{TensorType: &onnxpb.TypeProto_Tensor{ElemType: elem, Shape: shape}}
	case SparseTensorType:
		p.Value = &onnxpb.TypeProto_SparseTensorType{SparseTensorType: &onnxpb.TypeProto_SparseTensor{ElemType: elem, Shape: shape}}
	case SequenceType:
		p.Value = &onnxpb.TypeProto_SequenceType{SequenceType: &onnxpb.TypeProto_Sequence{ElemType: item}}
	case OptionalType:
		p.Value = &onnxpb.TypeProto_OptionalType{OptionalType: &onnxpb.TypeProto_Optional{ElemType: item}}
	case MapType:
		p.Value = &onnxpb.TypeProto_MapType{MapType: &onnxpb.TypeProto_Map{KeyType: elem, ValueType: item}}
	case OpaqueType:
		p.Value = &onnxpb.TypeProto_OpaqueType{OpaqueType: &onnxpb.TypeProto_Opaque{Domain: optional(t.Domain), Name: optional(t.Name)}}
	default:
		return nil, invalidf("%v is not a kind of type", t.Kind)
	}
	return p, nil
}

// tensorProto writes the fields of tensors and sparse tensors.
func (t Type) tensorProto() (elem *int32, shape *onnxpb.TensorShapeProto, err error) {
	if t.Elem != layout.Invalid {
		if !t.Elem.Valid() {
			return nil, nil, invalidf("%v is not an element type", t.Elem)
		}
		elem = proto.Int32(int32(t.Elem))
	}
	if !t.HasShape {
		return elem, nil, nil
	}
	shape = new(onnxpb.TensorShapeProto)
	for i, d := range t.Dims {
		p := &onnxpb.TensorShapeProto_Dimension{Denotation: optional(d.Denotation)}
		switch {
		case d.Value < -1 || d.Value >= 0 && d.Param != "":
			return nil, nil, invalidf("axis %d has extent %d and parameter %s", i, d.Value, quote.Name(d.Param))
		case d.Value >= 0:
			p.Value = &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: d.Value}
		case d.Param != "":
			p.Value = &onnxpb.TensorShapeProto_Dimension_DimParam{DimParam: d.Param}
		}
		shape.Dim = append(shape.Dim, p)
	}
	return elem, shape, nil
}
