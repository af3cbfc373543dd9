package model

import (
	"github.com/restride/restride/internal/onnxpb"
	"github.com/restride/restride/internal/quote"
)

func (r reader) attrs(ps []*onnxpb.AttributeProto, depth int) (Attrs, error) {
	if len(ps) == 0 {
		return nil, nil
	}
	for i, p := range ps {
		if p.GetName() == "" {
			return nil, nameless("attribute", i)
		}
	}
	attrs := make(Attrs, len(ps))
	for i, p := range ps {
		name := p.GetName()
		var err error
		if attrs[i], err = r.attr(p, depth); err != nil {
			return nil, within(err, "attribute %s", quote.Name(name))
		}
	}
	return attrs, nil
}

func (r reader) attr(p *onnxpb.AttributeProto, depth int) (Attr, error) {
	a := Attr{Name: p.GetName(), Ref: p.GetRefAttrName()}
	kind, err := attrKind(p)
	if err != nil {
		return a, err
	}
	if a.Ref != "" {
		a.RefKind = kind
	} else if a.Value, err = r.attrValue(p, kind, depth); err != nil {
		return a, err
	}
	p.Name, p.Type, p.RefAttrName = nil, nil, nil
	p.F, p.I, p.S, p.T, p.G, p.Tp, p.SparseTensor = nil, nil, nil, nil, nil, nil, nil
	p.Floats, p.Ints, p.Strings, p.Tensors, p.Graphs = nil, nil, nil, nil, nil
	p.TypeProtos, p.SparseTensors = nil, nil
	a.rest, err = restOf(p)
	return a, err
}

// attrKind returns the kind that an attribute declares. One that declares none,
// as in file formats 1 and 2, has the kind of the one field that is set.
func attrKind(p *onnxpb.AttributeProto) (AttrKind, error) {
	declared, set := AttrKind(p.GetType()), NoKind
	if declared < NoKind || declared > TypesAttr {
		return NoKind, unsupportedf("attribute type %d is not known", p.GetType())
	}
	for _, f := range [...]struct {
		kind AttrKind
		set  bool
	}{
		{FloatAttr, p.F != nil}, {IntAttr, p.I != nil}, {StringAttr, p.S != nil},
		{TensorAttr, p.T != nil}, {GraphAttr, p.G != nil},
		{SparseTensorAttr, p.SparseTensor != nil}, {TypeAttr, p.Tp != nil},
		{FloatsAttr, len(p.Floats) > 0}, {IntsAttr, len(p.Ints) > 0}, {StringsAttr, len(p.Strings) > 0},
		{TensorsAttr, len(p.Tensors) > 0}, {GraphsAttr, len(p.Graphs) > 0},
		{SparseTensorsAttr, len(p.SparseTensors) > 0}, {TypesAttr, len(p.TypeProtos) > 0},
	} {
		switch {
		case !f.set:
		case p.GetRefAttrName() != "":
			return NoKind, invalidf("it refers to attribute %s and has a value of kind %v too", quote.Name(p.GetRefAttrName()), f.kind)
		case declared != NoKind && f.kind != declared:
			return NoKind, invalidf("its type is %v and it has a value of kind %v", declared, f.kind)
		case set != NoKind:
			return NoKind, invalidf("it has values of kind %v and of kind %v", set, f.kind)
		default:
			set = f.kind
		}
	}
	switch {
	case declared != NoKind || p.GetRefAttrName() != "":
		return declared, nil
	case set == NoKind:
		return NoKind, invalidf("it has neither a type nor a value")
	}
	return set, nil
}

// attrValue reads the value of the given kind. A number or string that is not
// there is zero: writers with proto3 rules leave zeros out.
func (r reader) attrValue(p *onnxpb.AttributeProto, kind AttrKind, depth int) (any, error) {
	switch kind {
	case FloatAttr:
		return p.GetF(), nil
	case IntAttr:
		return p.GetI(), nil
	case StringAttr:
		return string(p.GetS()), nil
	case FloatsAttr:
		return nonNil(p.Floats), nil
	case IntsAttr:
		return nonNil(p.Ints), nil
	case StringsAttr:
		return each(p.Strings, func(b []byte) (string, error) { return string(b), nil })
	case TensorAttr:
		return one(p.T, r.tensorAttr)
	case TensorsAttr:
		return each(p.Tensors, r.tensorAttr)
	case SparseTensorAttr:
		return one(p.SparseTensor, r.sparse)
	case SparseTensorsAttr:
		return each(p.SparseTensors, r.sparse)
	}
	graph := func(g *onnxpb.GraphProto) (*Graph, error) {
		inner, err := r.graph(g, depth+1)
		return inner, within(err, "graph %s", quote.Name(g.GetName()))
	}
	typ := func(t *onnxpb.TypeProto) (*Type, error) {
		inner, err := r.typ(t, 0)
		return &inner, err
	}
	switch kind {
	case GraphAttr:
		return one(p.G, graph)
	case GraphsAttr:
		return each(p.Graphs, graph)
	case TypeAttr:
		return one(p.Tp, typ)
	}
	return each(p.TypeProtos, typ)
}

func (r reader) tensorAttr(p *onnxpb.TensorProto) (*Tensor, error) {
	t, err := r.tensor(p)
	return &t, err
}

// one reads a message that must be there.
func one[P, V any](p *P, read func(*P) (*V, error)) (any, error) {
	if p == nil {
		return nil, invalidf("it has a type and no value")
	}
	return read(p)
}

// each reads a list; an empty one is not nil.
func each[P, V any](ps []P, read func(P) (V, error)) (any, error) {
	vs := make([]V, len(ps))
	for i, p := range ps {
		var err error
		if vs[i], err = read(p); err != nil {
			return nil, within(err, "value %d", i)
		}
	}
	return vs, nil
}

func nonNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
