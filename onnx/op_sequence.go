package onnx

import (
	"errors"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// Sequences hold references to tensors: no operator here moves elements, except
// ConcatFromSequence.

func init() {
	sequence := definition{containers: sequences, held: types5}
	insert, erase, at, length := sequence, sequence, sequence, sequence
	insert.inputs, insert.host, insert.prepare = arity{2, 3}, 1<<2, prepareSequenceInsert
	erase.inputs, erase.host, erase.prepare = arity{1, 2}, 1<<1, prepareSequenceErase
	at.inputs, at.host, at.prepare = arity{2, 2}, 1<<1, prepareSequenceAt
	length.inputs, length.shapeOnly, length.prepare = arity{1, 1}, true, prepareSequenceLength
	construct := definition{inputs: arity{1, many}, prepare: prepareSequenceConstruct}
	empty := definition{attrs: []string{"dtype"}, prepare: prepareSequenceEmpty}
	since := func(v Opset, d definition, types typeSet) []definition { return d.versions(change{v, types}) }
	register("SequenceConstruct", since(11, construct, types5))
	register("SequenceEmpty", since(11, empty, types5))
	register("SequenceInsert", since(11, insert, 0))
	register("SequenceErase", since(11, erase, 0))
	register("SequenceAt", since(11, at, 0))
	register("SequenceLength", since(11, length, 0))
}

func prepareSequenceConstruct(d *definition, _ Attrs) (kernel, error) {
	return func(c *call) error {
		s := &Sequence{Elem: c.x.DType()}
		c.out[0] = s
		for i := range c.in {
			if err := s.append(c, c.in[i], i); err != nil {
				return err
			}
		}
		return countItems(d.name, s, len(s.Items))
	}, nil
}

// append adds a reference to a tensor, which must be of the sequence's type.
func (s *Sequence) append(c *call, v Value, input int) error {
	x, ok := v.(*tensor.Tensor)
	if !ok || x.DType() != s.Elem {
		return c.d.invalid("input %d is %s; it must be a tensor of %v, as the others", input, describe(v), s.Elem)
	}
	a, err := alias(c.d.name, x)
	if err == nil {
		s.Items = append(s.Items, a)
	}
	return err
}

// prepareSequenceEmpty reads the element type, by default float.
func prepareSequenceEmpty(d *definition, attrs Attrs) (kernel, error) {
	number, err := attrs.IntOr("dtype", 1)
	if err != nil {
		return nil, err
	}
	t, err := d.elem("dtype", number)
	if err != nil {
		return nil, err
	}
	return func(c *call) error {
		c.out[0] = &Sequence{Elem: t}
		return nil
	}, nil
}

func prepareSequenceInsert(*definition, Attrs) (kernel, error) {
	return func(c *call) error {
		items := c.sequence().Items
		at, err := c.position(2, len(items), len(items))
		if err != nil {
			return err
		}
		return c.splice(at, at, c.in[1])
	}, nil
}

func prepareSequenceErase(d *definition, _ Attrs) (kernel, error) {
	return func(c *call) error {
		n := len(c.sequence().Items)
		if n == 0 {
			return d.invalid("the sequence is empty")
		}
		at, err := c.position(1, n, n-1)
		if err != nil {
			return err
		}
		return c.splice(at, at+1)
	}, nil
}

// sequence returns input 0, which was checked.
func (c *call) sequence() *Sequence { return c.in[0].(*Sequence) }

// splice makes output 0: the items of input 0 with tensors in place of those in [from, to).
// If nobody needs the input after the call, its items move to the output.
func (c *call) splice(from, to int, with ...Value) error {
	in := c.sequence()
	out := &Sequence{Elem: in.Elem}
	c.out[0] = out
	if err := countItems(c.d.name, out, len(in.Items)+len(with)); err != nil {
		return err
	}
	own := len(c.last) > 0 && c.last[0]
	var err error
	move := func(items []Value) {
		for i, v := range items {
			if own {
				items[i] = nil
			} else if err == nil {
				v, err = alias(c.d.name, v)
			}
			if err == nil {
				out.Items = append(out.Items, v)
			}
		}
	}
	out.Items = make([]Value, 0, len(in.Items)+len(with))
	added := Sequence{Elem: in.Elem}
	for _, v := range with {
		if err := added.append(c, v, 1); err != nil {
			return errors.Join(err, added.Release())
		}
	}
	move(in.Items[:from])
	out.Items = append(out.Items, added.Items...)
	move(in.Items[to:])
	return err
}

// position returns input i, an index in [-n,last] that counts from the end if it is negative, or
// last if the input is omitted.
func (c *call) position(i, n, last int) (int, error) {
	if !c.has(i) {
		return last, nil
	}
	at, err := c.scalarInt(i, "the position", true)
	if err != nil {
		return 0, err
	}
	if at < -int64(n) || at > int64(last) {
		return 0, c.d.invalid("position %d is outside [%d,%d]: the sequence has %d items", at, -n, last, n)
	}
	if at < 0 {
		at += int64(n)
	}
	return int(at), nil
}

func prepareSequenceAt(d *definition, _ Attrs) (kernel, error) {
	return func(c *call) error {
		items := c.sequence().Items
		if len(items) == 0 {
			return d.invalid("the sequence is empty")
		}
		at, err := c.position(1, len(items), len(items)-1)
		if err != nil {
			return err
		}
		c.out[0], err = alias(d.name, items[at])
		return err
	}, nil
}

func prepareSequenceLength(*definition, Attrs) (kernel, error) {
	return func(c *call) error {
		return c.set(tensor.FromHost([]int64{int64(len(c.sequence().Items))}, layout.Shape{}...))
	}, nil
}
