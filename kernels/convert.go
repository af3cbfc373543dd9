package kernels

import (
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/layout"
)

// Cast converts elements by value: from any type of up to 32 bits, or of 64, to any
// type of one width (see source/cast.h).
const Cast Form = "cast"

// castSpecs lists the kernels that convert by value.
func castSpecs() []Spec {
	var all []Spec
	for _, serial := range []bool{false, true} {
		for _, dst := range []uint8{2, 4, 8, 16, 32, 64} {
			for _, src := range []uint8{32, 64} {
				all = append(all, Spec{Form: Cast, DstBits: dst, SrcBits: src, Serial: serial})
			}
		}
	}
	return all
}

// files names the source files that make up a kernel.
func (s Spec) files() []string {
	switch {
	case s.Form != Cast:
		return []string{string(s.Form)}
	case s.DstBits < 32:
		return []string{string(Cast), string(Pack)}
	}
	return []string{string(Cast), string(Element)}
}

// PlanCast plans a conversion by value between layouts of one shape. The types,
// beyond their widths, are arguments of the launch: see Numbers.
func PlanCast(dst, src layout.Layout, dstBits, srcBits int, t Target) (Launch, error) {
	p := problem{op: "Convert", target: t, dBits: dstBits, sBits: srcBits}
	d, s := layout.Simplify(dst, src)
	p.take(d, s, dst.Offset(), src.Offset(), 1)
	p.launch.Class = Converting
	l, err := p.plan(func(k *desc) (Form, error) {
		if p.dBits < 32 {
			return Cast, p.planWords(k, len(p.axes), 1)
		}
		return Cast, p.planElements(k)
	})
	l.Spec.Wide = false // its steps are wide always
	l.Spec.SrcBits = max(l.Spec.SrcBits, 32)
	return l, err
}

// Numbers returns the arguments lo and hi of a launch that PlanCast made: what
// src's and dst's elements mean, as source/numbers.h reads it.
func Numbers(dst, src layout.DType, how device.Rounding) (lo, hi uint64) {
	return number(src, how), number(dst, how)
}

// The kinds of numbers.
const (
	unsignedKind = iota
	signedKind
	boolKind
	floatKind
)

func number(t layout.DType, how device.Rounding) uint64 {
	word := uint64(unsignedKind)
	switch numeric.KindOf(t) {
	case numeric.BoolKind:
		word = boolKind
	case numeric.IntKind:
		word = signedKind
	case numeric.FloatKind:
		f, _ := numeric.FloatFormatOf(t)
		word = floatKind | uint64(f.Special)<<2 | uint64(f.Exponent)<<18 | uint64(f.Mantissa)<<24 | uint64(f.Bias)<<32
		if f.Unsigned {
			word |= 1 << 4
		}
		word |= uint64(how.Excess(t)) << 5
	}
	word |= uint64(t.Bits()) << 11
	word |= uint64(how.Scale) << 7
	if how.Legacy {
		word |= 1 << 9
	}
	if how.Truncates(t) {
		word |= 1 << 10
	}
	return word
}
