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
	home *tensor.Stream // where to make what is made of no operand
	out  []Value        // of the length that is wanted; the kernel sets them all
	open bool           // the kernel may want more outputs than the fewest

	ctx      context.Context
	hook     *func(NodeReport)
	session  *Session       // nil: constants are worked out, or a model is explained
	far      *tensor.Stream // the session's, or the one that stands in for it in a plan
	captures bool           // the run is recorded by Capture
	profile  *Profile       // nil: nodes are not measured

	noText   bool             // strings are those of a plan, which does not know them
	last     []bool           // of each input: nobody uses it after this call
	mayDefer bool             // output 0 may be pending
	into     *tensor.Tensor   // the memory that the caller named for output 0
	later    []*tensor.Tensor // what lies in its buffer, and later steps use
	temps    []*tensor.Tensor // to be released after the call
	taken    int64            // of the process's budget, until the end of the call
	sent     int64            // bytes of operands that were brought from the host to a device
	fetched  int64            // bytes of operands that were brought from a device to the host
	parts    int              // that the output was put together from
	depth    int              // of the pendings that became parts
	forced   int64            // bytes of pendings that had to be made first
	put      int64            // bytes of elements that indices put in their places
	// compacted is how many bytes of operands were made contiguous for an engine.
	compacted int64
}

// Run runs one operator of an opset on its inputs; nil stands for an optional
// input left out. Inputs stay the caller's; outputs are the caller's to release.
// What has no operand to take a stream from, such as a Constant, is made on
// tensor.Host. A Split makes as many outputs as it is given sizes, or as its
// attribute num_outputs says; without either, one.
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

// dry reports whether the call is of a plan.
func (c *call) dry() bool { return c.session != nil && c.far != c.session.stream }

// one runs an operator that has a function of its own, on a tensor: without what a call
// by name allocates.
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
	c.x, c.sent, c.fetched, c.parts, c.depth, c.forced, c.put, c.compacted = nil, 0, 0, 0, 0, 0, 0, 0
	if len(c.in) < d.inputs.min || len(c.in) > d.inputs.max {
		return d.invalid("%d inputs are given; it takes %v", len(c.in), d.inputs)
	}
	for i := range d.needs(len(c.in)) {
		if absent(c.in[i]) {
			return d.invalid("input %d is missing", i)
		}
	}
	if d.inputs.min > 0 && !d.opaque {
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

// do runs the kernel. After an error there is no output.
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

// take counts memory that the call needs on the host until its end.
func (c *call) take(bytes int64) error {
	err := budget.Process().Take(c.d.name, bytes)
	if err == nil {
		c.taken += bytes
	}
	return err
}

// checkFirst checks the type of the input that has the operator's: only Identity takes
// what is no tensor.
func (c *call) checkFirst() error {
	switch v := c.in[c.d.typed].(type) {
	case *tensor.Tensor:
		c.x = v
		if c.d.host&1 == 1 {
			return nil // a shape: who reads it checks it
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

// checkContainer checks a sequence or an optional. Where ONNX takes them, their
// tensors are of the types of opset 5.
func (d *definition) checkContainer(kind containers, v Value) error {
	if d.containers&kind == 0 {
		for _, later := range operators[d.op] {
			if later.containers&kind != 0 {
				return d.invalid("%s is not allowed; %s allows it from opset %d", describe(v), d.op, later.since)
			}
		}
		return d.invalid("%s is given; a tensor is needed", describe(v))
	}
	elem := elemOfValue(v)
	if !types5.has(elem) {
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

// cleanedUp adds the error of a clean-up to the one that it follows, which fail names.
func cleanedUp(err, after error) error {
	if after == nil {
		return err
	}
	return errors.Join(err, after)
}

// view returns a view of x by a layout, or the error of making that.
func (d *definition) view(x *tensor.Tensor, l layout.Layout, err error) (*tensor.Tensor, error) {
	if err != nil {
		return nil, err
	}
	return x.WithLayout(d.name, l)
}

// fail names the operator that err is from, with the type and shape of its
// input, if that is a tensor. Only run, do and one call it: what they call returns errors
// without.
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
	if strings.HasPrefix(err.Error(), d.name) { // the tensor named it
		return err
	}
	return fmt.Errorf("%s: %w", op, err)
}
