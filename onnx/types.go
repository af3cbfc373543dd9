package onnx

import "github.com/restride/restride/layout"

// typeSet is a set of element types.
type typeSet uint32

func (s typeSet) has(t layout.DType) bool { return t.Valid() && s>>t&1 == 1 }

func (s typeSet) with(types ...layout.DType) typeSet {
	for _, t := range types {
		s |= 1 << t
	}
	return s
}

func (s typeSet) without(types ...layout.DType) typeSet { return s &^ typeSet(0).with(types...) }

// ONNX's sets of types for data movement operators grew with the opsets; each set is named
// after the opset that introduced it.
var (
	types1  = typeSet(0).with(layout.Float16, layout.Float32, layout.Float64)
	types5  = types1.with(layout.Bool, layout.String, layout.Complex64, layout.Complex128, layout.Int8, layout.Int16, layout.Int32, layout.Int64, layout.Uint8, layout.Uint16, layout.Uint32, layout.Uint64)
	types13 = types5.with(layout.BFloat16)
	types19 = types13.with(layout.Float8E4M3FN, layout.Float8E4M3FNUZ, layout.Float8E5M2, layout.Float8E5M2FNUZ)
	types21 = types19.with(layout.Int4, layout.Uint4)
	types23 = types21.with(layout.Float4E2M1)
	types24 = types23.with(layout.Float8E8M0)
	types25 = types24.with(layout.Int2, layout.Uint2)
)

// typeChanges lists these sets. Operators that accept all of them (definition.growing) grow
// with the list.
var typeChanges = []change{
	{1, types1}, {5, types5}, {13, types13}, {19, types19}, {21, types21}, {23, types23}, {24, types24}, {25, types25},
}
