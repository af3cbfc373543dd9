package infer

import "github.com/restride/restride/layout"

// suppressed (NonMaxSuppression): the number of boxes depends on their elements.
func suppressed(n *Node) { n.set(0, layout.Int64, extent{}, num(3)) }

// regions (RoiAlign): a picture per box of input 1.
func regions(n *Node) { n.pooledRegions(n.int("output_height", 1), n.int("output_width", 1)) }

// maxRegions (MaxRoiPool) has the sizes in one attribute.
func maxRegions(n *Node) {
	size, ok := n.list("pooled_shape")
	if !ok || len(size) != 2 {
		n.fail()
		return
	}
	n.pooledRegions(size[0], size[1])
}

func (n *Node) pooledRegions(height, width int64) {
	count, channels := extent{}, extent{}
	if x, ok := n.ofRank(0, 4); ok {
		channels = x[1]
	}
	if boxes, ok := n.ofRank(1, 2); ok {
		count = boxes[0]
	}
	n.set(0, n.elem(0), count, channels, num(height), num(width))
}

// gridSample: the grid in input 1 has the spatial axes.
func gridSample(n *Node) {
	n.setElem(0, n.elem(0))
	x, ok := n.shape(0)
	grid, also := n.shape(1)
	switch {
	case !ok || !also:
	case len(x) < 3 || len(x) != len(grid):
		n.fail()
	default:
		n.set(0, n.elem(0), append([]extent{x[0].meet(grid[0]), x[1]}, grid[1:len(grid)-1]...)...)
	}
}

// affineGrid: the size in input 1 is that of pictures, with channels.
func affineGrid(n *Node) {
	n.setElem(0, n.elem(0))
	count, known := n.count(1)
	if !known {
		return
	}
	if count != 4 && count != 5 {
		n.fail()
		return
	}
	out := unknowns(int(count))
	if size, ok := n.ints(1); ok {
		out = append(nums(size[:1]), nums(size[2:])...)
		out = append(out, extent{})
	}
	out[count-1] = num(count - 2)
	n.set(0, n.elem(0), out...)
}

// folded (Col2Im): columns of blocks become a picture.
func folded(n *Node) {
	n.setElem(0, n.elem(0))
	x, ok := n.ofRank(0, 3)
	spatial, known := n.count(1)
	if !ok || !known || spatial > maxElements {
		return
	}
	out := append([]extent{x[0], {}}, unknowns(int(spatial))...)
	if block, ok := n.ints(2); ok {
		if p := product(nums(block)); p.known && p.n > 0 {
			out[1] = x[1].over(p.n)
		}
	}
	if size, ok := n.ints(1); ok {
		copy(out[2:], nums(size))
	}
	n.set(0, n.elem(0), out...)
}
