package model

import (
	"github.com/restride/restride/internal/onnxpb"
	"github.com/restride/restride/internal/quote"
	"google.golang.org/protobuf/proto"
)

// Marshal returns the bytes of a data file that holds the value.
func (v *Value) Marshal() ([]byte, error) {
	b, err := v.marshal()
	return b, named("Value.Marshal", within(err, "value %s", quote.Name(v.Name)))
}

func (v *Value) marshal() ([]byte, error) {
	p, err := writer{}.value(v, 0)
	if err != nil {
		return nil, err
	}
	return marshal(p)
}

// value writes v as a TensorProto, SequenceProto or OptionalProto.
func (w writer) value(v *Value, depth int) (proto.Message, error) {
	if err := deeper(depth, "value"); err != nil {
		return nil, err
	}
	if err := checkNames("name", v.Name); err != nil {
		return nil, err
	}
	switch {
	case v.Kind == TensorType && v.Tensor != nil:
		return w.tensor(v.Tensor)
	case v.Kind == OptionalType && len(v.Items) > 1:
		return nil, invalidf("an optional holds %d values", len(v.Items))
	case v.Kind != SequenceType && v.Kind != OptionalType:
		return nil, invalidf("a value of kind %v without a tensor cannot be written", v.Kind)
	}
	// Both messages are filled alike; an optional then takes its one value.
	s := &onnxpb.SequenceProto{Name: optional(v.Name), ElemType: proto.Int32(elemUndefined)}
	if v.Kind == SequenceType {
		*s.ElemType = elemTensor // what ONNX's own writer says of an empty one
	}
	for i := range v.Items {
		item := &v.Items[i]
		if item.Kind != v.Items[0].Kind {
			return nil, invalidf("value %d is a %v and value 0 a %v", i, item.Kind, v.Items[0].Kind)
		}
		p, err := w.value(item, depth+1)
		if err != nil {
			return nil, within(err, "value %d", i)
		}
		switch p := p.(type) {
		case *onnxpb.TensorProto:
			*s.ElemType = elemTensor
			s.TensorValues = append(s.TensorValues, p)
		case *onnxpb.SequenceProto:
			*s.ElemType = elemSequence
			s.SequenceValues = append(s.SequenceValues, p)
		case *onnxpb.OptionalProto:
			*s.ElemType = elemOptional
			s.OptionalValues = append(s.OptionalValues, p)
		}
	}
	if v.Kind == SequenceType {
		return s, nil
	}
	return &onnxpb.OptionalProto{
		Name:          s.Name,
		ElemType:      s.ElemType,
		TensorValue:   first(s.TensorValues),
		SequenceValue: first(s.SequenceValues),
		OptionalValue: first(s.OptionalValues),
	}, nil
}

func first[T any](s []*T) *T {
	if len(s) == 0 {
		return nil
	}
	return s[0]
}
