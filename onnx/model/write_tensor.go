package model

import (
	"strconv"

	"github.com/restride/restride/internal/onnxpb"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"google.golang.org/protobuf/proto"
)

// Marshal returns the bytes of a tensor file, as in ONNX's test data. An
// external tensor stays external.
func (t *Tensor) Marshal() ([]byte, error) {
	b, err := t.marshal()
	return b, named("Tensor.Marshal", within(err, "tensor %s", quote.Name(t.Name)))
}

func (t *Tensor) marshal() ([]byte, error) {
	p, err := writer{}.tensor(t)
	if err != nil {
		return nil, err
	}
	return marshal(p)
}

func (w writer) tensor(t *Tensor) (*onnxpb.TensorProto, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	p := new(onnxpb.TensorProto)
	if err := t.rest.into(p); err != nil {
		return nil, err
	}
	p.Name, p.Dims, p.DataType = optional(t.Name), t.Dims, proto.Int32(int32(t.Type))
	x := t.External
	if moved, ok := w.moved[t]; ok {
		x = moved
	}
	switch {
	case x != nil:
		p.DataLocation = proto.Int32(1)
		p.ExternalData = x.entries()
	case t.Type == layout.String:
		p.StringData = make([][]byte, len(t.Strings))
		for i, s := range t.Strings {
			p.StringData[i] = []byte(s)
		}
	default:
		p.RawData = nonNil(t.clearTail(t.Data))
	}
	return p, nil
}

func (x *External) entries() []*onnxpb.StringStringEntryProto {
	entry := func(key, value string) *onnxpb.StringStringEntryProto {
		return &onnxpb.StringStringEntryProto{Key: &key, Value: &value}
	}
	entries := []*onnxpb.StringStringEntryProto{entry("location", x.Path)}
	if x.Offset != 0 || x.Length >= 0 {
		entries = append(entries, entry("offset", strconv.FormatInt(x.Offset, 10)))
	}
	if x.Length >= 0 {
		entries = append(entries, entry("length", strconv.FormatInt(x.Length, 10)))
	}
	return entries
}

func (w writer) sparse(s *SparseTensor) (*onnxpb.SparseTensorProto, error) {
	p := &onnxpb.SparseTensorProto{Dims: s.Dims}
	err := s.check()
	if err != nil {
		return nil, err
	}
	if p.Values, err = w.tensor(&s.Values); err != nil {
		return nil, within(err, "values")
	}
	if p.Indices, err = w.tensor(&s.Indices); err != nil {
		return nil, within(err, "indices")
	}
	return p, nil
}
