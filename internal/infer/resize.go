package infer

// resized: by scales or to sizes.
func resized(n *Node) {
	elem := n.elem(0)
	n.setElem(0, elem)
	x, ok := n.shape(0)
	if !ok {
		return
	}
	scales, sizes := 2, 3
	if n.Opset < 11 {
		scales, sizes = 1, -1
	}
	axes, ok := n.resizedAxes(len(x))
	if !ok {
		return
	}
	out := append([]extent(nil), x...)
	for _, k := range axes {
		out[k] = extent{}
	}
	switch count, known := n.count(scales); {
	case !n.given(scales) || known && count == 0:
		if list, ok := n.ints(sizes); ok && n.stretches() {
			n.place(out, axes, nums(list))
		}
	case known:
		if by, ok := n.floats(scales); ok {
			n.scale(out, x, axes, by)
		}
	}
	n.set(0, elem, out...)
}

func (n *Node) resizedAxes(rank int) ([]int, bool) {
	list, ok := n.list("axes")
	if !ok {
		for k := range rank {
			list = append(list, int64(k))
		}
	}
	return n.axes(list, rank)
}

func (n *Node) stretches() bool {
	policy := n.str("keep_aspect_ratio_policy")
	return policy == "" || policy == "stretch"
}

// place sets the extents of axes.
func (n *Node) place(out []extent, axes []int, list []extent) {
	if len(list) != len(axes) {
		n.fail()
		return
	}
	for i, k := range axes {
		out[k] = list[i]
	}
}

// scale multiplies the extents of axes, in float32 as ONNX does.
func (n *Node) scale(out, x []extent, axes []int, by []float64) {
	if len(by) != len(axes) {
		n.fail()
		return
	}
	const most = 1 << 40
	for i, k := range axes {
		s := float32(by[i])
		switch whole := int64(s); {
		case !(s > 0) || s > most:
			n.fail()
		case float32(whole) == s:
			out[k] = x[k].times(whole)
		case x[k].known && x[k].n < most:
			out[k] = num(int64(float32(x[k].n) * s))
		}
	}
}

// upsampled: the scales are input 1 or, before opset 9, an attribute.
func upsampled(n *Node) {
	if n.Opset >= 9 {
		n.Opset = 9
		resized(n)
		return
	}
	n.setElem(0, n.elem(0))
	x, ok := n.shape(0)
	list, found, err := n.Attrs.Floats("scales")
	if err != nil {
		n.fail()
	}
	if !ok || !found || err != nil {
		return
	}
	by := make([]float64, len(list))
	for i, v := range list {
		by[i] = float64(v)
	}
	axes, _ := n.resizedAxes(len(x))
	out := append([]extent(nil), x...)
	n.scale(out, x, axes, by)
	n.set(0, n.elem(0), out...)
}
