package graphs

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/restride/restride/onnx/model"
)

// Outline moves nodes of a graph into functions, and into graphs of Ifs and of Loops of one
// iteration, in n places and in one another. The results stay the same.
func Outline(rng *rand.Rand, g *Graph, n int) {
	g.sort()
	for range n {
		if w, ok := window(rng, g); ok {
			[]func(*rand.Rand, *Graph, *cut){intoFunction, intoIf, intoLoop}[rng.IntN(3)](rng, g, w)
		}
	}
}

// sort puts the nodes in an order in which each follows those that make its inputs.
func (g *Graph) sort() {
	maker := map[string]int{}
	for i := range g.Model.Graph.Nodes {
		for _, name := range g.Model.Graph.Nodes[i].Outputs {
			maker[name] = i
		}
	}
	var sorted []model.Node
	done := map[int]bool{}
	var visit func(i int)
	visit = func(i int) {
		if done[i] {
			return
		}
		done[i] = true
		for _, name := range namesRead(&g.Model.Graph.Nodes[i]) {
			if at, made := maker[name]; made && name != "" {
				visit(at)
			}
		}
		sorted = append(sorted, g.Model.Graph.Nodes[i])
	}
	for i := range g.Model.Graph.Nodes {
		visit(i)
	}
	g.Model.Graph.Nodes = sorted
}

// cut is a window of the list of nodes.
type cut struct {
	from, to     int
	nodes        []model.Node
	reads, makes []string // values from before the window, and values that are used after it
}

// window returns a random window whose values are used after it.
func window(rng *rand.Rand, g *Graph) (*cut, bool) {
	all := g.Model.Graph.Nodes
	if len(all) == 0 {
		return nil, false
	}
	from := rng.IntN(len(all))
	w := &cut{from: from, to: from + 1 + rng.IntN(min(6, len(all)-from))}
	w.nodes = slices.Clone(all[w.from:w.to])
	made := map[string]bool{}
	for i := range w.nodes {
		for _, name := range namesRead(&w.nodes[i]) {
			if name != "" && !made[name] && !slices.Contains(w.reads, name) {
				w.reads = append(w.reads, name)
			}
		}
		for _, name := range w.nodes[i].Outputs {
			made[name] = name != ""
		}
	}
	use := func(name string) {
		if made[name] && !slices.Contains(w.makes, name) {
			w.makes = append(w.makes, name)
		}
	}
	for i := range all[w.to:] {
		for _, name := range namesRead(&all[w.to+i]) {
			use(name)
		}
	}
	for i := range g.Model.Graph.Outputs {
		use(g.Model.Graph.Outputs[i].Name)
	}
	return w, len(w.makes) > 0
}

// namesRead returns the inputs of a node and the values that its graphs read.
func namesRead(n *model.Node) []string {
	all := slices.Clone(n.Inputs)
	for _, a := range n.Attrs {
		if g, ok := a.Value.(*model.Graph); ok {
			made := map[string]bool{}
			for i := range g.Inputs {
				made[g.Inputs[i].Name] = true
			}
			for i := range g.Nodes {
				for _, name := range namesRead(&g.Nodes[i]) {
					if !made[name] {
						all = append(all, name)
					}
				}
				for _, name := range g.Nodes[i].Outputs {
					made[name] = true
				}
			}
			for i := range g.Outputs {
				if name := g.Outputs[i].Name; !made[name] {
					all = append(all, name)
				}
			}
		}
	}
	return all
}

// replace puts a node in the window's place.
func (w *cut) replace(g *Graph, n model.Node) {
	g.Model.Graph.Nodes = slices.Replace(g.Model.Graph.Nodes, w.from, w.to, n)
}

// renamed returns the nodes with other names of values, in their graphs, too.
func renamed(nodes []model.Node, as func(string) string) []model.Node {
	out := slices.Clone(nodes)
	for i := range out {
		n := &out[i]
		n.Inputs, n.Outputs, n.Attrs = named(n.Inputs, as), named(n.Outputs, as), slices.Clone(n.Attrs)
		for k, a := range n.Attrs {
			if g, ok := a.Value.(*model.Graph); ok {
				inner := *g
				inner.Nodes = renamed(g.Nodes, as)
				inner.Inputs, inner.Outputs = infos(named(infoNames(g.Inputs), as)...), infos(named(infoNames(g.Outputs), as)...)
				n.Attrs[k].Value = &inner
			}
		}
	}
	return out
}

func infos(names ...string) []model.ValueInfo {
	all := make([]model.ValueInfo, len(names))
	for i, name := range names {
		all[i].Name = name
	}
	return all
}

func infoNames(values []model.ValueInfo) []string {
	all := make([]string, len(values))
	for i := range values {
		all[i] = values[i].Name
	}
	return all
}

// intoFunction makes a function of the nodes. An attribute of one of them is the caller's, or
// the function's default.
func intoFunction(rng *rand.Rand, g *Graph, w *cut) {
	const domain = "outlined"
	f := model.Function{Domain: domain, Name: fmt.Sprint("F", len(g.Model.Functions)), Opsets: map[string]int64{domain: 1}}
	for of, v := range g.Model.Opsets {
		f.Opsets[of] = v
	}
	f.Opsets[domain], g.Model.Opsets[domain] = 1, 1
	// The function's own names are short, and are names of the graph, too.
	short := map[string]string{}
	as := func(name string) string {
		if short[name] == "" {
			short[name] = fmt.Sprint("v", len(short))
		}
		return short[name]
	}
	f.Nodes = renamed(w.nodes, as)
	for _, name := range w.reads {
		f.Inputs = append(f.Inputs, as(name))
	}
	for _, name := range w.makes {
		f.Outputs = append(f.Outputs, as(name))
	}
	call := model.NewNode(f.Name, w.reads, w.makes)
	call.Domain = domain
	n := &f.Nodes[rng.IntN(len(f.Nodes))]
	for i, a := range n.Attrs {
		if _, graph := a.Value.(*model.Graph); graph {
			continue
		}
		a.Name = "given"
		n.Attrs[i] = model.Attr{Name: n.Attrs[i].Name, Ref: a.Name, RefKind: a.Kind()}
		if rng.IntN(2) == 0 {
			f.Defaults = append(f.Defaults, a)
		} else {
			f.Attrs, call.Attrs = append(f.Attrs, a.Name), append(call.Attrs, a)
		}
		break
	}
	g.Model.Functions = append(g.Model.Functions, f)
	w.replace(g, call)
}

// fresh returns a function that names values of a new graph; prefix is unlike that of others.
func fresh(g *Graph, w *cut, what string) func(string) string {
	prefix := fmt.Sprintf("%s%d.%d ", what, len(g.Model.Graph.Initializers), len(g.Model.Graph.Nodes))
	reads := w.reads
	return func(name string) string {
		if slices.Contains(reads, name) {
			return name
		}
		return prefix + name
	}
}

// named returns a list with other names; omitted values stay so.
func named(list []string, as func(string) string) []string {
	out := make([]string, len(list))
	for i, name := range list {
		if name != "" {
			out[i] = as(name)
		}
	}
	return out
}

// constant adds an initializer.
func (g *Graph) constant(name string, v Value) string {
	t := v.stored()
	t.Name = name
	g.Model.Graph.Initializers = append(g.Model.Graph.Initializers, *t)
	return name
}

// intoIf puts the nodes into both branches of an If.
func intoIf(rng *rand.Rand, g *Graph, w *cut) {
	var branches []model.Attr
	for _, attr := range []string{"then_branch", "else_branch"} {
		as := fresh(g, w, attr)
		branches = append(branches, model.Attr{Name: attr, Value: &model.Graph{Name: attr, Nodes: renamed(w.nodes, as), Outputs: infos(named(w.makes, as)...)}})
	}
	condition := g.constant(fmt.Sprintf("condition%d.%d", len(g.Model.Graph.Initializers), w.from), flag(rng.IntN(2) == 0))
	w.replace(g, model.NewNode("If", []string{condition}, w.makes, branches...))
}

// intoLoop puts the nodes into a Loop of one iteration. What they make is carried out of it,
// and is another value at first.
func intoLoop(_ *rand.Rand, g *Graph, w *cut) {
	if len(w.reads) == 0 {
		return
	}
	as := fresh(g, w, "body")
	at := len(g.Model.Graph.Initializers)
	body := &model.Graph{Name: "body", Nodes: renamed(w.nodes, as)}
	i, on := fmt.Sprintf("i%d.%d", at, w.from), fmt.Sprintf("on%d.%d", at, w.from)
	body.Inputs, body.Outputs = infos(i, on), infos(on)
	inputs := []string{g.constant(fmt.Sprintf("trips%d.%d", at, w.from), ints(1).reshaped()), ""}
	for k, name := range w.makes {
		body.Inputs = append(body.Inputs, infos(fmt.Sprintf("%s state %d", i, k))...)
		body.Outputs = append(body.Outputs, infos(as(name))...)
		inputs = append(inputs, w.reads[k%len(w.reads)])
	}
	w.replace(g, model.NewNode("Loop", inputs, w.makes, model.Attr{Name: "body", Value: body}))
}
