package onnx

import (
	"context"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/tensor"
)

// prepareSequenceMap prepares a SequenceMap that no engine runs: its body runs once for each
// item of the first input.
func prepareSequenceMap(u *unit) error {
	n := u.given()
	if n < 1 {
		return u.d.invalid("no inputs are given; the first must be a sequence")
	}
	if u.model.Opsets[""] < 17 {
		return u.d.invalid("the operator exists from opset 17")
	}
	body, err := u.subgraph("body", n, len(u.node.Outputs))
	if err != nil {
		return err
	}
	for i := range n {
		body.from[i] = i
	}
	u.kernel = func(c *call) error { return c.mapSequences(body) }
	return nil
}

// mapSequences makes the outputs of a SequenceMap.
func (c *call) mapSequences(body *subgraph) error {
	inputs := c.in[:len(body.from)]
	first, ok := inputs[0].(*Sequence)
	if !ok || first == nil {
		return c.d.invalid("input 0 is %s; it must be a sequence", describe(inputs[0]))
	}
	for i, v := range inputs {
		if absent(v) {
			return c.d.invalid("input %d is missing", i)
		}
		if s, ok := v.(*Sequence); ok && len(s.Items) != len(first.Items) {
			return c.d.invalid("input %d has %d items; input 0 has %d", i, len(s.Items), len(first.Items))
		}
	}
	outputs := make([]*Sequence, len(c.out))
	for k := range outputs {
		port := &body.outputs[k]
		outputs[k] = &Sequence{Elem: elemOf(&port.typ)}
		c.out[k] = outputs[k]
		if err := countItems(c.d.name, outputs[k], len(first.Items)); err != nil {
			return err
		}
		if len(first.Items) == 0 && !outputs[k].Elem.Valid() {
			return c.d.invalid("the sequence is empty, and the body does not declare the type of its output %s", quote.Name(port.name))
		}
	}
	a := body.enter(c)
	defer a.leave()
	own := make([]Value, len(inputs))
	for i := range first.Items {
		if err := context.Cause(c.ctx); err != nil {
			return err
		}
		for k, v := range inputs {
			own[k] = v
			if s, ok := v.(*Sequence); ok {
				own[k] = s.Items[i]
			}
		}
		made, err := a.run(own...)
		if err != nil {
			return err
		}
		for k, v := range made {
			outputs[k].Items = append(outputs[k].Items, v)
		}
		for k, v := range made {
			outputs[k].Elem = elemOfValue(outputs[k].Items[0])
			if x, ok := v.(*tensor.Tensor); !ok || x.DType() != outputs[k].Elem {
				return c.d.invalid("the body's output %s is %s in iteration %d; the items of a sequence are tensors of one type", quote.Name(body.outputs[k].name), describe(v), i)
			}
		}
	}
	return nil
}
