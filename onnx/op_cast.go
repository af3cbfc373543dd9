package onnx

import (
	"strings"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/dry"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func init() {
	v1 := definition{inputs: arity{1, 1}, attrs: []string{"to"}, prepare: prepareCast}
	v19, v24 := v1, v1
	v19.attrs = []string{"to", "saturate"}
	v24.attrs = []string{"to", "saturate", "round_mode"}
	complexes := []layout.DType{layout.Complex64, layout.Complex128}
	numbers13 := types13.without(complexes...)
	numbers5 := types5.without(complexes...)
	register("Cast",
		v1.versions(change{1, numbers5.without(layout.String)}, change{6, numbers5.without(layout.String)}, change{9, numbers5}, change{13, numbers13}),
		v19.growing(19, 23, complexes...), v24.growing(24, MaxOpset, complexes...))

	like15 := definition{inputs: arity{2, 2}, prepare: prepareCastLike}
	like19, like24 := like15, like15
	like19.attrs = v19.attrs[1:]
	like24.attrs = v24.attrs[1:]
	register("CastLike",
		like15.versions(change{15, numbers13}), like19.growing(19, 23, complexes...), like24.growing(24, MaxOpset, complexes...))
}

// cast makes a copy, or a view if the elements already have the type. device.Rounding has
// the rules for values outside the type's range; up to opset 23, Legacy's rules apply.
// Strings are on the host: a cast to strings first transfers the elements to the host, and
// the result of a cast from strings stays there.
func cast(d *definition, x *tensor.Tensor, to layout.DType, how device.Rounding) (*tensor.Tensor, error) {
	if err := d.checkTarget(to); err != nil {
		return nil, err
	}
	if s := x.Stream(); to != layout.String || s.IsHost() && s.Device().Info().Strings {
		return x.Cast(to, how)
	}
	h, err := x.To(tensor.Host())
	if err != nil {
		return nil, err
	}
	y, err := h.Cast(to, how)
	if err = cleanedUp(err, h.Release()); err != nil {
		return nil, cleanedUp(err, y.Release())
	}
	return y, nil
}

// checkTarget checks the type to cast to. It allows the types that can be cast from.
func (d *definition) checkTarget(to layout.DType) error {
	if !to.Valid() {
		return d.invalid("%v is not an element type", to)
	}
	return d.checkType(to)
}

// rounding reads saturate and round_mode, if the version has them.
func (d *definition) rounding(attrs Attrs) (how device.Rounding, err error) {
	how.Legacy = d.since < 24
	saturate, err := d.boolAttr(attrs, "saturate", true)
	if err != nil {
		return how, err
	}
	how.Unsaturated = !saturate
	mode, err := attrs.StrOr("round_mode", "up")
	if err != nil {
		return how, err
	}
	switch mode {
	case "up":
	case "down":
		how.Scale = device.RoundDown
	case "nearest":
		how.Scale = device.RoundNearest
	default:
		return how, d.invalid("attribute round_mode is %s; it must be up, down or nearest", quote.Name(mode))
	}
	return how, nil
}

// target reads the attribute to: an element type's number or, in Cast-1, its name in ONNX's
// DataType. Models from that period, including ONNX's own test cases, use the name in
// Cast-6 too.
func (d *definition) target(attrs Attrs) (layout.DType, error) {
	var to layout.DType
	var ok bool
	var err error
	if a, _ := attrs.Get("to"); d.since == 1 || d.op == "Cast" && d.since == 6 && a.Kind() == "string" {
		var name string
		if name, ok, err = attrs.Str("to"); ok {
			if to = typeNamed(name); to == layout.Invalid {
				return to, d.invalid("attribute to is %s, which names no element type", quote.Name(name))
			}
		}
	} else {
		var number int64
		if number, ok, err = attrs.Int("to"); ok {
			if number < 1 || number > 255 || !layout.DType(number).Valid() {
				return to, d.invalid("attribute to is %d, which is the number of no element type that is known here", number)
			}
			to = layout.DType(number)
		}
	}
	if err == nil && !ok {
		err = d.invalid("attribute to is missing")
	}
	if err == nil {
		err = d.checkTarget(to)
	}
	return to, err
}

// typeNamed returns the type with a name of ONNX's DataType: the capitalized type string.
func typeNamed(name string) layout.DType {
	for _, t := range layout.DTypes() {
		if strings.ToUpper(t.String()) == name {
			return t
		}
	}
	return layout.Invalid
}

func prepareCast(d *definition, attrs Attrs) (kernel, error) {
	to, err := d.target(attrs)
	if err != nil {
		return nil, err
	}
	how, err := d.rounding(attrs)
	if err != nil {
		return nil, err
	}
	return func(c *call) error { return c.cast(to, how) }, nil
}

func prepareCastLike(d *definition, attrs Attrs) (kernel, error) {
	how, err := d.rounding(attrs)
	if err != nil {
		return nil, err
	}
	return func(c *call) error {
		like, err := c.tensor(1, "the value to be like")
		if err != nil {
			return err
		}
		return c.cast(like.DType(), how)
	}, nil
}

func (c *call) cast(to layout.DType, how device.Rounding) error {
	if c.noText && c.x.DType() == layout.String && to != layout.String {
		return layout.Errorf(dry.ErrRead, c.d.name, "the strings are not known")
	}
	if to == layout.String {
		if err := c.await(c.x); err != nil {
			return err
		}
	}
	y, err := cast(c.d, c.x, to, how)
	if err == nil {
		c.moved(c.x, y.Stream())
	}
	return c.set(y, err)
}
