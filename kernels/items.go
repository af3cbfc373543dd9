package kernels

import "strconv"

// The forms whose items are elements.
const (
	Element Form = "element" // an element per item
	Fill    Form = "fill"    // the same, of one value
)

// How work is cut into blocks of items, one after the other in the order of dst.

// elementSpecs lists the kernels of these forms.
func elementSpecs() []Spec {
	var all []Spec
	for _, serial := range []bool{false, true} {
		for _, bits := range []uint8{8, 16, 32, 64, 128} {
			for _, wide := range []bool{false, true} {
				all = append(all, Spec{Form: Element, DstBits: bits, SrcBits: bits, Wide: wide, Serial: serial})
				all = append(all, Spec{Form: Fill, DstBits: bits, Wide: wide, Serial: serial})
			}
		}
	}
	return all
}

// itemsPerBlock is how many items a work-group takes on at a time.
const itemsPerBlock = 4 * GroupSize

// planElements makes an item of each element.
func (p *problem) planElements(f Form, k *parameters) (Spec, error) {
	spec := p.spec(f)
	err := k.cutElements(spec, p.innermostFirst())
	spec.Wide = !p.long && k.wide()
	return spec, err
}

// items is how many elements an item of these forms, or of one that goes before them,
// has: at indices of the cut axis that are apart.
func (s Spec) items() int64 {
	switch {
	case s.Serial && s.Form == Cast:
		return 1
	case s.DstBits <= 32 && (s.Form == Element || s.Form == Fill) && !s.Serial:
		return 16
	}
	return 4
}

// itemDefines are the macros of these forms: how many elements an item has, and a block
// at the most.
func (s Spec) itemDefines() []string {
	n := s.items()
	return []string{"ITEMS " + strconv.FormatInt(n, 10), "MOST " + strconv.FormatInt(n*(n-1)*GroupSize, 10)}
}

// cutElements cuts axes, innermost first, into blocks of elements: on a GPU so that the
// cut axis has enough indices for a kernel's items, and a block enough items for a group.
func (k *parameters) cutElements(spec Spec, axes []axis) error {
	if spec.Serial {
		return k.cutItems(axes, itemsPerBlock)
	}
	items := spec.items()
	flat, cut := int64(1), 0
	for cut < len(axes) && flat*axes[cut].n < (items-1)*GroupSize {
		flat *= axes[cut].n
		cut++
	}
	if cut > 0 && (cut == len(axes) || axes[cut].n < items && axes[cut-1].n >= items) {
		cut--
		flat /= axes[cut].n
	}
	k.inner = append(k.inner, axes[:cut]...)
	k.flat = uint32(flat)
	if cut == len(axes) {
		k.cutAxis(axis{n: 1}, 1)
		return k.setOuter()
	}
	k.cutAxis(axes[cut], max(1, GroupSize/flat)*items)
	return k.setOuter(axes[cut+1:]...)
}

// cutItems takes axes, innermost first, into the block until it is full; the
// one that fills it is cut.
func (k *parameters) cutItems(axes []axis, most int64) error {
	flat := int64(1)
	for _, a := range k.inner { // put there by the caller
		flat *= a.n
	}
	for len(axes) > 0 && flat*axes[0].n <= most {
		flat *= axes[0].n
		k.inner = append(k.inner, axes[0])
		axes = axes[1:]
	}
	cut := axis{n: 1}
	if len(axes) > 0 {
		cut, axes = axes[0], axes[1:]
	}
	k.flat = uint32(flat)
	k.cutAxis(cut, max(1, most/flat))
	return k.setOuter(axes...)
}

// cutAxis makes a the cut axis, of which a block has at most the given number
// of indices.
func (k *parameters) cutAxis(a axis, indices int64) {
	cut := min(a.n, indices)
	k.cut, k.extent, k.d, k.s = uint32(cut), a.n, a.d, a.s
	k.outer = append(k.outer, axis{(a.n + cut - 1) / cut, cut * a.d, cut * a.s})
}

// wide reports whether steps within a block need more than 32 bits.
func (k *parameters) wide() bool {
	d, s := k.reach()
	return d >= limit || s >= limit
}

// reach returns how far apart the elements of a block are at the most.
func (k *parameters) reach() (d, s int64) {
	for _, a := range append(k.inner, axis{int64(k.cut), k.d, k.s}) {
		d += (a.n - 1) * magnitude(a.d)
		s += (a.n - 1) * magnitude(a.s)
	}
	return d, s
}
