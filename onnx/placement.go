package onnx

import (
	"fmt"
	"slices"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// side says where a use needs its value.
type side uint8

const (
	onDevice side = iota
	onHost
	anywhere
)

func (u use) side() side {
	switch {
	case u.unit == nil && u.onHost:
		return onHost
	case u.unit == nil:
		return onDevice
	case u.unit.handed>>u.input&1 == 1:
		return anywhere
	case (u.unit.d.host|u.unit.single)>>u.input&1 == 1:
		return onHost
	case u.unit.d.shapeOnly:
		return anywhere
	case u.unit.host:
		return onHost
	}
	return onDevice
}

// place decides which nodes run on the host: those that compute shapes and axes.
func (c *compiler) place() error {
	c.markSingles()
	for _, u := range c.nodes {
		for i, name := range u.in {
			if u.d.either>>i&1 == 1 && c.bornOnHost(name) {
				u.single |= 1 << i
			}
		}
	}
	for _, u := range slices.Backward(c.nodes) {
		if u.control != nil {
			if err := c.wantControl(u); err != nil {
				return fmt.Errorf("%v: %w", u, err)
			}
		}
		u.host = !u.d.opaque && slices.ContainsFunc(u.outs, func(out string) bool {
			return c.readOnHost(out)
		})
	}
	for _, u := range c.nodes {
		u.host = u.host || c.madeOnHost(u)
		if u.control != nil {
			if err := c.placeControl(u); err != nil {
				return fmt.Errorf("%v: %w", u, err)
			}
		}
	}
	return nil
}

// assign decides which nodes an engine runs, and refuses those that nothing runs.
func (c *compiler) assign() error {
	if err := c.engines(); err != nil {
		return err
	}
	if err := c.checkMissing(); err != nil {
		return err
	}
	return c.group()
}

// readOnHost reports whether a use reads a value on the host.
func (c *compiler) readOnHost(name string) bool {
	return slices.ContainsFunc(c.uses[name], func(use use) bool { return use.side() == onHost })
}

// onHost reports whether a value is on the host in any session, or is a constant that can be
// there at no cost.
func (c *compiler) onHost(name string) bool {
	maker := c.maker[name]
	switch {
	case name == "":
		return false
	case maker == nil:
		return c.hosted[name] || c.handable(name)
	case maker.constant != nil:
		return c.few[name]
	case maker.control != nil:
		return maker.control.onHost[slices.Index(maker.outs, name)]
	}
	return maker.host
}

// handable reports whether a value is a constant so small that graphs in nodes get copies of
// their own.
func (c *compiler) handable(name string) bool {
	maker := c.maker[name]
	return c.few[name] && (maker != nil && maker.constant != nil || maker == nil && c.isConstant(name))
}

// bornOnHost reports whether a value is a constant or comes from operators that run on the
// host: shapes and arithmetic on them.
func (c *compiler) bornOnHost(name string) bool {
	for {
		maker := c.maker[name]
		switch {
		case maker == nil:
			return name != "" && (c.isConstant(name) || c.around != nil && c.around(name))
		case maker.control != nil:
			return c.bornInside(maker, name)
		case maker.constant != nil, maker.d.arithmetic, maker.d.shapeOnly, maker.d.generates:
			return true
		case maker.d.opaque || len(maker.in) == 0:
			return false
		}
		name = maker.in[0]
	}
}

// constants returns the constants that nodes use, dense and sparse, by name.
func (c *compiler) constants() map[string]any {
	if c.held != nil {
		return c.held
	}
	all := map[string]any{}
	for i := range c.graph.Initializers {
		if t := &c.graph.Initializers[i]; c.isConstant(t.Name) {
			all[t.Name] = t
		}
	}
	for i := range c.graph.SparseInitializers {
		if t := &c.graph.SparseInitializers[i]; c.isConstant(t.Values.Name) {
			all[t.Values.Name] = t
		}
	}
	for _, u := range c.nodes {
		if u.constant != nil {
			all[u.outs[0]] = u.constant
		}
	}
	c.held = all
	return all
}

// placeConstants loads each constant where it is needed. Shapes, axes and values used to
// compute them belong on the host: otherwise each run would read them back from the device.
func (c *compiler) placeConstants() error {
	for i := range c.graph.Initializers {
		t := &c.graph.Initializers[i]
		if _, err := c.hold(t.Name, t); err != nil {
			return err
		}
	}
	for i := range c.graph.SparseInitializers {
		s := &c.graph.SparseInitializers[i]
		t, err := dense("graph", "sparse initializer "+quote.Name(s.Values.Name), s)
		if err == nil {
			_, err = c.hold(s.Values.Name, t)
		}
		if err != nil {
			return err
		}
	}
	for i := range c.p.inputs {
		if slot, ok := c.hostSlots[c.p.inputs[i].name]; ok {
			c.p.inputs[i].host = slot
		}
	}
	rest := c.nodes[:0]
	for _, u := range c.nodes {
		if u.constant == nil {
			rest = append(rest, u)
			continue
		}
		n := NodeReport{Graph: u.path, Index: u.index, Name: u.node.Name, Op: u.d.name, OutputInfo: OutputInfo{Output: u.outs[0], Type: u.constant.Type, Shape: u.constant.Dims}}
		x, err := c.hold(u.outs[0], u.constant)
		if err != nil {
			return err
		}
		n.Kind, n.Why = tensor.Transfer, "a constant: loaded once, with the session"
		if x == nil {
			n.Why = "a constant that nothing here uses: not loaded"
		} else {
			n.Bytes, n.Host = x.Verdict().Bytes, x.Stream() == tensor.Host()
		}
		c.p.folded = append(c.p.folded, n)
	}
	c.nodes = rest
	return nil
}

// madeOnHost reports whether all elements that a node reads are on the host in any session:
// shapes, and values computed from them. For arithmetic, small constants also qualify.
func (c *compiler) madeOnHost(u *unit) bool {
	if u.d.opaque {
		return false
	}
	if u.d.shapeOnly || u.d.generates || c.fillsForArithmetic(u) {
		return true
	}
	born := u.d.arithmetic
	for i, name := range u.in {
		if name == "" || u.d.host>>i&1 == 1 {
			continue
		}
		switch maker := c.maker[name]; {
		case maker == nil && c.hosted[name], maker != nil && maker.control != nil && c.onHost(name):
			born = born || i == 0 || !u.d.dataFirst
		case maker == nil && u.d.arithmetic && c.isSmallDefault(name):
		case maker == nil && c.isConstant(name), maker != nil && maker.constant != nil:
			if u.d.arithmetic && c.large[name] {
				return false
			}
		case maker != nil && maker.host:
			born = born || i == 0 || !u.d.dataFirst
		default:
			return false
		}
	}
	return born
}

// isSmallDefault reports whether a value is the default of an input and has few elements.
// In file formats before 4 all constants are such defaults.
func (c *compiler) isSmallDefault(name string) bool {
	large, has := c.large[name]
	return has && !large
}

// fillsForArithmetic reports whether a node makes a tensor from shapes alone that only
// arithmetic reads.
func (c *compiler) fillsForArithmetic(u *unit) bool {
	if len(u.in) == 0 || u.d.host != 1<<len(u.in)-1 {
		return false
	}
	for _, use := range c.uses[u.outs[0]] {
		if use.unit == nil || !use.unit.d.arithmetic {
			return false
		}
	}
	return true
}

// isConstant reports whether a value that no node makes is an initializer that no input can
// replace. The first slots belong to inputs.
func (c *compiler) isConstant(name string) bool {
	slot := c.slots[name]
	return slot >= len(c.graph.Inputs) || c.p.inputs[slot].fixed
}

// hold loads a constant to the host, the device or both, wherever it is used, and returns
// the copy used as data; nil if nothing uses it.
func (c *compiler) hold(name string, t *model.Tensor) (*tensor.Tensor, error) {
	var wanted [3]bool
	for _, use := range c.uses[name] {
		wanted[use.side()] = true
	}
	dev, host := wanted[onDevice], wanted[onHost] || wanted[anywhere] && !wanted[onDevice]
	load := func(on *tensor.Stream, slot int) (*tensor.Tensor, error) {
		x, err := c.load(on, t)
		if err == nil {
			err = tensor.Keep(x) // belongs to the session, whatever scope is active
		}
		if err != nil {
			return nil, fmt.Errorf("constant %s: %w", quote.Name(name), err)
		}
		k := held{slot: slot, value: x}
		if c.explains {
			k.from = t
		}
		c.p.constants = append(c.p.constants, k)
		return x, nil
	}
	slot := c.slots[name]
	var x *tensor.Tensor
	var err error
	if dev {
		x, err = load(c.p.stream, slot)
	}
	if host && err == nil {
		if dev {
			slot = len(c.slots) + len(c.hostSlots)
			c.hostSlots[name] = slot
		}
		var copied *tensor.Tensor
		if copied, err = load(tensor.Host(), slot); x == nil {
			x = copied
		}
	}
	return x, err
}

// load loads a constant. An explanation loads only what the host reads; other constants,
// and those in missing files, get dry memory that costs nothing.
func (c *compiler) load(on *tensor.Stream, t *model.Tensor) (*tensor.Tensor, error) {
	if !c.explains || t.Type == layout.String {
		return Load(on, t)
	}
	if on == tensor.Host() {
		if x, err := Load(on, t); err == nil || t.External == nil {
			return x, err
		}
	}
	return tensor.Empty(c.p.stream, t.Type, t.Dims...)
}

// markSingles records which constants are large, and which uses of one-element constants
// need them on the host: there a gather of one index is a view, on the device a copy.
func (c *compiler) markSingles() {
	mark := func(name string, shape layout.Shape) {
		n, err := shape.Count()
		c.few[name] = err == nil && n <= fewHanded
		if c.large[name] = err != nil || n > fewElements; err != nil || n != 1 {
			return
		}
		for _, use := range c.uses[name] {
			if use.unit != nil {
				use.unit.single |= use.unit.d.single & (1 << use.input)
			}
		}
	}
	for i := range c.graph.Initializers {
		mark(c.graph.Initializers[i].Name, c.graph.Initializers[i].Dims)
	}
	for i := range c.graph.SparseInitializers {
		mark(c.graph.SparseInitializers[i].Values.Name, c.graph.SparseInitializers[i].Dims)
	}
	for _, u := range c.nodes {
		if u.constant != nil {
			mark(u.outs[0], u.constant.Dims)
		}
	}
}
