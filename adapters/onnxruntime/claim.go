package onnxruntime

import (
	"slices"
	"strings"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
)

// Claim is onnx.Claimer's: ONNX Runtime keeps layout operators within groups, where it fuses
// them and where they would end a group. Sequences and optionals cannot pass the edge of a
// group. Casts with other results in ONNX Runtime are the session's.
func (e *Engine) Claim(n onnx.Node) onnx.Claim {
	switch {
	case n.Domain != "", n.Op == "BitCast", n.Op == "CastLike", holdsOthers(n.Op), n.Op == "Cast" && differs(n):
		return onnx.ClaimNone
	case n.Op == "Slice", n.Op == "Split": // windows, which ONNX Runtime copies
		return onnx.ClaimBetween
	case slices.Contains(views, n.Op):
		return onnx.ClaimOperand
	case strings.HasSuffix(n.Op, "QuantizeLinear"), n.Op == "DequantizeLinear":
		return onnx.ClaimBehind
	}
	return onnx.ClaimBeside
}

// holdsOthers reports whether an operator works on sequences or optionals.
func holdsOthers(op string) bool {
	return op != "ReverseSequence" && strings.Contains(op, "Sequence") || strings.HasPrefix(op, "Optional")
}

// differing are types to which ONNX Runtime casts differently: it writes some numbers as other
// text, and rounds halves away from zero to integers below 8 bits.
var differing = []layout.DType{layout.String, layout.Int4, layout.Uint4, layout.Int2, layout.Uint2}

// differs reports whether a Cast is to such a type. That of a CastLike is not known.
func differs(n onnx.Node) bool {
	a, _ := n.Attrs.Get("to")
	to, _ := a.Value.(int64)
	return slices.ContainsFunc(differing, func(t layout.DType) bool { return to == int64(t) })
}

// views are other operators that only change the layout, for as long as nobody needs their
// result contiguous.
var views = []string{"Identity", "Transpose", "Squeeze", "Unsqueeze", "Reshape", "Flatten", "Expand"}
