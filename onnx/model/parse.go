package model

import (
	"bytes"
	"slices"

	"github.com/restride/restride/internal/onnxpb"
	"github.com/restride/restride/internal/quote"
)

// Load reads a model file. It does not read external data: each external tensor has its
// location, relative to the folder of path (see Tensor.Open).
func Load(path string) (*Model, error) {
	m, err := load(path, parseOwned)
	return m, named("Load", err)
}

// Parse reads the bytes of a model file, and does not keep them. Paths of external data are
// relative to dir; if it is "", external data cannot be opened.
func Parse(b []byte, dir string) (*Model, error) {
	m, err := parse(b, dir)
	return m, named("Parse", err)
}

func parse(b []byte, dir string) (*Model, error) {
	p := new(onnxpb.ModelProto)
	return read(b, p, "model", func(m *Model) error { return reader{dir}.model(m, p) })
}

// parseOwned is parse for bytes that nobody else uses: large tensors keep them.
func parseOwned(b []byte, dir string) (*Model, error) {
	p := new(onnxpb.ModelProto)
	decoded := func() error {
		rest, graph := hollow(b)
		if err := decode(rest, p, "model"); err != nil {
			return err
		}
		graph.fill(p.Graph)
		return nil
	}
	return convert(b, p, "model", decoded, func(m *Model) error { return reader{dir}.model(m, p) })
}

// A reader turns protobuf messages into the API's structs. It clears each field that it
// converts, so the remaining fields are the rest. Each method checks only properties that
// the conversion loses; the rules for the result are in check.go.
type reader struct {
	dir string // folder of external data
}

func (r reader) model(m *Model, p *onnxpb.ModelProto) error {
	if p.IrVersion == nil {
		return invalidf("no ir_version is given; this may be no ONNX model")
	}
	if p.Graph == nil {
		return invalidf("the model has no graph")
	}
	*m = Model{
		IRVersion:       p.GetIrVersion(),
		Producer:        p.GetProducerName(),
		ProducerVersion: p.GetProducerVersion(),
		Dir:             r.dir,
	}
	var err error
	if m.Opsets, err = opsets(p.OpsetImport); err != nil {
		return err
	}
	if len(m.Opsets) == 0 && m.IRVersion < 3 {
		m.Opsets[""] = 1 // opsets did not exist yet
	}
	if m.Graph, err = r.graph(p.Graph, 0); err != nil {
		return err
	}
	// Check names first: a list of empty messages, two or three bytes each, is refused
	// before it becomes structs.
	for i, f := range p.Functions {
		if f.GetName() == "" {
			return within(errNameless, "function %d %s", i, quote.Name(""))
		}
	}
	if len(p.Functions) > 0 {
		m.Functions = make([]Function, 0, len(p.Functions))
	}
	for i, f := range p.Functions {
		fn, err := r.function(f)
		if err != nil {
			return within(err, "function %d %s", i, quote.Name(f.GetName()))
		}
		m.Functions = append(m.Functions, fn)
	}
	p.IrVersion, p.ProducerName, p.ProducerVersion = nil, nil, nil
	p.OpsetImport, p.Graph, p.Functions = nil, nil, nil
	if m.rest, err = restOf(p); err != nil {
		return err
	}
	return m.check()
}

func opsets(imports []*onnxpb.OperatorSetIdProto) (map[string]int64, error) {
	sets := make(map[string]int64, len(imports))
	for _, o := range imports {
		domain := canonicalDomain(o.GetDomain())
		if _, twice := sets[domain]; twice {
			return nil, invalidf("opset_import gives domain %s twice", quote.Name(domain))
		}
		sets[domain] = o.GetVersion()
	}
	return sets, nil
}

// withoutRepeats removes tensors that repeat an earlier one's name and elements, as some
// exporters write them. Other repeated names are left for check to refuse.
func withoutRepeats(all []Tensor) []Tensor {
	first := make(map[string]*Tensor, len(all))
	return slices.DeleteFunc(all, func(t Tensor) bool {
		before, repeats := first[t.Name]
		if !repeats {
			first[t.Name] = &t
			return false
		}
		return t.equal(before)
	})
}

// equal reports whether two tensors have the same elements, as far as the file says.
func (t *Tensor) equal(other *Tensor) bool {
	if (t.External == nil) != (other.External == nil) || t.External != nil && *t.External != *other.External {
		return false
	}
	return t.Type == other.Type && slices.Equal(t.Dims, other.Dims) && bytes.Equal(t.Data, other.Data) && slices.Equal(t.Strings, other.Strings)
}

func (r reader) graph(p *onnxpb.GraphProto, depth int) (*Graph, error) {
	if err := deeper(depth, "graph"); err != nil {
		return nil, err
	}
	g := &Graph{Name: p.GetName()}
	var err error
	if g.Inputs, err = r.valueInfos(p.Input, "input"); err != nil {
		return nil, err
	}
	if g.Outputs, err = r.valueInfos(p.Output, "output"); err != nil {
		return nil, err
	}
	if g.ValueInfo, err = r.valueInfos(p.ValueInfo, "value_info"); err != nil {
		return nil, err
	}
	if len(p.Initializer) > 0 {
		g.Initializers = make([]Tensor, len(p.Initializer))
	}
	for i, t := range p.Initializer {
		name := t.GetName()
		if g.Initializers[i], err = r.tensor(t); err != nil {
			return nil, within(err, "initializer %d %s", i, quote.Name(name))
		}
	}
	g.Initializers = withoutRepeats(g.Initializers)
	for i, s := range p.SparseInitializer {
		name := s.GetValues().GetName()
		sparse, err := r.sparse(s)
		if err != nil {
			return nil, within(err, "sparse initializer %d %s", i, quote.Name(name))
		}
		g.SparseInitializers = append(g.SparseInitializers, *sparse)
	}
	if g.Nodes, err = r.nodes(p.Node, depth); err != nil {
		return nil, err
	}
	p.Name, p.Node, p.Initializer, p.SparseInitializer = nil, nil, nil, nil
	p.Input, p.Output, p.ValueInfo = nil, nil, nil
	if g.rest, err = restOf(p); err != nil {
		return nil, err
	}
	return g, g.check()
}

func (r reader) nodes(ps []*onnxpb.NodeProto, depth int) ([]Node, error) {
	if len(ps) == 0 {
		return nil, nil
	}
	for i, p := range ps {
		if p.GetOpType() == "" {
			n := Node{Name: p.GetName(), Domain: p.GetDomain()}
			return nil, within(errNoOpType, "%s", n.where(i))
		}
	}
	nodes := make([]Node, len(ps))
	for i, p := range ps {
		n := &nodes[i]
		*n = Node{
			Name:     p.GetName(),
			OpType:   p.GetOpType(),
			Domain:   canonicalDomain(p.GetDomain()),
			Overload: p.GetOverload(),
			Inputs:   p.Input,
			Outputs:  p.Output,
		}
		var err error
		if n.Attrs, err = r.attrs(p.Attribute, depth); err != nil {
			return nil, within(err, "%s", n.where(i))
		}
		p.Name, p.OpType, p.Domain, p.Overload = nil, nil, nil, nil
		p.Input, p.Output, p.Attribute = nil, nil, nil
		if n.rest, err = restOf(p); err != nil {
			return nil, within(err, "%s", n.where(i))
		}
	}
	return nodes, nil
}

func (r reader) function(p *onnxpb.FunctionProto) (Function, error) {
	f := Function{
		Domain:   canonicalDomain(p.GetDomain()),
		Name:     p.GetName(),
		Overload: p.GetOverload(),
		Inputs:   p.Input,
		Outputs:  p.Output,
		Attrs:    p.Attribute,
	}
	var err error
	if f.Opsets, err = opsets(p.OpsetImport); err != nil {
		return f, err
	}
	if f.Defaults, err = r.attrs(p.AttributeProto, 0); err != nil {
		return f, err
	}
	if f.Nodes, err = r.nodes(p.Node, 0); err != nil {
		return f, err
	}
	if f.ValueInfo, err = r.valueInfos(p.ValueInfo, "value_info"); err != nil {
		return f, err
	}
	p.Domain, p.Name, p.Overload, p.Input, p.Output, p.Attribute = nil, nil, nil, nil, nil, nil
	p.OpsetImport, p.AttributeProto, p.Node, p.ValueInfo = nil, nil, nil, nil
	f.rest, err = restOf(p)
	return f, err
}
