package onnx

import (
	"fmt"
	"slices"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// branch is a graph of an If. Its inputs are the values that it captures from the enclosing
// graph.
type branch struct {
	*program
	attr  string
	takes []int // indices of the node's inputs
}

// branches compiles the graphs of an If that no engine runs.
func (c *compiler) branches(u *unit) error {
	u.missing = ""
	u.d.inputs.min, u.d.host, u.d.chooses = 1, 1, true
	if n := len(u.in) - len(u.captured); n != 1 {
		return u.d.invalid("%d inputs are given; it takes 1", n)
	}
	var both [2]*branch
	for i, attr := range []string{"else_branch", "then_branch"} {
		a, _ := u.node.Attrs.Get(attr)
		g, ok := a.Value.(*model.Graph)
		if !ok || g == nil {
			return u.d.invalid("attribute %s is missing", attr)
		}
		if len(g.Inputs) > 0 {
			return u.d.invalid("%s has inputs; it must have none", attr)
		}
		if len(g.Outputs) != len(u.node.Outputs) {
			return u.d.invalid("%s has %d outputs, the node %d", attr, len(g.Outputs), len(u.node.Outputs))
		}
		b, err := c.branch(u, attr, g)
		if err != nil {
			return fmt.Errorf("%s: %w", attr, err)
		}
		both[i] = b
	}
	path := nodeLabel(u.index, u.node.OpType, u.node.Name) + "."
	u.kernel = func(c *call) error {
		chosen, err := c.condition()
		if err != nil {
			return err
		}
		b := both[0]
		if chosen {
			b = both[1]
		}
		return b.call(c, path+b.attr)
	}
	return nil
}

// branch compiles one graph.
func (c *compiler) branch(u *unit, attr string, g *model.Graph) (*branch, error) {
	captured, err := free(g, c.depth+1)
	if err != nil {
		return nil, err
	}
	b := &branch{program: &program{stream: c.p.stream}, attr: attr}
	for _, name := range captured {
		b.takes = append(b.takes, len(u.in)-len(u.captured)+slices.Index(u.captured, name))
	}
	c.p.bodies = append(c.p.bodies, b.program) // closed with c.p, even after errors
	inner := &compiler{provider: c.provider, depth: c.depth + 1}
	return b, inner.compile(b.program, within(c.model, g, captured))
}

// condition returns the condition of an If, which has one element.
func (c *call) condition() (bool, error) {
	x, err := c.tensor(0, "the condition")
	if err != nil {
		return false, err
	}
	if x.DType() != layout.Bool || x.Count() != 1 {
		return false, c.d.invalid("the condition is %s; it must be one bool", describe(x))
	}
	v, err := tensor.Values[bool](x)
	return err == nil && v[0], err
}

// call runs the branch within the call of its node.
func (b *branch) call(c *call, path string) error {
	inputs := Values{}
	for i, k := range b.takes {
		inputs[b.inputs[i].name] = c.in[k]
	}
	hook := c.hook
	if hook != nil {
		inside := func(n NodeReport) {
			n.Graph = path + joined(n.Graph)
			(*c.hook)(n)
		}
		hook = &inside
	}
	r := b.take()
	defer b.put(r)
	r.begin(c.ctx, c.session, c.far, hook)
	r.call.captures, r.call.profile = c.captures, c.profile
	for _, constant := range c.session.constants[b.program] {
		x := constant.value
		if c.dry() && x.Stream() != tensor.Host() {
			var err error
			if x, err = tensor.Empty(c.far, x.DType(), x.Shape()...); err != nil {
				return err
			}
			c.temps = append(c.temps, x)
		}
		r.values[constant.slot] = x
	}
	made, err := b.run(r, inputs, nil)
	if err != nil {
		return err
	}
	for i, p := range b.outputs {
		c.out[i] = made[p.name]
	}
	return nil
}

// joined returns the rest of a nested graph's path.
func joined(path string) string {
	if path == "" {
		return ""
	}
	return " > " + path
}
