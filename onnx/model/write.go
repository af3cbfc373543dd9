package model

import (
	"github.com/restride/restride/internal/onnxpb"
	"github.com/restride/restride/internal/quote"
	"google.golang.org/protobuf/proto"
)

// Marshal returns the bytes of a model file. External tensors stay external. Equal models
// give equal bytes.
func (m *Model) Marshal() ([]byte, error) {
	if m == nil {
		return nil, nilError("Model.Marshal", "model")
	}
	b, err := writer{}.marshal(m)
	return b, named("Model.Marshal", err)
}

// A writer turns the API's structs into protobuf messages. It checks every struct with the
// rules for reading, so its output can be read.
type writer struct {
	// moved maps tensors to their new location, where it differs from their own.
	moved map[*Tensor]*External
}

func (w writer) marshal(m *Model) ([]byte, error) {
	p, err := w.model(m)
	if err != nil {
		return nil, err
	}
	return marshal(p)
}

func (w writer) model(m *Model) (*onnxpb.ModelProto, error) {
	if m.Graph == nil {
		return nil, invalidf("the model has no graph")
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	p := new(onnxpb.ModelProto)
	err := m.rest.into(p)
	if err != nil {
		return nil, err
	}
	p.IrVersion = &m.IRVersion
	p.ProducerName, p.ProducerVersion = optional(m.Producer), optional(m.ProducerVersion)
	// File formats 1 and 2 have no opset_import; there it means version 1.
	if m.IRVersion >= 3 || len(m.Opsets) != 1 || m.Opsets[""] != 1 {
		p.OpsetImport = opsetProtos(m.Opsets)
	}
	if p.Graph, err = w.graph(m.Graph, 0); err != nil {
		return nil, err
	}
	for i := range m.Functions {
		f, err := w.function(&m.Functions[i])
		if err != nil {
			return nil, within(err, "function %d %s", i, quote.Name(m.Functions[i].Name))
		}
		p.Functions = append(p.Functions, f)
	}
	return p, nil
}

// optional omits an empty string from the file.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func opsetProtos(opsets map[string]int64) []*onnxpb.OperatorSetIdProto {
	var ps []*onnxpb.OperatorSetIdProto
	for _, domain := range domains(opsets) {
		ps = append(ps, &onnxpb.OperatorSetIdProto{
			Domain:  proto.String(canonicalDomain(domain)),
			Version: proto.Int64(opsets[domain]),
		})
	}
	return ps
}

func (w writer) graph(g *Graph, depth int) (*onnxpb.GraphProto, error) {
	if err := deeper(depth, "graph"); err != nil {
		return nil, err
	}
	if err := g.check(); err != nil {
		return nil, err
	}
	p := new(onnxpb.GraphProto)
	err := g.rest.into(p)
	if err != nil {
		return nil, err
	}
	p.Name = optional(g.Name)
	if p.Input, err = w.valueInfos(g.Inputs); err != nil {
		return nil, err
	}
	if p.Output, err = w.valueInfos(g.Outputs); err != nil {
		return nil, err
	}
	if p.ValueInfo, err = w.valueInfos(g.ValueInfo); err != nil {
		return nil, err
	}
	for i := range g.Initializers {
		t, err := w.tensor(&g.Initializers[i])
		if err != nil {
			return nil, within(err, "initializer %d %s", i, quote.Name(g.Initializers[i].Name))
		}
		p.Initializer = append(p.Initializer, t)
	}
	for i := range g.SparseInitializers {
		s, err := w.sparse(&g.SparseInitializers[i])
		if err != nil {
			return nil, within(err, "sparse initializer %d %s", i, quote.Name(g.SparseInitializers[i].Values.Name))
		}
		p.SparseInitializer = append(p.SparseInitializer, s)
	}
	p.Node, err = w.nodes(g.Nodes, depth)
	return p, err
}

func (w writer) nodes(nodes []Node, depth int) ([]*onnxpb.NodeProto, error) {
	ps := make([]*onnxpb.NodeProto, len(nodes))
	for i := range nodes {
		n, p := &nodes[i], new(onnxpb.NodeProto)
		err := n.rest.into(p)
		if err == nil {
			p.Attribute, err = w.attrs(n.Attrs, depth)
		}
		if err != nil {
			return nil, within(err, "%s", n.where(i))
		}
		p.Name, p.OpType = optional(n.Name), &n.OpType
		p.Domain, p.Overload = optional(canonicalDomain(n.Domain)), optional(n.Overload)
		p.Input, p.Output = n.Inputs, n.Outputs
		ps[i] = p
	}
	return ps, nil
}

func (w writer) function(f *Function) (*onnxpb.FunctionProto, error) {
	p := new(onnxpb.FunctionProto)
	err := f.rest.into(p)
	if err != nil {
		return nil, err
	}
	p.Domain, p.Name, p.Overload = optional(canonicalDomain(f.Domain)), &f.Name, optional(f.Overload)
	p.Input, p.Output, p.Attribute = f.Inputs, f.Outputs, f.Attrs
	p.OpsetImport = opsetProtos(f.Opsets)
	if p.AttributeProto, err = w.attrs(f.Defaults, 0); err != nil {
		return nil, err
	}
	if p.Node, err = w.nodes(f.Nodes, 0); err != nil {
		return nil, err
	}
	p.ValueInfo, err = w.valueInfos(f.ValueInfo)
	return p, err
}

func (w writer) valueInfos(vs []ValueInfo) ([]*onnxpb.ValueInfoProto, error) {
	ps := make([]*onnxpb.ValueInfoProto, len(vs))
	for i := range vs {
		p := new(onnxpb.ValueInfoProto)
		err := vs[i].rest.into(p)
		if err == nil {
			p.Type, err = typeProto(vs[i].Type, 0)
		}
		if err != nil {
			return nil, within(err, "value %s", quote.Name(vs[i].Name))
		}
		p.Name = &vs[i].Name
		ps[i] = p
	}
	return ps, nil
}
