package planner

import (
	"slices"

	"github.com/restride/restride/layout"
)

// Kernels lists the kernels that plans for the target may need: for copies, fills, takes and puts
// of elements of the given types, and conversions between two of them; without types, for
// everything. Only the latter includes the kernels for layouts of very many axes.
func (t Target) Kernels(types ...layout.DType) []Spec {
	return slices.DeleteFunc(Specs(), func(s Spec) bool {
		return s.CPUTarget != t.CPU || t.Atomics32 && s.Form == Reduce && s.DstBits > 32 || len(types) > 0 && !s.serves(types)
	})
}

// typesUsed are the types of a device's tensors.
type typesUsed []layout.DType

func (t typesUsed) have(is func(layout.DType) bool) bool { return slices.ContainsFunc(t, is) }

func (t typesUsed) bits(n uint8) bool {
	return t.have(func(t layout.DType) bool { return t.Bits() == int(n) })
}

// serves reports whether a plan for elements of some of the types may need the kernel.
func (s Spec) serves(t typesUsed) bool {
	switch serves := s.form().serves; {
	case s.ManyAxes:
		return false
	case serves != nil:
		return serves(s, t)
	}
	return servesWidths(s, t)
}

// servesWidths is serves for kernels between widths: with one width, narrower neighbouring
// elements are moved as one.
func servesWidths(s Spec, t typesUsed) bool {
	if s.SrcBits != 0 && s.SrcBits != s.DstBits {
		return t.bits(s.DstBits) && t.bits(s.SrcBits)
	}
	return t.have(func(t layout.DType) bool { return t.Bits() <= int(s.DstBits) })
}

// servesWider is the same for chunks of 16-bit elements, which also move wider elements.
func servesWider(s Spec, t typesUsed) bool {
	return !s.CPUTarget && s.DstBits == 16 && (s.Form == Run || s.SrcBits == 0) || servesWidths(s, t)
}

func servesScaling(s Spec, t typesUsed) bool { return len(t) > 1 && t.bits(s.DstBits) }

func servesReduced(s Spec, t typesUsed) bool { return t.bits(s.DstBits) }

// servesCast is serves for casts of elements anywhere, which load at least 32 bits.
func servesCast(s Spec, t typesUsed) bool {
	if s.pair() {
		return slices.Contains(t, s.To) && slices.Contains(t, s.From)
	}
	return len(t) > 1 && t.bits(s.DstBits) && t.have(func(t layout.DType) bool { return max(t.Bits(), 32) == int(s.SrcBits) })
}

func servesDense(s Spec, t typesUsed) bool {
	if s.Mapped {
		return servesWidths(s, t)
	}
	return len(t) > 1 && t.bits(s.DstBits) && t.bits(s.SrcBits)
}

// servesParts is serves for Join, which moves parts of elements.
func servesParts(s Spec, t typesUsed) bool {
	return t.have(func(t layout.DType) bool { return t.Bits() < 128 && (t.Bits() < 8 || s.DstBits == 8) })
}

// servesFields is serves for Field: single bits, and fields of elements below a byte.
func servesFields(s Spec, t typesUsed) bool {
	return t.bits(1) || t.bits(2) || t.bits(4)
}
