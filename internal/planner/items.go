package planner

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/restride/restride/internal/nest"
)

// Division of work into blocks of items, one after the other in dst's order.

// elementSpecs lists the kernels of Element and Fill.
func elementSpecs() []Spec {
	var all []Spec
	for _, cpu := range []bool{false, true} {
		for _, bits := range []uint8{8, 16, 32, 64, 128} {
			for _, wide := range []bool{false, true} {
				if !cpu { // there, form Block does this
					all = append(all, Spec{Form: Element, DstBits: bits, SrcBits: bits, Wide: wide})
				}
				all = append(all, Spec{Form: Fill, DstBits: bits, Wide: wide, CPUTarget: cpu})
			}
		}
	}
	return all
}

// itemsPerBlock is the number of items that a work-group processes at a time.
const itemsPerBlock = 4 * GroupSize

// offerElements offers a form for single elements.
func (p *problem) offerElements(f Form) (offer, refusal) {
	var k parameters
	spec, err := p.planElements(f, &k)
	return laid(spec, &k, err)
}

// planElements makes an item of each element.
func (p *problem) planElements(f Form, k *parameters) (Spec, error) {
	spec := p.spec(f)
	err := k.cutElements(spec, p.innermostFirst())
	spec.Wide = !p.manyAxes && k.wide()
	return spec, err
}

// items is the number of elements per item of these forms, or of a form tried before them, at
// separate indices of the cut axis.
func (s Spec) items() int64 {
	switch items := cmp.Or(s.form().items, 4); {
	case s.CPUTarget && s.casts():
		return 1
	case s.CPUTarget || s.DstBits > 32:
		return 4
	default:
		return items
	}
}

// flatMost bounds the indices of a block's inner axes.
func (s Spec) flatMost() int64 {
	if s.takes() { // their local memory is small
		return 3 * GroupSize
	}
	return 16 * GroupSize
}

// itemDefines are the macros of these forms: the number of elements per item, and of rows in a
// block of take.
func itemDefines(s Spec) []string {
	n := s.items()
	return []string{"ITEMS " + strconv.FormatInt(n, 10), "ROWS " + strconv.Itoa(takeRows)}
}

// cutElements cuts axes, innermost first, into blocks of elements.
func (k *parameters) cutElements(spec Spec, axes []axis) error {
	return k.cutRounds(spec, axes, 1)
}

// cutRounds is cutElements with the given number of rounds of items in a block. On a GPU the block
// includes as many of the axes as keep most work-items busy while enough blocks remain.
func (k *parameters) cutRounds(spec Spec, axes []axis, rounds int64) error {
	if spec.CPUTarget {
		return k.cutItems(axes, itemsPerBlock)
	}
	total := 1.0
	for _, a := range axes {
		total *= float64(a.N)
	}
	axes = append(slices.Clone(axes), axis{N: 1})
	best, at, atFlat := 0.0, 0, int64(1)
	for i, flat := 0, int64(1); i < len(axes) && flat <= spec.flatMost(); i++ {
		cut := min(axes[i].N, spec.cut(flat)*rounds)
		items := (cut + spec.items() - 1) / spec.items() * flat
		busy := float64(cut*flat) / float64((items+GroupSize-1)/GroupSize*GroupSize*spec.items())
		if blocks := total / float64(cut*flat); blocks < fewBlocks {
			busy *= blocks / fewBlocks
		}
		if busy > best {
			best, at, atFlat = busy, i, flat
		}
		if axes[i].N > spec.flatMost() {
			break
		}
		flat *= axes[i].N
	}
	k.inner = append(k.inner, axes[:at]...)
	k.flat = uint32(atFlat)
	k.cutAxis(axes[at], spec.cut(atFlat)*rounds)
	if at == len(axes)-1 {
		return k.setOuter()
	}
	return k.setOuter(axes[at+1 : len(axes)-1]...)
}

// cut is the number of indices of the cut axis in a block with flat indices of the other axes.
func (s Spec) cut(flat int64) int64 { return max(1, GroupSize/flat) * s.items() }

// cutItems adds axes, innermost first, to the block until it is full; it cuts the axis that fills
// it.
func (k *parameters) cutItems(axes []axis, most int64) error {
	flat := int64(1)
	for _, a := range k.inner { // set by the caller
		flat *= a.N
	}
	for len(axes) > 0 && flat*axes[0].N <= most {
		flat *= axes[0].N
		k.inner = append(k.inner, axes[0])
		axes = axes[1:]
	}
	cut := axis{N: 1}
	if len(axes) > 0 {
		cut, axes = axes[0], axes[1:]
	}
	k.flat = uint32(flat)
	k.cutAxis(cut, max(1, most/flat))
	return k.setOuter(axes...)
}

// cutAxis makes a the cut axis, with at most the given number of indices in a block.
func (k *parameters) cutAxis(a axis, indices int64) {
	cut := min(a.N, indices)
	k.cut, k.extent, k.d, k.s = uint32(cut), a.N, a.D, a.S
	k.outer = append(k.outer, axis{N: (a.N + cut - 1) / cut, D: cut * a.D, S: cut * a.S})
}

// wide reports whether steps within a block need more than 32 bits.
func (k *parameters) wide() bool {
	d, s := k.reach()
	return d >= limit || s >= limit
}

// reach returns the largest distance between a block's elements.
func (k *parameters) reach() (d, s int64) {
	for _, a := range append(k.inner, axis{N: int64(k.cut), D: k.d, S: k.s}) {
		d += (a.N - 1) * nest.Magnitude(a.D)
		s += (a.N - 1) * nest.Magnitude(a.S)
	}
	return d, s
}
