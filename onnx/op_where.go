package onnx

import (
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func init() {
	where := definition{inputs: arity{3, 3}, typed: 1, prepare: prepareWhere}
	register("Where", where.versions(change{9, types5}, change{16, types13}))
}

func (d *definition) checkWhere(cond, x, y *tensor.Tensor) error {
	switch {
	case cond.DType() != layout.Bool:
		return d.invalid("the condition is %v%v; it must be bool", cond.DType(), cond.Shape())
	case x.DType() != y.DType():
		return d.invalid("x is %v%v and y %v%v: they must be of one type", x.DType(), x.Shape(), y.DType(), y.Shape())
	}
	return nil
}

func prepareWhere(d *definition, _ Attrs) (kernel, error) {
	return func(c *call) error {
		cond, err := c.tensor(0, "the condition")
		if err != nil {
			return err
		}
		y, err := c.tensor(2, "y")
		if err != nil {
			return err
		}
		if err := d.checkWhere(cond, c.x, y); err != nil {
			return err
		}
		all := []*tensor.Tensor{cond, c.x, y}
		if c.x.DType() == layout.String {
			for i := 0; i < len(all) && err == nil; i += 2 {
				all[i], err = c.besides(all[i], c.x)
			}
		} else {
			err = c.together(all)
		}
		if err != nil {
			return err
		}
		return c.set(tensor.Where(all[0], all[1], all[2]))
	}, nil
}

// besides returns t on other's device. It is for strings, which no other device may be able
// to hold.
func (c *call) besides(t, other *tensor.Tensor) (*tensor.Tensor, error) {
	home := other.Stream()
	if t.Stream().Device() == home.Device() {
		return t, nil
	}
	y, err := t.To(home)
	if err == nil {
		c.temps = append(c.temps, y)
		c.moved(t, home)
	}
	return y, err
}
