package infer

import (
	"slices"

	"github.com/restride/restride/layout"
)

// The rules of the operators that a session runs itself, for inputs with unknown extents.

func transposed(n *Node) {
	n.setElem(0, n.elem(0))
	x, ok := n.shape(0)
	if !ok {
		return
	}
	perm, given := n.list("perm")
	if !given {
		out := slices.Clone(x)
		slices.Reverse(out)
		n.set(0, n.elem(0), out...)
		return
	}
	axes, ok := n.axes(perm, len(x))
	if !ok || len(axes) != len(x) {
		n.fail()
		return
	}
	out := make([]extent, len(x))
	for i, k := range axes {
		out[i] = x[k]
	}
	n.set(0, n.elem(0), out...)
}

// givenAxes returns axes that are input 1 or an attribute. present is false if there are
// none; known is false if their elements are unknown.
func (n *Node) givenAxes() (list []int64, present, known bool) {
	if n.given(1) {
		list, known = n.ints(1)
		return list, true, known
	}
	list, present = n.list("axes")
	return list, present, present
}

func squeezed(n *Node) {
	n.setElem(0, n.elem(0))
	x, ok := n.shape(0)
	list, present, known := n.givenAxes()
	switch {
	case !ok:
	case present && known:
		axes, ok := n.axes(list, len(x))
		if !ok {
			return
		}
		for _, k := range axes {
			if x[k].differs(num(1)) {
				n.fail()
			}
		}
		n.set(0, n.elem(0), without(x, false, axes...)...)
	case !present:
		var ones []int
		for k, e := range x {
			if !e.known {
				return // it may be 1
			}
			if e.n == 1 {
				ones = append(ones, k)
			}
		}
		n.set(0, n.elem(0), without(x, false, ones...)...)
	}
}

func unsqueezed(n *Node) {
	n.setElem(0, n.elem(0))
	x, ok := n.shape(0)
	list, _, known := n.givenAxes()
	if !ok || !known {
		return
	}
	axes, ok := n.axes(list, len(x)+len(list))
	if !ok {
		return
	}
	out := make([]extent, 0, len(x)+len(axes))
	for k := range len(x) + len(axes) {
		if slices.Contains(axes, k) {
			out = append(out, num(1))
		} else {
			out, x = append(out, x[0]), x[1:]
		}
	}
	n.set(0, n.elem(0), out...)
}

func flattened(n *Node) {
	n.set(0, n.elem(0), unknowns(2)...)
	x, ok := n.shape(0)
	if !ok {
		return
	}
	axis := n.int("axis", 1)
	if axis < 0 {
		axis += int64(len(x))
	}
	if axis < 0 || axis > int64(len(x)) {
		n.fail()
		return
	}
	n.set(0, n.elem(0), product(x[:axis]), product(x[axis:]))
}

// reshaped: 0 keeps an extent, and -1 is what is left.
func reshaped(n *Node) {
	n.setElem(0, n.elem(0))
	list, known := n.list("shape")
	if n.given(1) {
		if list, known = n.ints(1); !known {
			if rank, ok := n.count(1); ok && rank <= maxElements {
				n.set(0, n.elem(0), unknowns(int(rank))...)
			}
			return
		}
	}
	if !known {
		return
	}
	x, ranked := n.shape(0)
	keeps := n.int("allowzero", 0) == 0
	out, left := make([]extent, len(list)), -1
	for i, v := range list {
		switch {
		case v == -1 && left < 0:
			left = i
		case v < 0:
			n.fail()
			return
		case v > 0 || !keeps:
			out[i] = num(v)
		case ranked && i >= len(x):
			n.fail()
			return
		case ranked:
			out[i] = x[i]
		}
	}
	if left >= 0 && ranked {
		out[left] = quotient(x, slices.Delete(slices.Clone(out), left, left+1))
	}
	n.set(0, n.elem(0), out...)
}

// quotient returns the product of x over that of y, without the extents that both have.
func quotient(x, y []extent) extent {
	x = slices.Clone(x)
	var rest []extent
	for _, e := range y {
		if k := slices.IndexFunc(x, func(f extent) bool { return e.same(f) && !e.is(0) }); k >= 0 {
			x = slices.Delete(x, k, k+1)
		} else {
			rest = append(rest, e)
		}
	}
	p, q := product(x), product(rest)
	switch {
	case q.is(1):
		return p
	case p.known && q.known && q.n > 0 && p.n%q.n == 0:
		return num(p.n / q.n)
	}
	return extent{}
}

func concatenated(n *Node) {
	n.setElem(0, n.elem(0))
	n.joined(n.elem(0), n.all())
}

// joined sets output 0 to inputs joined along an axis.
func (n *Node) joined(elem layout.DType, inputs []int) {
	var out []extent
	axis := -1
	for j, i := range inputs {
		x, ok := n.shape(i)
		if !ok {
			return
		}
		if j == 0 {
			if axis, ok = n.axis(n.int("axis", 1), len(x)); !ok {
				return
			}
			out = x
			continue
		}
		if len(x) != len(out) {
			n.fail()
			return
		}
		for k := range x {
			if k == axis {
				out[k] = out[k].add(x[k])
			} else {
				out[k] = out[k].meet(x[k])
			}
		}
	}
	if axis >= 0 {
		n.set(0, elem, out...)
	}
}

func gathered(n *Node) {
	n.setElem(0, n.elem(0))
	x, ok := n.shape(0)
	at, also := n.shape(1)
	if !ok || !also {
		return
	}
	if axis, ok := n.axis(n.int("axis", 0), len(x)); ok {
		n.set(0, n.elem(0), slices.Concat(x[:axis], at, x[axis+1:])...)
	}
}

// gatheredND: the last axis of the indices selects along the first axes after the batch.
func gatheredND(n *Node) {
	n.setElem(0, n.elem(0))
	x, ok := n.shape(0)
	at, also := n.shape(1)
	if !ok || !also || len(at) == 0 || !at[len(at)-1].known {
		return
	}
	first := at[len(at)-1].plus(n.int("batch_dims", 0))
	if !first.known || first.n < 0 || first.n > int64(len(x)) {
		n.fail()
		return
	}
	n.set(0, n.elem(0), slices.Concat(at[:len(at)-1], x[first.n:])...)
}

func expanded(n *Node) {
	n.setElem(0, n.elem(0))
	x, ok := n.shape(0)
	if to, known := n.ints(1); ok && known {
		n.set(0, n.elem(0), broadcast(x, nums(to))...)
	}
}

func tiled(n *Node) {
	n.setElem(0, n.elem(0))
	x, ok := n.shape(0)
	if !ok || n.Opset < 6 {
		return
	}
	by, known := n.ints(1)
	if known && len(by) != len(x) {
		n.fail()
		return
	}
	for k := range x {
		if known {
			x[k] = x[k].times(by[k])
		} else {
			x[k] = extent{}
		}
	}
	n.set(0, n.elem(0), x...)
}
