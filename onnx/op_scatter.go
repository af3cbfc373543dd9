package onnx

import (
	"errors"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func init() {
	along := definition{inputs: arity{3, 3}, attrs: []string{"axis"}, dataFirst: true, prepare: prepareScatterElements}
	alongReduced := along
	alongReduced.attrs = []string{"axis", "reduction"}
	register("Scatter", along.versions(change{9, types5}))
	register("ScatterElements", along.versions(change{11, types5}, change{13, types13}), alongReduced.versions(change{16, types13}, change{18, types13}))
	nd := definition{inputs: arity{3, 3}, dataFirst: true, prepare: prepareScatterND}
	ndReduced := nd
	ndReduced.attrs = []string{"reduction"}
	register("ScatterND", nd.versions(change{11, types5}, change{13, types13}), ndReduced.versions(change{16, types13}, change{18, types13}))
}

// ScatterElements returns x with each element of updates at the place that the index at the
// same position of indices names along an axis (ONNX ScatterElements-11 to -18). indices,
// int32 or int64, and updates, of x's type, have one shape; on other axes that must not be
// longer than x. axis lies in [-rank, rank-1], and an index in [-n, n-1]. The result is a
// copy, unless a session may write to x. What several indices name is as tensor.Tensor.Put
// says; errors are that of tensor.Tensor.Gather, too. By another reduction than device.Set
// (of opset 16; Min and Max of 18) updates are added and so on, as tensor.Tensor.Put does.
func ScatterElements(x *tensor.Tensor, v Opset, indices, updates *tensor.Tensor, axis int64, how device.Reduction) (*tensor.Tensor, error) {
	return first(direct("ScatterElements", v, x, 1, func(c *call) error { return c.scatterElements(indices, updates, axis, how) }))
}

// ScatterND returns x with slices of updates at the places that tuples of indices name (ONNX
// ScatterND-11 to -18). The last axis of indices, an int64 tensor, holds a tuple: an index
// for each axis of x, or for the first of them. updates, of x's type, has the axes of
// indices but for the last, and then those of x that have no index. What ScatterElements
// says of an index and of its result holds here, too.
func ScatterND(x *tensor.Tensor, v Opset, indices, updates *tensor.Tensor, how device.Reduction) (*tensor.Tensor, error) {
	return first(direct("ScatterND", v, x, 1, func(c *call) error { return c.scatterND(indices, updates, how) }))
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

// reduction reads the attribute of what becomes of an element and its updates.
func (d *definition) reduction(attrs Attrs) (device.Reduction, error) {
	name, err := attrs.StrOr("reduction", "none")
	if err != nil || name == "none" {
		return device.Set, err
	}
	how, err := device.ParseReduction(name)
	if err != nil || how == device.Set || !d.has(how) {
		return device.Set, d.invalid("there is no reduction %s", quote.Name(name))
	}
	return how, nil
}

// has reports whether the version has a reduction.
func (d *definition) has(how device.Reduction) bool {
	return how == device.Set || how.Valid() && (d.since >= 18 || d.since >= 16 && how <= device.Mul)
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
	return c.scatter(indices, updates, how, func(y, indices, updates *tensor.Tensor) error {
		return y.PutAlongAs(c.d.name, at, indices, updates, how)
	})
}

func (c *call) scatterND(indices, updates *tensor.Tensor, how device.Reduction) error {
	if err := c.d.checkIndices(indices, layout.Int64); err != nil {
		return err
	}
	return c.scatter(indices, updates, how, func(y, indices, updates *tensor.Tensor) error {
		return y.PutNDAs(c.d.name, indices, updates, how)
	})
}

// put writes updates to y.
type put func(y, indices, updates *tensor.Tensor) error

// scatter makes output 0 of the call: input 0, or a copy of it, to which put writes.
func (c *call) scatter(indices, updates *tensor.Tensor, how device.Reduction, put put) error {
	if updates == nil {
		return c.d.invalid("the updates are missing")
	}
	if !c.d.has(how) {
		return c.d.invalid("there is no reduction %v", how)
	}
	both := []*tensor.Tensor{c.x, updates}
	if err := c.together(both); err != nil {
		return err
	}
	x := both[0]
	var y *tensor.Tensor
	var err error
	if x == c.x && len(c.in) > 0 && c.overwritable(0) && x.Buffer() != both[1].Buffer() && x.Buffer() != indices.Buffer() {
		y, err = x.Overwrite(c.d.name)
	} else {
		y, err = tensor.Assemble(x.Stream(), c.d.name, x.DType(), x.Shape(), tensor.Part{Src: x})
	}
	if err != nil {
		return err
	}
	if err := put(y, indices, both[1]); err != nil {
		return errors.Join(err, y.Release())
	}
	c.moved(indices, y.Stream())
	c.puts(both[1])
	return c.set(y, nil)
}

// puts notes that elements were put where indices say.
func (c *call) puts(elements *tensor.Tensor) {
	n, _ := elements.Shape().Bytes(elements.DType()) // they exist: no overflow; strings have no size
	c.put += n
}
