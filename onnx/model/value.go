package model

import (
	"github.com/restride/restride/internal/onnxpb"
	"github.com/restride/restride/internal/quote"
)

// A Value is the contents of a data file, as in ONNX's test data: a tensor, a sequence of
// values, or an optional.
type Value struct {
	Name   string
	Kind   TypeKind // TensorType, SequenceType or OptionalType
	Tensor *Tensor
	// Source, if not nil, supplies the elements that Tensor lacks, for writing. A value
	// that was read has no Source.
	Source Source
	// Items are the values of a sequence; for an optional, one value or none.
	Items []Value
}

// ReadValue reads the bytes of a data file that holds a value of type t. The file does not
// state the value's kind, so t must; only the kinds in t matter.
func ReadValue(b []byte, t Type) (*Value, error) {
	v, err := readValue(b, t, "")
	return v, named("ReadValue", err)
}

// LoadValue reads a data file that holds a value of type t.
func LoadValue(path string, t Type) (*Value, error) {
	v, err := load(path, func(b []byte, dir string) (*Value, error) { return readValue(b, t, dir) })
	return v, named("LoadValue", err)
}

func readValue(b []byte, t Type, dir string) (v *Value, err error) {
	r := reader{dir}
	switch t.Kind {
	case TensorType:
		v = &Value{Kind: TensorType}
		if v.Tensor, err = readTensor(b, dir); err == nil {
			v.Name = v.Tensor.Name
		}
	case SequenceType:
		p := new(onnxpb.SequenceProto)
		v, err = read(b, p, "sequence", func(v *Value) (err error) {
			*v, err = r.sequence(p, 0)
			return err
		})
	case OptionalType:
		p := new(onnxpb.OptionalProto)
		v, err = read(b, p, "optional", func(v *Value) (err error) {
			*v, err = r.optional(p, 0)
			return err
		})
	default:
		err = unsupportedf("values of type %v cannot be read", t)
	}
	if err != nil {
		return nil, err
	}
	if err := v.check(t); err != nil {
		return nil, within(err, "%v %s", v.Kind, quote.Name(v.Name))
	}
	return v, nil
}

// check checks that v has the kinds in t.
func (v *Value) check(t Type) error {
	if t.Kind == UnknownType {
		return nil
	}
	if v.Kind != t.Kind {
		return invalidf("it is a %v, want a %v", v.Kind, t.Kind)
	}
	if t.Item == nil {
		return nil
	}
	for i := range v.Items {
		if err := v.Items[i].check(*t.Item); err != nil {
			return within(err, "value %d", i)
		}
	}
	return nil
}

// Numbers of SequenceProto.elem_type and OptionalProto.elem_type.
const (
	elemUndefined = iota
	elemTensor
	elemSparse
	elemSequence
	elemMap
	elemOptional
)

// items holds the values inside a sequence or optional, by kind.
type items struct {
	tensors   []*onnxpb.TensorProto
	sequences []*onnxpb.SequenceProto
	optionals []*onnxpb.OptionalProto
	others    int // sparse tensors and maps
}

func (r reader) sequence(p *onnxpb.SequenceProto, depth int) (Value, error) {
	v := Value{Name: p.GetName(), Kind: SequenceType}
	if err := checkNames("name", v.Name); err != nil {
		return v, err
	}
	var err error
	v.Items, err = r.items(p.GetElemType(), items{
		p.TensorValues, p.SequenceValues, p.OptionalValues, len(p.SparseTensorValues) + len(p.MapValues),
	}, depth)
	return v, within(err, "sequence %s", quote.Name(v.Name))
}

func (r reader) optional(p *onnxpb.OptionalProto, depth int) (Value, error) {
	v := Value{Name: p.GetName(), Kind: OptionalType}
	if err := checkNames("name", v.Name); err != nil {
		return v, err
	}
	var in items
	if p.TensorValue != nil {
		in.tensors = append(in.tensors, p.TensorValue)
	}
	if p.SequenceValue != nil {
		in.sequences = append(in.sequences, p.SequenceValue)
	}
	if p.OptionalValue != nil {
		in.optionals = append(in.optionals, p.OptionalValue)
	}
	if p.SparseTensorValue != nil || p.MapValue != nil {
		in.others = 1
	}
	var err error
	v.Items, err = r.items(p.GetElemType(), in, depth)
	return v, within(err, "optional %s", quote.Name(v.Name))
}

// items reads values that must all have the kind elem; an empty list matches any kind.
func (r reader) items(elem int32, in items, depth int) ([]Value, error) {
	if err := deeper(depth, "value"); err != nil {
		return nil, err
	}
	if elem == elemSparse || elem == elemMap || in.others > 0 {
		return nil, unsupportedf("sparse tensors and maps inside a value cannot be read")
	}
	if elem < elemUndefined || elem > elemOptional {
		return nil, unsupportedf("elem_type %d is not known", elem)
	}
	for _, f := range [...]struct {
		kind int32
		n    int
		what string
	}{
		{elemTensor, len(in.tensors), "tensors"},
		{elemSequence, len(in.sequences), "sequences"},
		{elemOptional, len(in.optionals), "optionals"},
	} {
		if f.n > 0 && elem != f.kind {
			return nil, invalidf("elem_type is %d and there are %s, which is %d", elem, f.what, f.kind)
		}
	}
	var vs []Value
	for i, p := range in.tensors {
		t, err := r.tensor(p)
		if err != nil {
			return nil, within(err, "value %d", i)
		}
		vs = append(vs, Value{Name: t.Name, Kind: TensorType, Tensor: &t})
	}
	for i, p := range in.sequences {
		v, err := r.sequence(p, depth+1)
		if err != nil {
			return nil, within(err, "value %d", i)
		}
		vs = append(vs, v)
	}
	for i, p := range in.optionals {
		v, err := r.optional(p, depth+1)
		if err != nil {
			return nil, within(err, "value %d", i)
		}
		vs = append(vs, v)
	}
	return vs, nil
}
