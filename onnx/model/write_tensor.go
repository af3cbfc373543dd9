package model

import (
	"strconv"

	"github.com/restride/restride/internal/onnxpb"
	"github.com/restride/restride/layout"
	"google.golang.org/protobuf/proto"
)

func (w writer) tensor(t *Tensor) (*onnxpb.TensorProto, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	p, err := w.tensorHead(t)
	switch {
	case err != nil:
		return nil, err
	case p.DataLocation != nil: // external
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

// tensorHead returns a TensorProto without elements.
func (w writer) tensorHead(t *Tensor) (*onnxpb.TensorProto, error) {
	p := new(onnxpb.TensorProto)
	if err := t.rest.into(p); err != nil {
		return nil, err
	}
	p.Name, p.Dims, p.DataType = optional(t.Name), t.Dims, proto.Int32(int32(t.Type))
	x := t.External
	if moved, ok := w.moved[t]; ok {
		x = moved
	}
	if x != nil {
		p.DataLocation = proto.Int32(1)
		p.ExternalData = x.entries()
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
