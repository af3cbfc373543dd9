package kernels

import (
	"slices"

	"github.com/restride/restride/layout"
)

// Kernels lists the kernels that plans for the target may ask for: of copies, fills,
// takes and puts of elements of the given types, and of conversions between two of them; of
// everything, if none is given. Those for layouts of very many axes are only in the latter.
func (t Target) Kernels(types ...layout.DType) []Spec {
	return slices.DeleteFunc(Specs(), func(s Spec) bool {
		return s.Serial != t.Serial || t.Atomics32 && s.Form == Reduce && s.DstBits > 32 || len(types) > 0 && !s.serves(types)
	})
}

// serves reports whether a plan for elements of some of the types may ask for a kernel.
func (s Spec) serves(types []layout.DType) bool {
	some := func(is func(layout.DType) bool) bool { return slices.ContainsFunc(types, is) }
	of := func(bits uint8) bool { return some(func(t layout.DType) bool { return t.Bits() == int(bits) }) }
	switch {
	case s.Long:
		return false
	case s.Scales():
		return len(types) > 1 && of(s.DstBits)
	case s.pair():
		return slices.Contains(types, s.To) && slices.Contains(types, s.From)
	case s.Form == Cast: // which loads by 32 bits at least
		return len(types) > 1 && of(s.DstBits) && some(func(t layout.DType) bool { return max(t.Bits(), 32) == int(s.SrcBits) })
	case (s.Form == Value || s.Form == Lookup) && !s.Mapped:
		return len(types) > 1 && of(s.DstBits) && of(s.SrcBits)
	case s.Form == Join: // of parts of elements
		return some(func(t layout.DType) bool { return t.Bits() < 128 && (t.Bits() < 8 || s.DstBits == 8) })
	case s.reduces():
		return of(s.DstBits)
	case s.Form == Field: // of single bits, and of those of elements below a byte
		return of(1) || of(2) || of(4)
	case s.chunks() && s.DstBits == 16 && (s.Form == Run || s.SrcBits == 0): // of wider ones, too
		return true
	case s.SrcBits != 0 && s.SrcBits != s.DstBits:
		return of(s.DstBits) && of(s.SrcBits)
	}
	return some(func(t layout.DType) bool { return t.Bits() <= int(s.DstBits) }) // neighbours are moved as one
}
