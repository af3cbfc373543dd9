package onnx

import (
	"errors"
	"fmt"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func init() {
	along := definition{inputs: arity{3, 3}, attrs: []string{"axis"}, dataFirst: true, overwrites: true, prepare: prepareScatterElements}
	alongReduced := along
	alongReduced.attrs = []string{"axis", "reduction"}
	register("Scatter", along.versions(change{9, types5}))
	register("ScatterElements", along.versions(change{11, types5}, change{13, types13}), alongReduced.versions(change{16, types13}, change{18, types13}))
	nd := definition{inputs: arity{3, 3}, dataFirst: true, overwrites: true, prepare: prepareScatterND}
	ndReduced := nd
	ndReduced.attrs = []string{"reduction"}
	register("ScatterND", nd.versions(change{11, types5}, change{13, types13}), ndReduced.versions(change{16, types13}, change{18, types13}))
}

func prepareScatterElements(d *definition, attrs Attrs) (kernel, error) {
	axis, err := attrs.IntOr("axis", 0)
	if err != nil {
		return nil, err
	}
	how, err := d.reduction(attrs)
	if err != nil {
		return nil, err
	}
	return func(c *call) error {
		indices, updates, err := c.updates()
		if err != nil {
			return err
		}
		return c.scatterElements(indices, updates, axis, how)
	}, nil
}

func prepareScatterND(d *definition, attrs Attrs) (kernel, error) {
	how, err := d.reduction(attrs)
	if err != nil {
		return nil, err
	}
	return func(c *call) error {
		indices, updates, err := c.updates()
		if err != nil {
			return err
		}
		return c.scatterND(indices, updates, how)
	}, nil
}

// reduction reads the attribute that says how elements and updates are combined.
func (d *definition) reduction(attrs Attrs) (device.Reduction, error) {
	name, err := attrs.StrOr("reduction", "none")
	if err != nil || name == "none" {
		return device.ReduceSet, err
	}
	how, err := device.ParseReduction(name)
	if err != nil || how == device.ReduceSet || d.since < 18 && how > device.ReduceMul {
		return device.ReduceSet, d.invalid("there is no reduction %s", quote.Name(name))
	}
	return how, nil
}

// updates returns inputs 1 and 2.
func (c *call) updates() (indices, updates *tensor.Tensor, err error) {
	if indices, err = c.tensor(1, "the indices"); err == nil {
		updates, err = c.tensor(2, "the updates")
	}
	return indices, updates, err
}

func (c *call) scatterElements(indices, updates *tensor.Tensor, axis int64, how device.Reduction) error {
	at, err := c.d.indexed(c.x, indices, axis)
	if err != nil {
		return err
	}
	return c.scatter(indices, updates, func(y, indices, updates *tensor.Tensor) error {
		return y.PutAlong(at, indices, updates, how, layout.OutOfRangeError)
	})
}

func (c *call) scatterND(indices, updates *tensor.Tensor, how device.Reduction) error {
	if err := c.d.checkIndices(indices, layout.Int64); err != nil {
		return err
	}
	return c.scatter(indices, updates, func(y, indices, updates *tensor.Tensor) error {
		return y.PutND(indices, updates, how, layout.OutOfRangeError)
	})
}

// put writes updates to y.
type put func(y, indices, updates *tensor.Tensor) error

// scatter makes output 0 of the call: input 0 or a copy of it, updated with put.
func (c *call) scatter(indices, updates *tensor.Tensor, put put) error {
	both := []*tensor.Tensor{c.x, updates}
	if err := c.together(both); err != nil {
		return err
	}
	x := both[0]
	var y *tensor.Tensor
	var err error
	whole := tensor.Part{Src: x}
	if left, ok := c.target(x.Stream(), x.DType(), x.Shape(), true, whole); ok {
		y, err = c.into.Overwrite(c.d.name, left...)
	} else if x == c.x && c.overwritable(0) && x.Buffer() != both[1].Buffer() && x.Buffer() != indices.Buffer() {
		y, err = x.Overwrite(c.d.name)
	} else {
		y, err = tensor.Assemble(x.Stream(), c.d.name, x.DType(), x.Shape(), whole)
	}
	if err != nil {
		return err
	}
	if err := put(y, indices, both[1]); err != nil {
		err = layout.Named(fmt.Sprintf("%s to %s of %s by %s", c.d.name, describe(y), describe(both[1]), describe(indices)), err)
		return errors.Join(err, y.Release())
	}
	c.moved(indices, y.Stream())
	c.puts(both[1])
	return c.set(y, nil)
}

// puts records elements written at indices.
func (c *call) puts(elements *tensor.Tensor) {
	n, _ := elements.Shape().Bytes(elements.DType()) // they exist: no overflow; strings have no size
	c.put += n
}
