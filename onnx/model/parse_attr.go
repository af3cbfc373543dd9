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
	kind, err := declaredKind(p)
	if err != nil {
		return a, err
	}
	if a.Ref != "" {
		if kind != noKind {
			a.RefKind = kind.String()
		}
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

// declaredKind returns the kind that an attribute declares. If it declares none, as in file
// formats 1 and 2, the single field that is set decides.
func declaredKind(p *onnxpb.AttributeProto) (attrKind, error) {
	declared, set := attrKind(p.GetType()), noKind
	if declared < noKind || declared > typesAttr {
		return noKind, unsupportedf("attribute type %d is not known", p.GetType())
	}
	for _, f := range [...]struct {
		kind attrKind
		set  bool
	}{
		{floatAttr, p.F != nil}, {intAttr, p.I != nil}, {stringAttr, p.S != nil},
		{tensorAttr, p.T != nil}, {graphAttr, p.G != nil},
		{sparseTensorAttr, p.SparseTensor != nil}, {typeAttr, p.Tp != nil},
		{floatsAttr, len(p.Floats) > 0}, {intsAttr, len(p.Ints) > 0}, {stringsAttr, len(p.Strings) > 0},
		{tensorsAttr, len(p.Tensors) > 0}, {graphsAttr, len(p.Graphs) > 0},
		{sparseTensorsAttr, len(p.SparseTensors) > 0}, {typesAttr, len(p.TypeProtos) > 0},
	} {
		switch {
		case !f.set:
		case p.GetRefAttrName() != "":
			return noKind, invalidf("it refers to attribute %s and has a value of kind %v too", quote.Name(p.GetRefAttrName()), f.kind)
		case declared != noKind && f.kind != declared:
			return noKind, invalidf("its type is %v and it has a value of kind %v", declared, f.kind)
		case set != noKind:
			return noKind, invalidf("it has values of kind %v and of kind %v", set, f.kind)
		default:
			set = f.kind
		}
	}
	switch {
	case declared != noKind || p.GetRefAttrName() != "":
		return declared, nil
	case set == noKind:
		return noKind, invalidf("it has neither a type nor a value")
	}
	return set, nil
}

// attrValue reads the value of the given kind. An absent number or string is zero: writers
// with proto3 rules omit zeros.
func (r reader) attrValue(p *onnxpb.AttributeProto, kind attrKind, depth int) (any, error) {
	switch kind {
	case floatAttr:
		return p.GetF(), nil
	case intAttr:
		return p.GetI(), nil
	case stringAttr:
		return string(p.GetS()), nil
	case floatsAttr:
		return nonNil(p.Floats), nil
	case intsAttr:
		return nonNil(p.Ints), nil
	case stringsAttr:
		return each(p.Strings, func(b []byte) (string, error) { return string(b), nil })
	case tensorAttr:
		return one(p.T, r.tensorAttr)
	case tensorsAttr:
		return each(p.Tensors, r.tensorAttr)
	case sparseTensorAttr:
		return one(p.SparseTensor, r.sparse)
	case sparseTensorsAttr:
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
	case graphAttr:
		return one(p.G, graph)
	case graphsAttr:
		return each(p.Graphs, graph)
	case typeAttr:
		return one(p.Tp, typ)
	}
	return each(p.TypeProtos, typ)
}

func (r reader) tensorAttr(p *onnxpb.TensorProto) (*Tensor, error) {
	t, err := r.tensor(p)
	return &t, err
}

// one reads a required message.
func one[P, V any](p *P, read func(*P) (*V, error)) (any, error) {
	if p == nil {
		return nil, invalidf("it has a type and no value")
	}
	return read(p)
}

// each reads a list; an empty list is not nil.
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
