package planner

import "github.com/restride/restride/layout"

// mapSpecs lists the kernels that look elements up in a table in memory.
func mapSpecs() []Spec {
	var all []Spec
	for _, dst := range []uint8{2, 4, 8, 16, 32} {
		for _, src := range []uint8{2, 4, 8} {
			all = append(all, Spec{Form: DenseCast, DstBits: dst, SrcBits: src, Mapped: true})
		}
		for _, cpu := range []bool{false, true} {
			all = append(all, mapSpec(dst, cpu))
		}
	}
	return all
}

// mapSpec is the kernel for elements of up to 8 bits anywhere.
func mapSpec(bits uint8, cpu bool) Spec {
	s := castSpec(bits, 32, cpu)
	s.Mapped = true
	return s
}

// planMap plans a map between layouts of one shape, from elements of 2 to 8 bits to elements of 2
// to 32. The base is the table's own offset.
func (p *problem) planMap(dst, src layout.Layout, dstBits, srcBits int) (Launch, error) {
	p.simplify(dst, src, dstBits, dstBits)
	rows := Spec{Form: DenseCast, DstBits: uint8(dstBits), SrcBits: uint8(srcBits), Mapped: true}
	l, err := p.planValues("map", mapSpec(uint8(dstBits), p.target.CPU), rows)
	l.bases[Table] = base{parts: 1}
	return l, err
}
