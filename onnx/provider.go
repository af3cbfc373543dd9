package onnx

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/dry"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// A Provider is an engine with operators that a session lacks. The session controls the
// order of nodes, lifetimes, views and copies; the engine computes.
type Provider interface {
	// Operator returns how the engine runs a node, or nil if it cannot. A session asks once
	// for each node of an unknown operator, for each node with graphs (If, Loop, Scan,
	// SequenceMap) or a function of the model, which the session runs otherwise, and for
	// arithmetic. The session still runs the arithmetic on shapes itself.
	Operator(n Node) (*Operator, error)
}

// Node describes a node to a provider, which must not change any of it.
type Node struct {
	Domain, Op, Overload string
	Version              int64 // of the domain, as imported by the model or by the function that the node is in; 0: not imported
	Name                 string
	Attrs                Attrs // including the graphs of If, Loop and Scan
	Inputs, Outputs      []string
	// Captured are the values of the enclosing graph that the node's graphs use. They
	// follow the inputs, in a Call too.
	Captured []string
	Model    *model.Model   // for its functions, and the opsets that apply to the node
	Stream   *tensor.Stream // the session's stream
}

// Body returns a model of a graph in an attribute of the node, for an engine that runs a
// Loop or a Scan with its own session. The model's inputs are the graph's inputs, followed
// by the values that the node captures.
func (n Node) Body(attr string) (*model.Model, error) {
	a, _ := n.Attrs.Get(attr)
	g, ok := a.Value.(*model.Graph)
	if !ok || g == nil {
		return nil, layout.Errorf(device.ErrInvalid, n.Op, "there is no graph %s", quote.Name(attr))
	}
	return within(n.Model, g, n.Captured), nil
}

// Operator says how an engine runs a node or a group of nodes. It is called from several
// goroutines at once, and on each stream passed to Session.On. In sets of inputs, bit i
// stands for input i; inputs from 64 on are in no set but All.
type Operator struct {
	// Run sets the outputs of a call, or queues work on its stream that sets them.
	Run func(c *Call) error
	// Strided inputs may be any view. Other inputs are made contiguous first, with a copy
	// if necessary.
	Strided uint64
	// Host inputs are needed on tensor.Host, as shapes and axes are.
	Host uint64
	// Types returns the types of the outputs, for Session.Plan. Without it, the types
	// declared by the model's value_info apply.
	Types func(in []OutputInfo) ([]OutputInfo, error)
	// Captures says that Session.Capture may record Run: all of its work is queued on the
	// stream (Launch, and calls of package tensor), does not depend on elements read by the
	// host, and is the same each time.
	Captures bool
	// Close, if not nil, is called when the last session of the model is closed.
	Close func() error
}

// All is the set of all inputs.
const All = ^uint64(0)

// Call is one run of an engine's operator.
type Call struct {
	Context context.Context
	Stream  *tensor.Stream // the session's stream
	// Inputs belong to the session; nil means omitted. Tensors are on Stream, and those in
	// the set Host on tensor.Host.
	Inputs []Value
	// Outputs are set by the engine and then belong to the session: tensors on Stream or on
	// tensor.Host, including aliases of inputs. nil is allowed only for outputs without a
	// name.
	Outputs []Value

	mayOverwrite []bool
}

// Tensor returns an input that must be a tensor.
func (c *Call) Tensor(i int) (*tensor.Tensor, error) {
	if i >= 0 && i < len(c.Inputs) {
		if x, ok := c.Inputs[i].(*tensor.Tensor); ok && x != nil {
			return x, nil
		}
	}
	return nil, layout.Errorf(device.ErrInvalid, "Call", "input %d is no tensor", i)
}

// MayOverwrite reports whether nobody uses the elements of an input after the call. Then an
// output may overwrite them and be an alias of the input.
func (c *Call) MayOverwrite(i int) bool {
	return i >= 0 && i < len(c.mayOverwrite) && c.mayOverwrite[i]
}

// An Option configures NewSession.
type Option func(*compiler)

// WithOperators makes an engine run the nodes that the session cannot.
func WithOperators(p Provider) Option { return func(c *compiler) { c.provider = p } }

// configure applies options.
func (c *compiler) configure(options []Option) {
	for _, option := range options {
		if option != nil {
			option(c)
		}
	}
}

// foreign is an engine's operator in a session.
type foreign struct {
	*Operator
	name     string
	outputs  []string
	declared []model.Type // of the outputs
}

// ask asks the engine for a node's operator; nil: the engine has none.
func (c *compiler) ask(u *unit) (*foreign, error) {
	if c.provider == nil {
		return nil, nil
	}
	n := c.nodeOf(u)
	captured, err := capturedBy(u.node)
	if err != nil {
		return nil, err
	}
	n.Captured = captured
	op, err := c.provider.Operator(n)
	if op == nil && err == nil {
		return nil, nil
	}
	return c.adopt(op, err, u.node.OpType, u.node.Outputs)
}

// nodeOf describes a node to the engine, without Captured.
func (c *compiler) nodeOf(u *unit) Node {
	domain := calleeOf(u.node.Domain, "", "").domain
	return Node{
		Domain: domain, Op: u.node.OpType, Overload: u.node.Overload, Version: u.model.Opsets[domain], Name: u.node.Name,
		Attrs: u.node.Attrs, Inputs: trimAbsent(u.node.Inputs), Outputs: u.node.Outputs, Model: u.model, Stream: c.p.stream,
	}
}

// adopt returns an engine's operator. The session closes it, even after later errors.
func (c *compiler) adopt(op *Operator, err error, name string, outputs []string) (*foreign, error) {
	if op != nil && op.Close != nil {
		c.p.closers = append(c.p.closers, op.Close)
	}
	switch {
	case err != nil:
		return nil, err
	case op.Run == nil:
		return nil, layout.Errorf(device.ErrInvalid, name, "the engine's operator has no Run")
	}
	c.p.engine = true
	f := &foreign{Operator: op, name: name, outputs: outputs}
	for _, name := range outputs {
		f.declared = append(f.declared, c.declared[name])
	}
	return f, nil
}

// run is the kernel of an engine's operator.
func (f *foreign) run(c *call) error {
	e := Call{Context: c.ctx, Stream: c.far, Inputs: make([]Value, len(c.in)), Outputs: make([]Value, len(c.out)), mayOverwrite: make([]bool, len(c.in))}
	for i, v := range c.in {
		if absent(v) {
			continue
		}
		e.Inputs[i] = v
		x, ok := v.(*tensor.Tensor)
		if !ok {
			continue
		}
		y, err := f.operand(c, i, x)
		if err != nil {
			return fmt.Errorf("input %d: %w", i, err)
		}
		e.Inputs[i], e.mayOverwrite[i] = y, y == x && c.overwritable(i) || y != x && y.Unshared()
	}
	switch {
	case c.dry():
		return f.plan(c, e.Inputs)
	case c.captures && !f.Captures:
		return layout.Errorf(device.ErrUnsupported, c.d.name, "the engine's operator cannot be captured (Operator.Captures)")
	}
	err := f.Run(&e)
	if len(e.Outputs) != len(c.out) {
		return errors.Join(err, c.d.invalid("the engine set %d outputs; there are %d", len(e.Outputs), len(c.out)))
	}
	err = errors.Join(err, f.owned(c, &e))
	copy(c.out, e.Outputs) // outputs set before an error are released
	c.sent += sentBy(e.Outputs)
	if err != nil {
		return fmt.Errorf("%s: %w", c.d.name, err)
	}
	return f.checkOutputs(c)
}

// owned refuses outputs that would be released twice, and removes them: the session's
// inputs, and tensors that are already outputs.
func (f *foreign) owned(c *call, e *Call) (err error) {
	taken := slices.Concat(c.in, e.Inputs)
	for i, v := range e.Outputs {
		x, ok := v.(*tensor.Tensor)
		if ok && x != nil && slices.Contains(taken, v) {
			e.Outputs[i] = nil
			err = errors.Join(err, c.d.invalid("output %d is an input or another output itself: Alias makes a tensor of its own", i))
		}
		taken = append(taken, v)
	}
	return err
}

// sentBy returns the number of bytes that an engine sent to the device for its outputs.
func sentBy(outputs []Value) (bytes int64) {
	for _, v := range outputs {
		if x, ok := v.(*tensor.Tensor); ok && x != nil {
			if v := x.Verdict(); v.Kind == tensor.Transfer && !x.Stream().IsHost() {
				bytes += v.Bytes
			}
		}
	}
	return bytes
}

// has reports whether a set of inputs contains input i; from input 64 on only All does.
func has(set uint64, i int) bool { return set == All || i < 64 && set>>i&1 == 1 }

// operand returns an input in the form that the engine needs.
func (f *foreign) operand(c *call, i int, x *tensor.Tensor) (*tensor.Tensor, error) {
	x, err := f.placed(c, i, x)
	if err != nil {
		return nil, err
	}
	l := x.Layout()
	if has(f.Strided, i) || l.IsContiguous() {
		return x, nil
	}
	y, err := x.Contiguous()
	if err != nil {
		return nil, err
	}
	c.temps = append(c.temps, y)
	c.compacted += y.Verdict().Bytes
	return y, nil
}

// placed returns an input where the engine needs it.
func (f *foreign) placed(c *call, i int, x *tensor.Tensor) (*tensor.Tensor, error) {
	to := c.far
	if has(f.Host, i) {
		to = tensor.Host()
	}
	switch {
	case x.Stream() == to:
		return x, nil
	case x.Stream() == tensor.Host():
		return c.bring(x, to)
	case to == tensor.Host():
		if err := c.await(x); err != nil {
			return nil, err
		}
		c.moved(x, to)
	}
	y, err := x.To(to)
	if err != nil {
		return nil, err
	}
	c.temps = append(c.temps, y)
	return y, nil
}

// checkOutputs checks the engine's outputs.
func (f *foreign) checkOutputs(c *call) error {
	for i, v := range c.out {
		if absent(v) {
			if c.out[i] = nil; f.outputs[i] == "" {
				continue
			}
			return c.d.invalid("the engine made no output %d", i)
		}
		if _, ok := v.(*pending); ok {
			return c.d.invalid("output %d is no value", i)
		}
		x, ok := v.(*tensor.Tensor)
		switch {
		case !ok || x.Stream() == tensor.Host() || x.Stream() == c.far:
		case x.Stream().Device() != c.far.Device():
			return c.d.invalid("the engine made output %d on %s; the session is on %s", i, x.Stream().Device().Info().ID(), c.far.Device().Info().ID())
		default:
			return c.d.invalid("the engine made output %d on another stream than the session's", i)
		}
	}
	return nil
}

// plan makes outputs on the dry device that stands in for the session's device.
func (f *foreign) plan(c *call, in []Value) error {
	types := f.declared
	if f.Types != nil {
		made := make([]OutputInfo, len(in))
		for i, v := range in {
			if !absent(v) {
				made[i] = infoOf("", v)
			}
		}
		out, err := f.Types(made)
		if err != nil {
			return fmt.Errorf("%s: %w", c.d.name, err)
		}
		types = nil
		for _, m := range out {
			types = append(types, typeOfShape(m.Type, m.Shape))
		}
	}
	for i := range c.out {
		if f.outputs[i] == "" {
			continue
		}
		var shape layout.Shape
		ok := i < len(types)
		if ok {
			shape, ok = extentsOf(&types[i])
		}
		if !ok {
			return layout.Errorf(dry.ErrRead, c.d.name, "neither the engine nor the model says of what shape output %d is", i)
		}
		x, err := tensor.Empty(c.far, types[i].Elem, shape...)
		if err != nil {
			return err
		}
		c.out[i] = x
	}
	return nil
}

// offer makes a unit an engine's if the engine has its operator.
func (c *compiler) offer(u *unit) error {
	f, err := c.ask(u)
	if f == nil || err != nil {
		return err
	}
	u.missing, u.kernel, u.engine = "", f.run, f
	if _, groups := c.provider.(Grouper); !groups {
		u.d.host |= uint(f.Host)
	}
	return nil
}

// split returns a kernel of arithmetic that leaves large operands to the engine and
// computes on few elements on the host.
func (f *foreign) split(native kernel) kernel {
	return func(c *call) error {
		if c.few() {
			return native(c)
		}
		return f.run(c)
	}
}

// few reports whether the host should compute the result.
func (c *call) few() bool {
	var dims layout.Shape
	for _, v := range c.in {
		x, ok := v.(*tensor.Tensor)
		if !ok || x == nil {
			continue
		}
		if x.Count() > fewElements {
			return false
		}
		if together, err := layout.Broadcast(dims, x.Shape()); err == nil { // else no broadcast
			dims = together
		}
	}
	n, err := dims.Count()
	return err == nil && n <= fewElements
}

// engines makes arithmetic units that do not work on shapes opaque units of the engine.
// Units on shapes leave large operands to it.
func (c *compiler) engines() error {
	if c.provider == nil {
		return nil
	}
	for _, u := range c.nodes {
		if !u.d.arithmetic {
			continue
		}
		f, err := c.ask(u)
		if err != nil {
			return fmt.Errorf("%v: %w", u, err)
		}
		switch {
		case f == nil:
		case u.host:
			u.kernel = f.split(u.kernel)
		default:
			if err := c.opaque(u); err != nil {
				return err
			}
			u.kernel, u.engine = f.run, f
			u.d.host = uint(f.Host)
		}
	}
	return nil
}

// declareTypes records the types that the graph declares, for plans.
func (c *compiler) declareTypes() {
	if c.provider != nil {
		c.declared = declaredIn(c.graph)
	}
}
