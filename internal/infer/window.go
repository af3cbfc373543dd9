package infer

import "github.com/restride/restride/layout"

// window is how a convolution or pool moves over its spatial axes.
type window struct {
	kernel              []extent
	strides, dilations  []int64
	before, after       []int64 // padding
	auto                string
	up                  bool    // a last window may begin inside and end outside
	adjust, outputShape []int64 // of a transposed convolution
}

// window reads the attributes of a window over spatial axes. kernel holds extents that the
// weights give, or nil.
func (n *Node) window(spatial int, kernel []extent) (w window, ok bool) {
	if size, ok := n.list("kernel_shape"); ok {
		if len(size) != spatial {
			n.fail()
			return w, false
		}
		for i, k := range size {
			if kernel != nil && kernel[i].differs(num(k)) || k < 1 {
				n.fail()
				return w, false
			}
		}
		kernel = nums(size)
	}
	if kernel == nil {
		return w, false
	}
	w = window{kernel: kernel, auto: n.str("auto_pad"), up: n.flag("ceil_mode")}
	w.strides, w.dilations = n.steps("strides", spatial), n.steps("dilations", spatial)
	pads, ok := n.list("pads")
	if !ok || w.auto != "" && w.auto != "NOTSET" {
		pads = make([]int64, 2*spatial)
	}
	if len(pads) != 2*spatial {
		n.fail()
		return w, false
	}
	w.before, w.after = pads[:spatial], pads[spatial:]
	switch w.auto {
	case "", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER":
	default:
		n.fail()
	}
	return w, !n.bad
}

// steps returns an attribute with a positive number per spatial axis, 1 if it is absent.
func (n *Node) steps(name string, spatial int) []int64 {
	list, ok := n.list(name)
	if !ok {
		list = make([]int64, spatial)
		for i := range list {
			list[i] = 1
		}
	}
	if len(list) != spatial {
		n.fail()
		return make([]int64, spatial)
	}
	for _, v := range list {
		if v < 1 {
			n.fail()
		}
	}
	return list
}

func (w *window) same() bool { return w.auto == "SAME_UPPER" || w.auto == "SAME_LOWER" }

// size returns the number of elements from a window's first to its last.
func (w *window) size(i int) extent {
	if !w.kernel[i].known {
		return extent{}
	}
	return w.kernel[i].plus(-1).times(w.dilations[i]).plus(1)
}

// covers reports whether windows leave no gaps. Implementations differ in what auto_pad means
// where they do.
func (w *window) covers(i int) bool {
	size := w.size(i)
	return size.known && size.n >= w.strides[i]
}

// slide returns the number of windows along a spatial axis.
func (w *window) slide(i int, x extent) extent {
	s, size := w.strides[i], w.size(i)
	switch {
	case w.same() && w.up && !w.covers(i):
		return extent{}
	case w.same():
		return x.overUp(s)
	case !size.known:
		return extent{}
	}
	free := x.plus(w.before[i]).plus(w.after[i]).plus(-size.n)
	if free.known && free.n < 0 {
		return extent{}
	}
	if !w.up || s == 1 && w.after[i] == 0 {
		return free.over(s).plus(1)
	}
	count, begin := free.overUp(s).plus(1), x.plus(w.before[i])
	if !count.known || !begin.known || count.plus(-1).times(s).n >= begin.n {
		return extent{} // the last window may lie in the padding: implementations differ
	}
	return count
}

// spread is the inverse of slide: it returns the extent that a transposed convolution makes of x.
func (w *window) spread(i int, x extent) extent {
	size := w.size(i)
	switch {
	case w.outputShape != nil:
		return num(w.outputShape[i])
	case w.same() && w.covers(i) && w.adjust[i] == 0:
		return x.times(w.strides[i])
	case w.same(), !size.known:
		return extent{}
	}
	return x.times(w.strides[i]).plus(size.n - w.strides[i]).plus(w.adjust[i]).plus(-w.before[i]).plus(-w.after[i])
}

// convolved returns the rule of a convolution of input x by the weights in another input.
func convolved(x, weights int, elem func(n *Node) layout.DType) rule {
	return func(n *Node) {
		n.setElem(0, elem(n))
		in, ok := n.images(x)
		if !ok {
			return
		}
		spatial := len(in) - 2
		last := n.flag("channels_last")
		if last {
			in = channelsFirst(in)
		}
		out := append([]extent{in[0]}, unknowns(spatial+1)...)
		var kernel []extent
		if w, ok := n.ofRank(weights, len(in)); ok {
			out[1], kernel = w[0], w[2:]
		}
		if w, ok := n.window(spatial, kernel); ok {
			for i := range spatial {
				out[2+i] = w.slide(i, in[2+i])
			}
		}
		if last {
			out = channelsLast(out)
		}
		n.set(0, elem(n), out...)
	}
}

// images returns the extents of an input: batch, channels and at least one spatial axis, or with
// the channels last. Fewer axes are a contradiction.
func (n *Node) images(i int) ([]extent, bool) {
	in, ok := n.shape(i)
	if ok && len(in) < 3 {
		n.fail()
		return nil, false
	}
	return in, ok
}

func channelsFirst(s []extent) []extent {
	return append([]extent{s[0], s[len(s)-1]}, s[1:len(s)-1]...)
}

func channelsLast(s []extent) []extent {
	return append(append([]extent{s[0]}, s[2:]...), s[1])
}

// transposedConv: the weights are [C, M/group, ...].
func transposedConv(n *Node) {
	elem := n.elem(0)
	n.setElem(0, elem)
	in, ok := n.images(0)
	if !ok {
		return
	}
	spatial := len(in) - 2
	out := append([]extent{in[0]}, unknowns(spatial+1)...)
	var kernel []extent
	if w, ok := n.ofRank(1, len(in)); ok {
		out[1], kernel = w[1].times(n.int("group", 1)), w[2:]
	}
	if w, ok := n.window(spatial, kernel); ok {
		w.adjust, _ = n.list("output_padding")
		if w.adjust == nil {
			w.adjust = make([]int64, spatial)
		}
		w.outputShape, _ = n.list("output_shape")
		if k := len(w.outputShape); k == spatial+2 {
			w.outputShape = w.outputShape[2:]
		}
		if len(w.adjust) != spatial || w.outputShape != nil && len(w.outputShape) != spatial {
			n.fail()
			return
		}
		for i := range spatial {
			out[2+i] = w.spread(i, in[2+i])
		}
	}
	n.set(0, elem, out...)
}

// pool returns the rule of a pool over the spatial axes of input 0, with the channels last if
// last is set or the node says so.
func pool(last bool) rule {
	return func(n *Node) {
		for i := range n.Outputs {
			elem := n.elem(0)
			if i == 1 { // MaxPool's indices
				elem = layout.Int64
			}
			n.setElem(i, elem)
		}
		in, ok := n.images(0)
		if !ok {
			return
		}
		spatial := len(in) - 2
		last := last || n.flag("channels_last")
		if last {
			in = channelsFirst(in)
		}
		out := append([]extent{in[0], in[1]}, unknowns(spatial)...)
		if w, ok := n.window(spatial, nil); ok {
			for i := range spatial {
				out[2+i] = w.slide(i, in[2+i])
			}
		}
		if last {
			out = channelsLast(out)
		}
		n.set(0, n.elem(0), out...)
		n.set(1, layout.Int64, out...)
	}
}

// globalPool: one element per channel.
func globalPool(n *Node) {
	elem := n.elem(0)
	n.setElem(0, elem)
	in, ok := n.shape(0)
	if !ok {
		return
	}
	if len(in) < 2 {
		n.fail()
		return
	}
	last := n.flag("channels_last")
	out := append([]extent(nil), in...)
	for i := range out {
		if channel := i == 1 && !last || i == len(out)-1 && last; i > 0 && !channel {
			out[i] = num(1)
		}
	}
	n.set(0, elem, out...)
}

// unpool: the shape is an input, or what the window makes of input 0.
func unpool(n *Node) {
	elem := n.elem(0)
	n.setElem(0, elem)
	in, ok := n.shape(0)
	if !ok {
		return
	}
	if n.given(2) {
		if shape, ok := n.ints(2); ok {
			n.set(0, elem, nums(shape)...)
		} else {
			n.set(0, elem, unknowns(len(in))...)
		}
		return
	}
	if len(in) < 3 {
		n.fail()
		return
	}
	w, ok := n.window(len(in)-2, nil)
	if !ok {
		return
	}
	w.adjust = make([]int64, len(in)-2)
	out := []extent{in[0], in[1]}
	for i, x := range in[2:] {
		out = append(out, w.spread(i, x))
	}
	n.set(0, elem, out...)
}
