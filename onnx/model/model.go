package model

import "sort"

// A Model is the contents of an ONNX file.
type Model struct {
	// IRVersion is the version of the file format, 1 or more.
	IRVersion int64
	// Opsets maps the domain of each operator set in use to its version. ONNX's own domain,
	// which files write as "" or "ai.onnx", is always "" here.
	Opsets map[string]int64
	// Graph is never nil in a model that was read.
	Graph     *Graph
	Functions []Function

	Producer, ProducerVersion string

	// Dir is the folder that the model was read from; paths of external data are relative
	// to it. It is not part of the file.
	Dir string

	rest rest
}

// New returns an empty model for version opset of ONNX's own operators, in the oldest file
// format that this opset allows, so that most readers accept it.
func New(graph string, opset int64) *Model {
	return &Model{
		IRVersion: irVersion(opset),
		Opsets:    map[string]int64{"": opset},
		Graph:     &Graph{Name: graph},
	}
}

// irVersion returns the file format version that was introduced with an opset, and at least
// 4, which allows initializers that are not also listed as inputs.
func irVersion(opset int64) int64 {
	first := []struct{ opset, ir int64 }{
		{25, 13}, {24, 12}, {23, 11}, {21, 10}, {19, 9}, {15, 8}, {12, 7}, {11, 6}, {10, 5},
	}
	for _, f := range first {
		if opset >= f.opset {
			return f.ir
		}
	}
	return 4
}

// Function returns the model's function for a node's domain, operator type and overload, if
// there is one.
func (m *Model) Function(domain, name, overload string) (*Function, bool) {
	for i := range m.Functions {
		f := &m.Functions[i]
		if f.Name == name && f.Overload == overload && canonicalDomain(f.Domain) == canonicalDomain(domain) {
			return f, true
		}
	}
	return nil, false
}

// canonicalDomain maps both names of ONNX's own domain to one.
func canonicalDomain(domain string) string {
	if domain == "ai.onnx" {
		return ""
	}
	return domain
}

// A Graph is a list of nodes with inputs, outputs and constants.
type Graph struct {
	Name    string
	Nodes   []Node
	Inputs  []ValueInfo
	Outputs []ValueInfo
	// ValueInfo holds the file's declarations of values between nodes.
	ValueInfo []ValueInfo
	// Initializers are the graph's constants. Before file format 4 each one is also in
	// Inputs; in later formats, one that is in both is a default value.
	Initializers       []Tensor
	SparseInitializers []SparseTensor

	rest rest
}

// Initializer returns the graph's named initializer, if there is one.
func (g *Graph) Initializer(name string) (*Tensor, bool) {
	for i := range g.Initializers {
		if g.Initializers[i].Name == name {
			return &g.Initializers[i], true
		}
	}
	return nil, false
}

// A Node applies an operator.
type Node struct {
	Name     string
	OpType   string
	Domain   string // "" for ONNX's own operators
	Overload string // selects among functions of the same name
	Inputs   []string
	Outputs  []string // as in Inputs, "" stands for an omitted optional one
	Attrs    Attrs

	rest rest
}

// NewNode returns a node of ONNX's own domain.
func NewNode(op string, inputs, outputs []string, attrs ...Attr) Node {
	return Node{OpType: op, Inputs: inputs, Outputs: outputs, Attrs: attrs}
}

// A Function is an operator defined in the model itself.
type Function struct {
	Domain, Name, Overload string
	Inputs, Outputs        []string
	// Attrs names the attributes that a caller must supply; Defaults are those that it may
	// supply. In Nodes, an Attr with a Ref uses the caller's value.
	Attrs     []string
	Defaults  Attrs
	Nodes     []Node
	Opsets    map[string]int64
	ValueInfo []ValueInfo

	rest rest
}

// A ValueInfo is the name and type of a value.
type ValueInfo struct {
	Name string
	Type Type

	rest rest
}

// domains returns the sorted keys of an opset map, so that files are written the same each
// time.
func domains(opsets map[string]int64) []string {
	keys := make([]string, 0, len(opsets))
	for d := range opsets {
		keys = append(keys, d)
	}
	sort.Strings(keys)
	return keys
}
