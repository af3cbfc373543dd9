package model

import (
	"fmt"
	"unicode/utf8"

	"github.com/restride/restride/internal/quote"
)

// These checks apply to every model that is read or written; tensor.go has the checks for
// tensors. Each covers one level: the code that reads or writes an inner graph checks that
// graph.

var (
	errNameless = invalidf("it has no name")
	errNoOpType = invalidf("it has no op_type")
)

// nameless is the error for a list element without a required name.
func nameless(what string, i int) error { return invalidf("%s %d has no name", what, i) }

func (m *Model) check() error {
	if m.IRVersion < 1 {
		return invalidf("ir_version is %d", m.IRVersion)
	}
	if len(m.Opsets) == 0 {
		return invalidf("no opset_import is given, which file format %d needs", m.IRVersion)
	}
	if err := checkOpsets(m.Opsets); err != nil {
		return err
	}
	if err := checkNames("producer", m.Producer, m.ProducerVersion); err != nil {
		return err
	}
	type key struct{ domain, name, overload string }
	seen := make(map[key]bool, len(m.Functions))
	for i := range m.Functions {
		f := &m.Functions[i]
		where := fmt.Sprintf("function %d %s", i, quote.Name(f.Name))
		if err := f.check(); err != nil {
			return within(err, "%s", where)
		}
		k := key{canonicalDomain(f.Domain), f.Name, f.Overload}
		if seen[k] {
			return invalidf("%s of domain %s is defined twice", where, quote.Name(f.Domain))
		}
		seen[k] = true
	}
	return nil
}

func checkOpsets(opsets map[string]int64) error {
	for _, domain := range domains(opsets) {
		if err := checkNames("opset_import", domain); err != nil {
			return err
		}
		if version := opsets[domain]; version < 1 {
			return invalidf("opset_import of domain %s is version %d", quote.Name(domain), version)
		}
		if _, twice := opsets[canonicalDomain(domain)]; twice && domain != canonicalDomain(domain) {
			return invalidf("opset_import gives domain %s twice", quote.Name(canonicalDomain(domain)))
		}
	}
	return nil
}

func (f *Function) check() error {
	if f.Name == "" {
		return errNameless
	}
	if err := checkNames("name", f.Domain, f.Name, f.Overload); err != nil {
		return err
	}
	if err := checkOpsets(f.Opsets); err != nil {
		return err
	}
	for _, list := range []struct {
		what  string
		names []string
	}{{"input", f.Inputs}, {"output", f.Outputs}, {"attribute", f.Attrs}} {
		if err := checkNames(list.what, list.names...); err != nil {
			return err
		}
	}
	if err := f.Defaults.check(); err != nil {
		return err
	}
	if err := checkNodes(f.Nodes); err != nil {
		return err
	}
	return checkValueInfos("value_info", f.ValueInfo)
}

func (g *Graph) check() error {
	if err := checkNames("graph name", g.Name); err != nil {
		return err
	}
	if err := checkValueInfos("input", g.Inputs); err != nil {
		return err
	}
	inputs := make(unique, len(g.Inputs))
	for i, v := range g.Inputs {
		if err := inputs.add("input", i, v.Name); err != nil {
			return err
		}
	}
	if err := checkValueInfos("output", g.Outputs); err != nil {
		return err
	}
	if err := checkValueInfos("value_info", g.ValueInfo); err != nil {
		return err
	}
	constants := make(unique, len(g.Initializers)+len(g.SparseInitializers))
	for i := range g.Initializers {
		if err := constants.add("initializer", i, g.Initializers[i].Name); err != nil {
			return err
		}
	}
	for i := range g.SparseInitializers {
		if err := constants.add("sparse initializer", i, g.SparseInitializers[i].Values.Name); err != nil {
			return err
		}
	}
	return checkNodes(g.Nodes)
}

// unique is a set of names; empty and repeated names are errors.
type unique map[string]bool

func (u unique) add(what string, i int, name string) error {
	if name == "" {
		return nameless(what, i)
	}
	if u[name] {
		return invalidf("%s %d: the name %s is given twice", what, i, quote.Name(name))
	}
	u[name] = true
	return nil
}

func checkNodes(nodes []Node) error {
	for i := range nodes {
		n := &nodes[i]
		err := checkNames("name", n.Name, n.OpType, n.Domain, n.Overload)
		if err == nil {
			err = checkNames("input", n.Inputs...)
		}
		if err == nil {
			err = checkNames("output", n.Outputs...)
		}
		if err == nil {
			err = n.Attrs.check()
		}
		if err == nil && n.OpType == "" {
			err = errNoOpType
		}
		if err != nil {
			return within(err, "%s", n.where(i))
		}
	}
	return nil
}

// where names node i in errors.
func (n *Node) where(i int) string {
	op := n.OpType
	if n.Domain != "" {
		op = n.Domain + "." + op
	}
	return fmt.Sprintf("node %d %s (%s)", i, quote.Name(n.Name), quote.Plain(op))
}

func (as Attrs) check() error {
	names := make(unique, len(as))
	for i, a := range as {
		if err := names.add("attribute", i, a.Name); err != nil {
			return err
		}
		if err := checkNames("attribute", a.Name, a.Ref); err != nil {
			return err
		}
	}
	return nil
}

func checkValueInfos(what string, vs []ValueInfo) error {
	for i := range vs {
		if vs[i].Name == "" {
			return nameless(what, i)
		}
		err := checkNames("name", vs[i].Name)
		if err == nil {
			err = vs[i].Type.check()
		}
		if err != nil {
			return within(err, "%s %d %s", what, i, quote.Name(vs[i].Name))
		}
	}
	return nil
}

func (t Type) check() error {
	depth := 0
	for inner := &t; inner != nil; inner = inner.Item {
		if err := deeper(depth, "type"); err != nil {
			return err
		}
		depth++
		if err := checkNames("type", inner.Denotation, inner.Domain, inner.Name); err != nil {
			return err
		}
		for i, d := range inner.Dims {
			if err := checkNames("dimension", d.Param, d.Denotation); err != nil {
				return within(err, "axis %d", i)
			}
		}
	}
	return nil
}

// checkNames refuses a name that is not UTF-8: protobuf's strings are UTF-8, and other
// readers insist on it.
func checkNames(what string, names ...string) error {
	for _, s := range names {
		if !utf8.ValidString(s) {
			return invalidf("%s: %s is not valid UTF-8", what, quote.Name(s))
		}
	}
	return nil
}
