package infer

import "github.com/restride/restride/layout"

// split: sizes are input 1 or an attribute, or equal parts are made.
func split(n *Node) {
	for i := range n.Outputs {
		n.setElem(i, n.elem(0))
	}
	x, ok := n.shape(0)
	if !ok {
		return
	}
	axis, ok := n.axis(n.int("axis", 0), len(x))
	if !ok {
		return
	}
	sizes, known := n.list("split")
	if n.given(1) {
		sizes, known = n.ints(1)
		if !known {
			sizes = nil
		}
	}
	if known && len(sizes) != n.Outputs {
		n.fail()
		return
	}
	whole := x[axis]
	for i := range n.Outputs {
		switch {
		case known:
			x[axis] = num(sizes[i])
		case n.given(1):
			x[axis] = extent{}
		default:
			x[axis] = part(whole, i, n.Outputs)
		}
		n.set(i, n.elem(0), x...)
	}
}

// part returns one of equal parts; the last may be smaller.
func part(whole extent, i, parts int) extent {
	each := whole.overUp(int64(parts))
	if !whole.known {
		return extent{}
	}
	return num(max(min(each.n, whole.n-int64(i)*each.n), 0))
}

// sliced: starts, ends, axes and steps are inputs or, before opset 10, attributes.
func sliced(n *Node) {
	n.setElem(0, n.elem(0))
	x, ok := n.shape(0)
	if !ok {
		return
	}
	starts, ends, list, steps, known := n.bounds()
	if !known {
		n.set(0, n.elem(0), unknowns(len(x))...)
		return
	}
	if list == nil {
		for k := range starts {
			list = append(list, int64(k))
		}
	}
	axes, ok := n.axes(list, len(x))
	if !ok || len(starts) != len(axes) || len(ends) != len(axes) || steps != nil && len(steps) != len(axes) {
		n.fail()
		return
	}
	for i, k := range axes {
		step := int64(1)
		if steps != nil {
			step = steps[i]
		}
		x[k] = cut(x[k], starts[i], ends[i], step)
	}
	n.set(0, n.elem(0), x...)
}

func (n *Node) bounds() (starts, ends, axes, steps []int64, known bool) {
	if n.Opset < 10 {
		starts, known = n.list("starts")
		ends, _ = n.list("ends")
		axes, _ = n.list("axes")
		return starts, ends, axes, nil, known
	}
	var lists [4][]int64
	for i := range lists {
		if !n.given(i + 1) {
			continue
		}
		list, ok := n.ints(i + 1)
		if !ok {
			return nil, nil, nil, nil, false
		}
		lists[i] = list
	}
	return lists[0], lists[1], lists[2], lists[3], true
}

// cut returns the number of elements of a slice.
func cut(x extent, start, end, step int64) extent {
	const far = 1 << 31 // as exporters write "to the end"
	if !x.known {
		if step == 1 && start == 0 && end >= far-1 {
			return x
		}
		return extent{}
	}
	if step == 0 || step < -far || step > far || step < 0 && start < -x.n { // implementations differ
		return extent{}
	}
	inside := func(v, low, high int64) int64 {
		if v < 0 {
			v = num(v).plus(x.n).n
		}
		return max(low, min(v, high))
	}
	if step > 0 {
		return num(max(inside(end, 0, x.n)-inside(start, 0, x.n), 0)).overUp(step)
	}
	return num(max(inside(start, -1, x.n-1)-inside(end, -1, x.n-1), 0)).overUp(-step)
}

// padded: pads are input 1 or an attribute.
func padded(n *Node) {
	n.setElem(0, n.elem(0))
	x, ok := n.shape(0)
	if !ok {
		return
	}
	pads, known := n.list("pads")
	if n.given(1) {
		pads, known = n.ints(1)
	} else if old, ok := n.list("paddings"); ok {
		pads, known = old, true
	}
	list, all := []int64(nil), true
	if n.given(3) {
		var ok bool
		if list, ok = n.ints(3); !ok {
			known = false
		}
		all = false
	}
	if !known {
		n.set(0, n.elem(0), unknowns(len(x))...)
		return
	}
	if all {
		for k := range x {
			list = append(list, int64(k))
		}
	}
	axes, ok := n.axes(list, len(x))
	if !ok || len(pads) != 2*len(axes) {
		n.fail()
		return
	}
	for i, k := range axes {
		x[k] = x[k].plus(pads[i]).plus(pads[len(axes)+i])
	}
	n.set(0, n.elem(0), x...)
}

// blocks returns the rule of DepthToSpace and SpaceToDepth.
func blocks(toDepth bool) rule {
	return func(n *Node) {
		n.setElem(0, n.elem(0))
		x, ok := n.ofRank(0, 4)
		b := n.int("blocksize", 0)
		if b < 1 || b > 1<<20 {
			n.fail()
		}
		if !ok || n.bad {
			return
		}
		if toDepth {
			n.set(0, n.elem(0), x[0], x[1].times(b*b), x[2].over(b), x[3].over(b))
		} else {
			n.set(0, n.elem(0), x[0], x[1].over(b*b), x[2].times(b), x[3].times(b))
		}
	}
}

// shapeOf: as many numbers as there are axes.
func shapeOf(n *Node) {
	n.set(0, layout.Int64, extent{})
	x, ok := n.shape(0)
	if !ok {
		return
	}
	rank := int64(len(x))
	clamp := func(v int64) int64 {
		if v < 0 {
			v += rank
		}
		return max(0, min(v, rank))
	}
	n.set(0, layout.Int64, num(max(clamp(n.int("end", rank))-clamp(n.int("start", 0)), 0)))
}

// places (NonZero): [rank, number of elements that are not 0].
func places(n *Node) {
	n.set(0, layout.Int64, extent{}, extent{})
	if x, ok := n.shape(0); ok {
		n.set(0, layout.Int64, num(int64(len(x))), extent{})
	}
}

// filled (ConstantOfShape): input 0 is the shape.
func filled(n *Node) {
	elem := layout.Float32
	if v, ok, err := n.Attrs.Tensor("value"); err != nil {
		n.fail()
	} else if ok {
		elem = v.Type
	}
	n.setElem(0, elem)
	if shape, ok := n.ints(0); ok {
		n.set(0, elem, nums(shape)...)
	} else if rank, ok := n.count(0); ok && rank <= maxElements {
		n.set(0, elem, unknowns(int(rank))...)
	}
}

// oneHot: a new axis of as many elements as input 1 says.
func oneHot(n *Node) {
	n.setElem(0, n.elem(2))
	x, ok := n.shape(0)
	if !ok {
		return
	}
	axis, ok := n.axis(n.int("axis", -1), len(x)+1)
	if !ok {
		return
	}
	depth := extent{}
	if d, ok := n.scalar(1); ok {
		depth = num(d)
	}
	out := append(append(append([]extent{}, x[:axis]...), depth), x[axis:]...)
	n.set(0, n.elem(2), out...)
}
