package kernels

import "github.com/restride/restride/layout"

// mapSpecs lists the kernels that look elements up in a table in memory: the forms that
// convert by value, but for Value, whose elements are too wide.
func mapSpecs() []Spec {
	var all []Spec
	for _, dst := range []uint8{2, 4, 8, 16, 32} {
		for _, src := range []uint8{2, 4, 8} {
			all = append(all, Spec{Form: Lookup, DstBits: dst, SrcBits: src, Mapped: true})
		}
		for _, serial := range []bool{false, true} {
			all = append(all, mapSpec(int(dst), serial))
		}
	}
	return all
}

// mapSpec is the kernel for elements of up to 8 bits anywhere.
func mapSpec(bits int, serial bool) Spec {
	return Spec{Form: Cast, DstBits: uint8(bits), SrcBits: 32, Mapped: true, Serial: serial}
}

// planMap plans a map between layouts of one shape: from elements of 2 to 8 bits to such
// of 2 to 32. The table has its own offset for a base.
func planMap(dst, src layout.Layout, dstBits, srcBits int, t Target) (Launch, error) {
	p := problem{op: "Map", target: t}
	p.simplify(dst, src, dstBits, dstBits)
	l, err := p.plan("map", func(p *problem, k *parameters) (Spec, error) {
		dense := Spec{Form: Lookup, DstBits: uint8(dstBits), SrcBits: uint8(srcBits), Mapped: true}
		return p.planValues(k, mapSpec(dstBits, t.Serial), dense)
	})
	l.bases[Table] = base{parts: 1}
	return l, err
}
