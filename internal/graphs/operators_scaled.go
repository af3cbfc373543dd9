package graphs

import (
	"math/big"
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/fraction"
	"github.com/restride/restride/internal/ndarray"
	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
)

// scale draws a scale of a type, positive, so that a zero has no sign.
func (s sampler) scale(t layout.DType) string {
	x := []*big.Rat{big.NewRat(1, 4), big.NewRat(1, 3), big.NewRat(1<<12, 7), big.NewRat(1, 1<<13)}[s.rng.IntN(4)]
	return bits(t, x)
}

// linear draws the scales and zero points of a value: attributes, extents, and the index of an
// element's.
func (b *builder) linear(v Value) (attrs []model.Attr, dims []int64, of func(index []int64) int64) {
	rank := len(v.Dims)
	if rank == 0 || b.opset < 13 || b.rng.IntN(3) == 0 {
		return nil, [][]int64{{}, {1}}[b.rng.IntN(2)], func([]int64) int64 { return 0 }
	}
	axis := b.rng.IntN(rank)
	if axis != 1 || b.rng.IntN(2) == 0 {
		attrs = append(attrs, onnx.Int("axis", b.axis(axis, rank, true)))
	}
	if b.opset < 21 || b.rng.IntN(2) == 0 || v.Dims[axis] == 0 {
		return attrs, v.Dims[axis : axis+1], func(index []int64) int64 { return index[axis] }
	}
	block := 1 + b.rng.Int64N(v.Dims[axis])
	dims = slices.Clone(v.Dims)
	dims[axis] = (dims[axis] + block - 1) / block
	return append(attrs, onnx.Int("block_size", block)), dims, func(index []int64) int64 {
		at := slices.Clone(index)
		at[axis] /= block
		return offset(dims, at)
	}
}

// number is the exact value of an element, if it has one.
func number(t layout.DType, e string) *big.Rat { return fraction.Of(t, pattern(e)).Exact }

// rounded is a number as a float of a type.
func rounded(t layout.DType, x *big.Rat) fraction.Value {
	v := fraction.Value{Exact: x, Negative: x.Sign() < 0}
	return fraction.Of(t, fraction.Bits(t, v, device.Rounding{}))
}

func growDequantizeLinear(b *builder, from string, v Value) bool {
	if k := numeric.KindOf(v.Type); k != numeric.IntKind && k != numeric.UintKind || v.Type.Bits() > 16 || len(v.Elems) > most/4 {
		return false
	}
	attrs, dims, of := b.linear(v)
	floats := b.floats()
	scale := each(floats[b.rng.IntN(len(floats))], dims, b.scale)
	zero := b.tensor(v.Type, dims...)
	in := []string{from, b.operand(scale)}
	if zeros := b.rng.IntN(3) > 0; zeros {
		in = append(in, b.operand(zero))
	} else {
		zero = each(v.Type, dims, ndarray.Zero)
	}
	to := scale.Type
	if b.opset >= 23 && b.rng.IntN(2) == 0 {
		to = floats[b.rng.IntN(len(floats))]
		attrs = append(attrs, onnx.Int("output_dtype", int64(to)))
	}
	out := ndarray.Each(v.Dims, func(index []int64) string {
		k := of(index)
		x := new(big.Rat).Sub(number(v.Type, v.Elem(index)), number(v.Type, zero.Elems[k]))
		y := rounded(layout.Float32, x.Mul(x, number(scale.Type, scale.Elems[k])))
		return element(to, fraction.Bits(to, y, device.Rounding{}))
	})
	return b.add("DequantizeLinear", Value{Kind: model.TensorType, Type: to, Array: out}, in, attrs...)
}

// floats are the types of scales.
func (b *builder) floats() []layout.DType {
	if b.opset < 19 {
		return []layout.DType{layout.Float32}
	}
	return []layout.DType{layout.Float32, layout.Float16, layout.BFloat16}
}

// each is a value whose elements a function draws.
func each(t layout.DType, dims []int64, draw func(layout.DType) string) Value {
	return Value{Kind: model.TensorType, Type: t, Array: ndarray.Each(dims, func([]int64) string { return draw(t) })}
}

// codes are the integer types that QuantizeLinear supports at an opset.
func (b *builder) codes() []layout.DType {
	all := []layout.DType{layout.Uint8, layout.Int8}
	if b.opset >= 21 {
		all = append(all, layout.Int16, layout.Uint16, layout.Int4, layout.Uint4)
	}
	if b.opset >= 25 {
		all = append(all, layout.Int2, layout.Uint2)
	}
	return all
}

func growQuantizeLinear(b *builder, from string, v Value) bool {
	if v.Type == layout.Int32 || len(v.Elems) > most/4 {
		return false
	}
	attrs, dims, of := b.linear(v)
	floats, codes := b.floats(), b.codes()
	scale := each(floats[b.rng.IntN(len(floats))], dims, b.scale)
	to := codes[b.rng.IntN(len(codes))]
	zero := b.tensor(to, dims...)
	in := []string{from, b.operand(scale)}
	switch b.rng.IntN(3) {
	case 0:
		to, zero = layout.Uint8, each(layout.Uint8, dims, ndarray.Zero)
	case 1:
		if b.opset >= 21 {
			zero = each(to, dims, ndarray.Zero)
			attrs = append(attrs, onnx.Int("output_dtype", int64(to)))
			break
		}
		fallthrough
	default:
		in = append(in, b.operand(zero))
	}
	how := layout.Float32 // the precision of the quotient
	if b.opset >= 19 {
		how = scale.Type
	}
	out := ndarray.Each(v.Dims, func(index []int64) string {
		k := of(index)
		return quantized(to, v.Type, v.Elem(index), scale.Type, scale.Elems[k], zero.Elems[k], how)
	})
	return b.add("QuantizeLinear", Value{Kind: model.TensorType, Type: to, Array: out}, in, attrs...)
}

// quantized is round(x / scale) + zero, where the sides of the quotient and the quotient are
// rounded to floats of a type.
func quantized(to, from layout.DType, x string, of layout.DType, scale, zero string, how layout.DType) string {
	v := fraction.Of(from, pattern(x))
	if v.Exact != nil {
		v = rounded(how, v.Exact)
	}
	by := rounded(how, number(of, scale))
	if v.Exact != nil {
		v = rounded(how, new(big.Rat).Quo(v.Exact, by.Exact))
	}
	switch {
	case v.NaN:
		v.Exact = new(big.Rat)
	case v.Infinite && v.Negative:
		v.Exact = big.NewRat(-1<<40, 1)
	case v.Infinite:
		v.Exact = big.NewRat(1<<40, 1)
	}
	return saturated(to, new(big.Rat).Add(toEven(v.Exact), number(to, zero)))
}

// saturated is the element of an integer type nearest to an integer.
func saturated(t layout.DType, x *big.Rat) string {
	least, largest := int64(0), int64(1)<<t.Bits()-1
	if numeric.KindOf(t) == numeric.IntKind {
		least, largest = -1<<(t.Bits()-1), largest>>1
	}
	n := largest
	switch {
	case x.Cmp(big.NewRat(least, 1)) < 0:
		n = least
	case x.Cmp(big.NewRat(largest, 1)) < 0:
		n = x.Num().Int64()
	}
	return element(t, uint64(n)&(1<<t.Bits()-1))
}

// toEven is the nearest integer, ties to even.
func toEven(x *big.Rat) *big.Rat {
	below := new(big.Int).Div(x.Num(), x.Denom()) // rounded down
	rest := new(big.Rat).Sub(x, new(big.Rat).SetInt(below))
	if c := rest.Cmp(big.NewRat(1, 2)); c > 0 || c == 0 && below.Bit(0) == 1 {
		below.Add(below, big.NewInt(1))
	}
	return new(big.Rat).SetInt(below)
}

func growDynamicQuantizeLinear(b *builder, from string, v Value) bool {
	if b.limits.Resident || v.Type != layout.Float32 || len(v.Elems) > most/4 {
		return false
	}
	least, largest := new(big.Rat), new(big.Rat)
	for _, e := range v.Elems {
		x := number(v.Type, e)
		if x == nil {
			return false // package onnx's own tests have NaNs and infinities
		}
		if x.Cmp(least) < 0 {
			least = x
		}
		if x.Cmp(largest) > 0 {
			largest = x
		}
	}
	f32 := layout.Float32
	span := rounded(f32, new(big.Rat).Sub(largest, least))
	if span.Exact == nil {
		return false
	}
	by := rounded(f32, new(big.Rat).Quo(span.Exact, big.NewRat(255, 1)))
	if span.Exact.Sign() == 0 {
		by = rounded(f32, big.NewRat(1, 255))
	}
	if by.Exact.Sign() == 0 {
		return false
	}
	first := rounded(f32, new(big.Rat).Quo(new(big.Rat).Neg(least), by.Exact))
	scale := v.of(ndarray.Array{Elems: []string{bits(f32, by.Exact)}})
	zero := Value{Kind: model.TensorType, Type: layout.Uint8, Array: ndarray.Array{Elems: []string{saturated(layout.Uint8, toEven(first.Exact))}}}
	out := zero.of(ndarray.Each(v.Dims, func(index []int64) string {
		return quantized(layout.Uint8, f32, v.Elem(index), f32, scale.Elems[0], zero.Elems[0], f32)
	}))
	names := []string{b.name(out), b.name(scale), b.name(zero)}
	b.data = append(b.data, names...)
	b.Model.Graph.Nodes = append(b.Model.Graph.Nodes, model.NewNode("DynamicQuantizeLinear", []string{from}, names))
	return true
}
