package graphs

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/fraction"
	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
)

// target draws a type to which an operator can cast a value, and the result.
func (b *builder) target(op string, v Value) (out Value, attrs []model.Attr, ok bool) {
	to := b.limits.Types[b.rng.IntN(len(b.limits.Types))]
	if !onnx.Allows(op, b.opset, to) {
		return out, nil, false
	}
	how := device.Rounding{Legacy: b.opset < 24}
	if b.opset >= 19 && b.rng.IntN(2) == 0 {
		attrs = append(attrs, onnx.Int("saturate", 0))
		how.Unsaturated = true
	}
	if b.opset >= 24 && b.rng.IntN(2) == 0 {
		how.Scale = device.RoundDirection(b.rng.IntN(3))
		attrs = append(attrs, model.Attr{Name: "round_mode", Value: []string{"up", "down", "nearest"}[how.Scale]})
	}
	out = Value{Kind: model.TensorType, Type: to}
	out.Dims = v.Dims
	for _, e := range v.Elems {
		c, ok := castElem(to, v.Type, e, how)
		if !ok || b.limits.Resident && (to == layout.String) != (v.Type == layout.String) {
			return out, nil, false
		}
		out.Elems = append(out.Elems, c)
	}
	return out, attrs, true
}

// castElem casts an element; false: the oracle has no rule for it.
func castElem(to, from layout.DType, e string, how device.Rounding) (string, bool) {
	switch {
	case to == from:
		return e, true
	case to == layout.String:
		return text(from, pattern(e))
	case from == layout.String:
		return parsed(to, e)
	}
	return element(to, fraction.Cast(to, from, pattern(e), how)), true
}

// pattern and element convert an element to at most 64 bits and back.
func pattern(e string) uint64 {
	var b [8]byte
	copy(b[:], e)
	return binary.LittleEndian.Uint64(b[:])
}

func element(t layout.DType, p uint64) string {
	return string(binary.LittleEndian.AppendUint64(nil, p)[:(t.Bits()+7)/8])
}

// text is a number as a string, of types that Go's formatting knows.
func text(t layout.DType, p uint64) (string, bool) {
	v, width := 0.0, 64
	switch numeric.KindOf(t) {
	case numeric.BoolKind:
		if p == 0 {
			return "False", true
		}
		return "True", true
	case numeric.IntKind, numeric.UintKind:
		return fraction.Of(t, p).Exact.RatString(), true
	}
	switch t {
	case layout.Float32:
		v, width = float64(math.Float32frombits(uint32(p))), 32
	case layout.Float64:
		v = math.Float64frombits(p)
	default:
		return "", false
	}
	switch {
	case math.IsNaN(v):
		return "NaN", true
	case math.IsInf(v, 1):
		return "INF", true
	case math.IsInf(v, -1):
		return "-INF", true
	}
	whole := strconv.FormatFloat(v, 'f', -1, width)
	if !strings.Contains(whole, ".") {
		whole += ".0"
	}
	return whole, true
}

// parsed is a string of a whole number, in the range of the type.
func parsed(to layout.DType, s string) (string, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	if kind := numeric.KindOf(to); err != nil || kind != numeric.IntKind && kind != numeric.UintKind {
		return "", false
	}
	p := uint64(n) & (math.MaxUint64 >> (64 - to.Bits()))
	if back := fraction.Of(to, p).Exact; back.RatString() != strconv.FormatInt(n, 10) {
		return "", false
	}
	return element(to, p), true
}

func growCast(b *builder, from string, v Value) bool {
	out, attrs, ok := b.target("Cast", v)
	if !ok {
		return false
	}
	to := onnx.Int("to", int64(out.Type))
	if b.opset < 6 {
		to = model.Attr{Name: "to", Value: strings.ToUpper(out.Type.String())}
	}
	return b.add("Cast", out, []string{from}, append(attrs, to)...)
}

func growCastLike(b *builder, from string, v Value) bool {
	out, attrs, ok := b.target("CastLike", v)
	if !ok {
		return false
	}
	like := b.tensor(out.Type, b.dims(2)...)
	return b.add("CastLike", out, []string{from, b.part(like)}, attrs...)
}

func growBitCast(b *builder, from string, v Value) bool {
	to := b.limits.Types[b.rng.IntN(len(b.limits.Types))]
	if to.Bits() != v.Type.Bits() || !onnx.Allows("BitCast", b.opset, to) || to == layout.String || v.Type == layout.String {
		return false
	}
	out := v.of(v.Array)
	out.Type = to
	return b.add("BitCast", out, []string{from}, onnx.Int("to", int64(to)))
}
