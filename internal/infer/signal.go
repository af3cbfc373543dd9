package infer

import "github.com/restride/restride/layout"

// fourier (DFT): the last axis holds real and imaginary parts.
func fourier(n *Node) {
	n.setElem(0, n.elem(0))
	x, ok := n.shape(0)
	if !ok {
		return
	}
	if len(x) < 2 {
		n.fail()
		return
	}
	at := n.int("axis", 1)
	if n.Opset >= 20 {
		if at = -2; n.given(2) {
			if at, ok = n.scalar(2); !ok {
				n.set(0, n.elem(0), unknowns(len(x))...)
				return
			}
		}
	}
	axis, ok := n.axis(at, len(x))
	if !ok || axis == len(x)-1 {
		n.fail()
		return
	}
	if n.given(1) {
		x[axis] = extent{}
		if length, ok := n.scalar(1); ok {
			x[axis] = num(length)
		}
	}
	inverse, half := n.flag("inverse"), n.flag("onesided")
	x[len(x)-1] = num(2)
	switch {
	case half && inverse:
		if x[len(x)-1] = num(1); !n.given(1) {
			x[axis] = x[axis].plus(-1).times(2)
		}
	case half:
		x[axis] = x[axis].over(2).plus(1)
	}
	n.set(0, n.elem(0), x...)
}

// frames (STFT): a spectrum per frame of a signal.
func frames(n *Node) {
	n.setElem(0, n.elem(0))
	batch, count, length := extent{}, extent{}, extent{}
	if v, ok := n.scalar(3); ok && n.given(3) {
		length = num(v)
	} else if w, ok := n.ofRank(2, 1); ok {
		length = w[0]
	}
	bins := length
	if n.int("onesided", 1) != 0 {
		bins = length.over(2).plus(1)
	}
	if x, ok := n.shape(0); ok && (len(x) == 2 || len(x) == 3) {
		batch = x[0]
		if step, ok := n.scalar(1); ok && length.known {
			count = x[1].plus(-length.n).over(step).plus(1)
		}
	} else if ok {
		n.fail()
	}
	n.set(0, n.elem(0), batch, count, bins, num(2))
}

// taper (HannWindow and others): input 0 is the number of elements.
func taper(n *Node) {
	size := extent{}
	if v, ok := n.scalar(0); ok {
		size = num(v)
	}
	n.set(0, n.dtype("output_datatype", layout.Float32), size)
}

// melWeights: [bins of the spectrum, bands].
func melWeights(n *Node) {
	bins, bands := extent{}, extent{}
	if v, ok := n.scalar(1); ok {
		bins = num(v).over(2).plus(1)
	}
	if v, ok := n.scalar(0); ok {
		bands = num(v)
	}
	n.set(0, n.dtype("output_datatype", layout.Float32), bins, bands)
}

// counted (Range): the number of elements, if the inputs are known.
func counted(n *Node) {
	size := extent{}
	from, ok := n.scalar(0)
	to, also := n.scalar(1)
	by, with := n.scalar(2)
	if ok && also && with && by != 0 {
		if by < 0 {
			from, to, by = to, from, -by
		}
		size = num(to).plus(-from).overUp(by)
		if size.known && size.n < 0 {
			size = num(0)
		}
	}
	n.set(0, n.elem(0), size)
}
