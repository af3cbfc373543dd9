package onnx

import (
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

func init() {
	wrap := definition{inputs: arity{0, 1}, containers: sequences, attrs: []string{"type"}, prepare: prepareOptional}
	get15 := definition{inputs: arity{1, 1}, containers: optionals, prepare: prepareOptionalGetElement}
	has15 := definition{inputs: arity{1, 1}, containers: optionals, shapeOnly: true, prepare: prepareOptionalHasElement}
	get18, has18 := get15, has15
	get18.containers, has18.containers = sequences|optionals, sequences|optionals
	has18.inputs = arity{0, 1}
	// Opset 28 adds types.
	newer := func(d definition) []definition {
		d.held = types25
		return d.versions(change{28, types25})
	}
	register("Optional", wrap.versions(change{15, types5}), newer(wrap))
	register("OptionalGetElement", get15.versions(change{15, 0}), get18.versions(change{18, types5}), newer(get18))
	register("OptionalHasElement", has15.versions(change{15, 0}), has18.versions(change{18, types5}), newer(has18))
}

// prepareOptional reads the type of an optional without a value.
func prepareOptional(d *definition, attrs Attrs) (kernel, error) {
	a, given := attrs.Get("type")
	t, ok := a.Value.(*model.Type)
	if given && (!ok || t == nil) {
		return nil, d.invalid("attribute type is of kind %s; it must be a type", a.Kind())
	}
	return func(c *call) error {
		if !c.has(0) {
			if !given || !elemOf(t).Valid() {
				return d.invalid("without an input, attribute type must say which tensors the optional could hold")
			}
			c.out[0] = &Optional{Elem: elemOf(t)}
			return nil
		}
		v := c.in[0]
		if given && !isOf(t, kindOf(v), elemOfValue(v)) {
			return d.invalid("the input is %s; attribute type says %v", describe(v), t)
		}
		a, err := alias(d.name, v)
		if err == nil {
			c.out[0] = &Optional{Elem: elemOfValue(v), Value: a}
		}
		return err
	}, nil
}

// kindOf returns the kind of type that a value has.
func kindOf(v Value) model.TypeKind {
	switch v.(type) {
	case *Sequence:
		return model.SequenceType
	case *Optional:
		return model.OptionalType
	}
	return model.TensorType
}

func prepareOptionalGetElement(d *definition, _ Attrs) (kernel, error) {
	return func(c *call) error {
		v := c.in[0]
		if o, ok := v.(*Optional); ok {
			if v = o.Value; absent(v) {
				return d.invalid("the optional of %v has no value", o.Elem)
			}
		}
		var err error
		c.out[0], err = alias(d.name, v)
		return err
	}, nil
}

func prepareOptionalHasElement(*definition, Attrs) (kernel, error) {
	return func(c *call) error {
		has := c.has(0)
		if has {
			if o, ok := c.in[0].(*Optional); ok {
				has = !absent(o.Value)
			}
		}
		return c.set(tensor.FromHost([]bool{has}, layout.Shape{}...))
	}, nil
}
