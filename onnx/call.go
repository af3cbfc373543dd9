package onnx

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// call is one run of a node.
type call struct {
	d    *definition
	in   []Value        // nil: an optional input left out
	x    *tensor.Tensor // input 0, or the one with the type of the operator, if it is a tensor
	home *tensor.Stream // stream of outputs that depend on no operand
	out  []Value        // as long as the wanted outputs; the kernel sets them all
	open bool           // the kernel may want more than the minimum number of outputs

	ctx      context.Context
	hook     *func(NodeReport)
	session  *Session       // nil: constants are being computed, or a model explained
	far      *tensor.Stream // the session's stream, or its stand-in in a plan
	captures bool           // the run is recorded by Capture
	profile  *Profile       // nil: nodes are not measured

	// standIns stand in for the session's constants on the device, in a plan.
	standIns map[*tensor.Tensor]*tensor.Tensor
	noText   bool             // strings belong to a plan, which does not know them
	last     []bool           // per input: nobody uses it after this call
	mayDefer bool             // output 0 may be pending
	into     *tensor.Tensor   // the memory that the caller named for output 0
	later    []*tensor.Tensor // tensors in its buffer that later steps use
	temps    []*tensor.Tensor // to be released after the call
	taken    int64            // of the process's memory budget, until the end of the call
	sent     int64            // bytes of operands copied from the host to a device
	fetched  int64            // bytes of operands copied from a device to the host
	parts    int              // number of parts that formed the output
	depth    int              // nesting depth of the pendings that became parts
	forced   int64            // bytes of pendings that had to be assembled first
	put      int64            // bytes of elements written at indices
	// collected is the number of bytes of outputs put together from those of iterations.
	collected int64
	// compacted is the number of operand bytes made contiguous for an engine.
	compacted int64
}

// Run runs one operator of an opset on its inputs; nil stands for an omitted optional
// input. The caller keeps the inputs and must release the outputs. An operator without
// operands, such as Constant, makes its output on tensor.Host. A Split makes as many
// outputs as it has sizes, or as its attribute num_outputs says; without either, one.
func Run(op string, v Opset, attrs Attrs, inputs ...Value) ([]Value, error) {
	d, err := lookup(op, v)
	if err != nil {
		return nil, err
	}
	k, err := d.compile(attrs)
	if err != nil {
		return nil, err
	}
	c := call{d: d, in: inputs, home: tensor.Host(), out: make([]Value, d.outputs.min), open: true}
	if err := c.run(k); err != nil {
		return nil, err
	}
	return c.out, nil
}

// dry reports whether the call belongs to a plan.
func (c *call) dry() bool { return c.session != nil && c.far != c.session.stream }

// constant returns a constant of the session, or what stands in for it.
func (c *call) constant(of held) *tensor.Tensor {
	if x := c.standIns[of.value]; x != nil {
		return x
	}
	return of.value
}

// one runs an operator that has its own function, on a tensor, without the allocations of a
// call by name.
func one(op string, v Opset, x *tensor.Tensor, run func(*definition) (*tensor.Tensor, error)) (*tensor.Tensor, error) {
	d, err := lookup(op, v)
	if err != nil {
		return nil, err
	}
	if x == nil {
		return nil, d.invalid("the input is nil")
	}
	var y *tensor.Tensor
	if err = d.checkType(x.DType()); err == nil {
		y, err = run(d)
	}
	if err != nil {
		return nil, d.fail(x, err)
	}
	return y, nil
}

// compile checks a node's attributes and returns its kernel.
func (d *definition) compile(attrs Attrs) (kernel, error) {
	if err := d.checkAttrs(attrs); err != nil {
		return nil, err
	}
	k, err := d.prepare(d, attrs)
	return k, layout.Named(d.name, err)
}

// run checks the inputs and runs the kernel.
func (c *call) run(k kernel) error {
	d := c.d
	c.x, c.sent, c.fetched, c.parts, c.depth, c.forced, c.put, c.collected, c.compacted = nil, 0, 0, 0, 0, 0, 0, 0, 0
	if len(c.in) < d.inputs.min || len(c.in) > d.inputs.max {
		return d.invalid("%d inputs are given; it takes %v", len(c.in), d.inputs)
	}
	for i := range d.needs(len(c.in)) {
		if absent(c.in[i]) {
			return d.invalid("input %d is missing", i)
		}
	}
	if c.has(d.typed) && !d.opaque {
		if err := c.checkFirst(); err != nil {
			return d.fail(c.x, err)
		}
	}
	if d.host != 0 {
		if err := c.awaitHost(); err != nil {
			return d.fail(c.x, err)
		}
	}
	return c.do(k)
}

// do runs the kernel. After an error there are no outputs.
func (c *call) do(k kernel) error {
	d := c.d
	err := k(c)
	for i, t := range c.temps {
		err = errors.Join(err, t.Release())
		c.temps[i] = nil
	}
	c.temps = c.temps[:0]
	if c.taken > 0 {
		budget.Process().Give(c.taken)
		c.taken = 0
	}
	if err != nil {
		for i, v := range c.out {
			if !absent(v) {
				err = errors.Join(err, v.Release())
			}
			c.out[i] = nil
		}
		return d.fail(c.x, err)
	}
	return nil
}

// take reserves host memory that the call needs until its end.
func (c *call) take(bytes int64) error {
	err := budget.Process().Take(c.d.name, bytes)
	if err == nil {
		c.taken += bytes
	}
	return err
}

// checkFirst checks the type of the input that has the operator's type.
func (c *call) checkFirst() error {
	switch v := c.in[c.d.typed].(type) {
	case *tensor.Tensor:
		c.x = v
		if c.d.host&1 == 1 {
			return nil // a shape: its reader checks it
		}
		if c.d.types == 0 {
			return c.d.invalid("%s is given; %v is needed", describe(v), c.d.containers)
		}
		return c.d.checkType(v.DType())
	case *pending:
		return c.d.checkType(v.dtype)
	case *Sequence:
		return c.d.checkContainer(sequences, v)
	case *Optional:
		return c.d.checkContainer(optionals, v)
	}
	return c.d.invalid("%s is given; a tensor is needed", describe(c.in[c.d.typed]))
}

// checkContainer checks a sequence or an optional.
func (d *definition) checkContainer(kind containers, v Value) error {
	if d.containers&kind == 0 {
		for _, later := range operators[d.op] {
			if later.containers&kind != 0 {
				return d.invalid("%s is not allowed; %s allows it from opset %d", describe(v), d.op, later.since)
			}
		}
		needed := "a tensor"
		if d.types == 0 {
			needed = d.containers.String()
		}
		return d.invalid("%s is given; %s is needed", describe(v), needed)
	}
	elem, held := elemOfValue(v), d.held
	if held == 0 {
		held = types5
	}
	if !held.has(elem) {
		return d.invalid("%s is not allowed: of element type %v ONNX takes tensors only", describe(v), elem)
	}
	if !holds(v, elem) {
		return d.invalid("%s must hold tensors of that type only (an optional: or a sequence of them)", describe(v))
	}
	return nil
}

// set makes t the call's only output.
func (c *call) set(t *tensor.Tensor, err error) error {
	if err != nil {
		return err
	}
	c.out[0] = t
	return nil
}

// cleanedUp joins err with the error of a clean-up, if there is one. Otherwise err keeps
// its type, which fail needs.
func cleanedUp(err, after error) error {
	if after == nil {
		return err
	}
	return errors.Join(err, after)
}

// view returns a view of x with layout l, or err if it is set.
func (d *definition) view(x *tensor.Tensor, l layout.Layout, err error) (*tensor.Tensor, error) {
	if err != nil {
		return nil, err
	}
	return x.WithLayout(d.name, l)
}

// fail adds the operator and the type and shape of its input, if that is a tensor, to err.
// Only run, do and one call it: functions that they call return errors without that prefix.
func (d *definition) fail(x *tensor.Tensor, err error) error {
	if x == nil {
		return err
	}
	shape := x.Shape().String()
	op := d.name + " of " + x.DType().String() + shape
	if e, ok := err.(*layout.Error); ok {
		// A layout's own error starts with the same shape.
		return layout.Errorf(e.Kind, op, "%s", strings.TrimPrefix(e.Msg, shape+": "))
	}
	if strings.HasPrefix(err.Error(), d.name) { // the tensor already named it
		return err
	}
	return fmt.Errorf("%s: %w", op, err)
}
