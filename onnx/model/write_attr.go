package model

import (
	"github.com/restride/restride/internal/onnxpb"
	"github.com/restride/restride/internal/quote"
	"google.golang.org/protobuf/proto"
)

func (w writer) attrs(attrs Attrs, depth int) ([]*onnxpb.AttributeProto, error) {
	ps := make([]*onnxpb.AttributeProto, len(attrs))
	for i := range attrs {
		var err error
		if ps[i], err = w.attr(&attrs[i], depth); err != nil {
			return nil, within(err, "attribute %s", quote.Name(attrs[i].Name))
		}
	}
	return ps, nil
}

func (w writer) attr(a *Attr, depth int) (*onnxpb.AttributeProto, error) {
	p := new(onnxpb.AttributeProto)
	if err := a.rest.into(p); err != nil {
		return nil, err
	}
	if a.Ref != "" && a.Value != nil {
		return nil, invalidf("it refers to attribute %s and has a value too", quote.Name(a.Ref))
	}
	kind := a.kind()
	if a.Ref == "" && (a.Value == nil || kind == noKind) {
		return nil, invalidf("%T is not the Go type of an attribute", a.Value)
	}
	if kind == noKind && a.RefKind != "" {
		return nil, invalidf("%s names no kind of attribute", quote.Name(a.RefKind))
	}
	p.Name, p.RefAttrName = &a.Name, optional(a.Ref)
	if kind != noKind {
		p.Type = proto.Int32(int32(kind))
	}
	return p, w.attrValue(p, a.Value, depth)
}

func (w writer) attrValue(p *onnxpb.AttributeProto, value any, depth int) (err error) {
	graph := func(g *Graph) (*onnxpb.GraphProto, error) {
		inner, err := w.graph(g, depth+1)
		return inner, within(err, "graph %s", quote.Name(g.Name))
	}
	typ := func(t *Type) (*onnxpb.TypeProto, error) {
		if err := t.check(); err != nil {
			return nil, err
		}
		inner, err := typeProto(*t, 0)
		if inner == nil {
			inner = new(onnxpb.TypeProto)
		}
		return inner, err
	}
	switch v := value.(type) {
	case float32:
		p.F = &v
	case int64:
		p.I = &v
	case string:
		p.S = []byte(v)
	case []float32:
		p.Floats = v
	case []int64:
		p.Ints = v
	case []string:
		p.Strings = make([][]byte, len(v))
		for i, s := range v {
			p.Strings[i] = []byte(s)
		}
	case *Tensor:
		p.T, err = oneProto(v, w.tensor)
	case []*Tensor:
		p.Tensors, err = eachProto(v, w.tensor)
	case *SparseTensor:
		p.SparseTensor, err = oneProto(v, w.sparse)
	case []*SparseTensor:
		p.SparseTensors, err = eachProto(v, w.sparse)
	case *Graph:
		p.G, err = oneProto(v, graph)
	case []*Graph:
		p.Graphs, err = eachProto(v, graph)
	case *Type:
		p.Tp, err = oneProto(v, typ)
	case []*Type:
		p.TypeProtos, err = eachProto(v, typ)
	}
	return err
}

// oneProto writes a non-nil value.
func oneProto[V, P any](v *V, write func(*V) (*P, error)) (*P, error) {
	if v == nil {
		return nil, invalidf("the value is nil")
	}
	return write(v)
}

func eachProto[V, P any](vs []*V, write func(*V) (*P, error)) ([]*P, error) {
	ps := make([]*P, len(vs))
	for i, v := range vs {
		var err error
		if ps[i], err = oneProto(v, write); err != nil {
			return nil, within(err, "value %d", i)
		}
	}
	return ps, nil
}
