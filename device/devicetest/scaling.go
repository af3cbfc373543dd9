package devicetest

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/layout"
)

// scaling dequantizes and quantizes blocks of every type, and then random layouts.
func (r runner) scaling(t *testing.T) {
	shared := r.rig(t)
	t.Run("Steps", func(t *testing.T) { scaleSteps(shared.fork(t)) })
	t.Run("Quotients", func(t *testing.T) { r.quotients(shared.fork(t)) })
	rows, blocks, n, limits := int64(3), []int64{1, 7, 32, 300}, 3000, oracle.Limits{MaxBytes: 64 << 10}
	if r.few() {
		n, blocks = 250, []int64{7, 32}
	}
	if r.Small {
		rows, blocks, n, limits = 1, []int64{7}, 30, oracle.Limits{MaxBytes: 1 << 9}
	}
	limits.Ops = []oracle.Op{oracle.OpDequantize, oracle.OpQuantize}
	seed := r.seed
	for _, narrow := range layout.DTypes() {
		if !isNumber(narrow) || narrow == layout.Bool || narrow.Bits() > 32 {
			continue
		}
		for _, block := range blocks {
			for _, float := range []layout.DType{layout.Float32, layout.Float16, layout.BFloat16, layout.Float64} {
				seed++
				c := oracle.Case{Op: oracle.OpDequantize, DstType: float, SrcType: narrow}
				c.Dst, c.Src = dense(int64(seed%5), rows, 4, block), dense(int64(seed%3), rows, 4, block)
				shape, perBlock := c.Dst.Shape(), []int64{4, 1, 0}
				c.Terms.Scale = oracle.Term{Layout: strided(shape, perBlock, 1), Type: layout.Float16}
				if seed%2 == 0 {
					c.Terms.Zero = oracle.Term{Layout: strided(shape, perBlock, 3), Type: narrow}
				}
				if seed%3 == 0 {
					c.Terms.Add, c.Terms.Subtract = oracle.Term{Layout: strided(shape, perBlock, 0), Type: layout.Float32}, seed%2 == 1
				}
				shared.check(c, seed)
				if float.Bits() > 32 || narrow.Bits() > 16 || isFloat(narrow) && (narrow.Bits() > 8 || narrow == layout.Float8E8M0) {
					continue
				}
				c.Op, c.DstType, c.SrcType, c.Dst, c.Src = oracle.OpQuantize, narrow, float, c.Src, c.Dst
				c.Terms.Add, c.Terms.Subtract = oracle.Term{}, false
				if seed%4 == 1 {
					c.Terms.Precision = layout.Float16
				}
				shared.check(c, seed)
			}
		}
	}
	r.findScales(shared, rows, blocks)
	for range n {
		seed++
		if c := oracle.Random(rand.New(rand.NewPCG(seed, 3)), limits); !r.Lone || !c.Shared {
			shared.check(c, seed)
		}
	}
}

// findScales quantises blocks of every type whose scales can be found.
func (r runner) findScales(shared rig, rows int64, blocks []int64) {
	seed := r.seed
	for _, codes := range []layout.DType{layout.Uint4, layout.Int8, layout.Float4E2M1} {
		for _, block := range blocks {
			for _, from := range []layout.DType{layout.Float32, layout.Float16, layout.BFloat16, layout.Float8E5M2} {
				for _, scale := range []layout.DType{layout.Float16, layout.BFloat16, layout.Float32} {
					seed++
					c := oracle.Case{Op: oracle.OpQuantize, DstType: codes, SrcType: from}
					c.Dst, c.Src = dense(int64(seed%5), rows, 4, block), dense(int64(seed%3), rows, 4, block)
					if seed%4 == 0 { // blocks of columns
						c.Src = strided([]int64{rows, 4, block}, []int64{4 * block, 1, 4}, 2)
					}
					if codes == layout.Float4E2M1 {
						scale = layout.Float8E8M0
					}
					c.Terms.FindScale = true
					c.Terms.Scale = oracle.Term{Layout: strided([]int64{rows, 4, block}, []int64{4, 1, 0}, int64(seed%2)), Type: scale}
					shared.check(c, seed)
				}
			}
		}
	}
}

func isFloat(t layout.DType) bool {
	switch t {
	case layout.Float64, layout.Float32, layout.Float16, layout.BFloat16, layout.Float8E4M3FN, layout.Float8E4M3FNUZ, layout.Float8E5M2, layout.Float8E5M2FNUZ, layout.Float8E8M0, layout.Float4E2M1:
		return true
	}
	return false
}

// scaleSteps checks steps whose results are known: at the ends of the range of floats, where
// some processors use other code, and where a fused step would show.
func scaleSteps(r rig) {
	const infinity, nan, sign, least = 0x7f800000, 0x7fc00000, 1 << 31, 1
	one, half, big := math.Float32bits(1), math.Float32bits(.5), math.Float32bits(math.MaxFloat32)
	odd := math.Float32bits(1 + 0x1p-23) // its square is not a float
	square := math.Float32bits(1 + 0x1p-22)
	steps := [][4]uint32{ // src, scale, add, result
		{one, one, sign | one, 0},
		{one, least, 0, least},
		{half, least, 0, 0},
		{half, 3, 0, 2}, // to even
		{sign | half, least, 0, 0},
		{half, 0x00800000, 0, 0x00400000},
		{least, math.Float32bits(0x1p126), 0, math.Float32bits(0x1p-23)},
		{0x00800000, math.Float32bits(1 - 0x1p-24), 0, 0x00800000},
		{one, 0x00800001, sign | 0x00800000, least},
		{odd, odd, sign | square, 0}, // fused: 2^-46
		{big, math.Float32bits(2), 0, infinity},
		{big, one, big, infinity},
		{big, one, 0x73000000, infinity},
		{big, one, 0x72ffffff, big},
		{infinity, one, sign | infinity, nan},
		{infinity, sign, 0, nan},
		{sign | nan, one, one, nan},
		{one, 0x7f800001, one, nan},
		{sign, one, sign, sign},
		{sign, one, 0, 0},
		{0, sign | one, sign, sign},
	}
	n := int64(len(steps))
	var sides [3][]byte
	var want, quotients []byte
	for _, s := range steps {
		for i := range sides {
			sides[i] = binary.LittleEndian.AppendUint32(sides[i], s[i])
		}
		want = binary.LittleEndian.AppendUint32(want, s[3])
		q := math.Float32frombits(s[0]) / math.Float32frombits(s[1])
		quotients = append(quotients, byte(min(max(math.RoundToEven(float64(q)), -128), 127)))
		if q != q {
			quotients[len(quotients)-1] = 0
		}
	}
	dst, src, scale, add := r.buffer(make([]byte, 4*n)), r.buffer(sides[0]), r.buffer(sides[1]), r.buffer(sides[2])
	of := func(b device.Buffer) device.Operand { return operand(b, layout.Float32, dense(0, n)) }
	r.ok(r.q.Dequantize(of(dst), of(src), device.Scaling{Scale: of(scale), Add: of(add)}))
	r.same("src * scale + add", layout.Float32, r.bytes(dst), want, func(i int64) string {
		return hexOf(sides[0], layout.Float32, i) + " * " + hexOf(sides[1], layout.Float32, i) + " + " + hexOf(sides[2], layout.Float32, i)
	})
	r.ok(r.q.Quantize(operand(dst, layout.Int8, dense(0, n)), of(src), device.Quantization{Scale: of(scale)}))
	r.same("src / scale", layout.Int8, r.bytes(dst)[:n], quotients, func(i int64) string {
		return hexOf(sides[0], layout.Float32, i) + " / " + hexOf(sides[1], layout.Float32, i)
	})
	r.ok(errors.Join(dst.Free(), src.Free(), scale.Free(), add.Free()))
}

// scalingRules checks that calls which break a rule are refused and change nothing.
func scalingRules(rig, other rig) {
	data := noise(64, 2)
	a, b, c := rig.buffer(data), rig.buffer(data), rig.buffer(data)
	foreign := other.buffer(data)
	rig.refusesAll(badDequantizations(rig, a, b, c, foreign), a, b, c)
	rig.refusesAll(badQuantizations(rig, a, b, c, foreign), a, b, c)

	// Empty calls, and calls just within the rules.
	before := rig.dev.Stats()
	to, from, scale := first(a, layout.Float32, 4), first(b, layout.Int8, 4), first(c, layout.Float32, 4)
	rig.ok(rig.q.Dequantize(first(a, layout.Float32, 0), first(b, layout.Int8, 0), device.Scaling{Scale: first(c, layout.Float32, 0)}))
	if after := rig.dev.Stats(); after.Launches != before.Launches {
		rig.Error("nothing was launched")
	}
	rig.ok(rig.q.Dequantize(to, operand(a, layout.Int8, dense(16, 4)), device.Scaling{Scale: operand(a, layout.Float32, dense(4, 4))}))
	if after := rig.dev.Stats(); after.Launches != before.Launches+1 || after.DeviceToDevice != before.DeviceToDevice+16 {
		rig.Errorf("16 bytes took the stats from %+v to %+v", before, after)
	}
	rig.ok(errors.Join(c.Free(), a.Free(), b.Free(), foreign.Free()))
	rig.is(rig.q.Dequantize(to, from, device.Scaling{Scale: scale}), device.ErrClosed, "freed buffers")
}

// first is a row of the first elements of a buffer.
func first(b device.Buffer, t layout.DType, n int64) device.Operand {
	return operand(b, t, dense(0, n))
}

// badDequantizations are calls that break a rule: from b to a, by scales in c.
func badDequantizations(r rig, a, b, c, foreign device.Buffer) []call {
	to, from, scale := first(a, layout.Float32, 4), first(b, layout.Int8, 4), first(c, layout.Float32, 4)
	var calls []call
	for _, x := range []struct {
		name     string
		dst, src device.Operand
		by       device.Scaling
	}{
		{"no scale", to, from, device.Scaling{}},
		{"an integer scale", to, from, device.Scaling{Scale: first(c, layout.Int32, 4)}},
		{"a scale of 64 bits", to, from, device.Scaling{Scale: first(c, layout.Float64, 4)}},
		{"a scale of another shape", to, from, device.Scaling{Scale: first(c, layout.Float32, 5)}},
		{"a scale beyond its buffer", to, from, device.Scaling{Scale: operand(c, layout.Float32, dense(13, 4))}},
		{"a scale in dst", to, from, device.Scaling{Scale: operand(a, layout.Float32, dense(3, 4))}},
		{"a zero point in dst", to, from, device.Scaling{Scale: scale, Zero: operand(a, layout.Int8, dense(15, 4))}},
		{"a zero point of 64 bits", to, from, device.Scaling{Scale: scale, Zero: first(c, layout.Int64, 4)}},
		{"a zero point of another shape", to, from, device.Scaling{Scale: scale, Zero: first(c, layout.Int8, 3)}},
		{"an integer to add", to, from, device.Scaling{Scale: scale, Add: first(c, layout.Int8, 4)}},
		{"a foreign scale", to, from, device.Scaling{Scale: first(foreign, layout.Float32, 4)}},
		{"a foreign zero point", to, from, device.Scaling{Scale: scale, Zero: first(foreign, layout.Int8, 4)}},
		{"integers as a result", first(a, layout.Int32, 4), from, device.Scaling{Scale: scale}},
		{"short floats as a result", first(a, layout.Float8E5M2, 4), from, device.Scaling{Scale: scale}},
		{"bool", to, first(b, layout.Bool, 4), device.Scaling{Scale: scale}},
		{"64 bits", to, first(b, layout.Float64, 4), device.Scaling{Scale: scale}},
		{"other elements", first(a, layout.Float32, 5), from, device.Scaling{Scale: scale}},
		{"an element twice", repeated(a, layout.Float32, 4), from, device.Scaling{Scale: scale}},
		{"one buffer", to, operand(a, layout.Int8, dense(15, 4)), device.Scaling{Scale: scale}},
		{"no buffer", to, operand(nil, layout.Int8, dense(0, 4)), device.Scaling{Scale: scale}},
	} {
		calls = append(calls, call{"dequantize: " + x.name, func() error { return r.q.Dequantize(x.dst, x.src, x.by) }})
	}
	return calls
}

// badQuantizations are calls that break a rule: from b to a, by scales in c.
func badQuantizations(r rig, a, b, c, foreign device.Buffer) []call {
	codes, back, scale := first(a, layout.Int8, 4), first(b, layout.Float32, 4), first(c, layout.Float32, 4)
	found := repeated(c, layout.Float32, 4)
	var calls []call
	for _, x := range []struct {
		name     string
		dst, src device.Operand
		by       device.Quantization
	}{
		{"no scale", codes, back, device.Quantization{}},
		{"an integer as zero point of floats", first(a, layout.Float8E5M2, 4), back, device.Quantization{Scale: scale, Zero: first(c, layout.Int8, 4)}},
		{"a zero point that is a float", codes, back, device.Quantization{Scale: scale, Zero: first(c, layout.Float16, 4)}},
		{"a zero point in dst", codes, back, device.Quantization{Scale: scale, Zero: operand(a, layout.Int8, dense(3, 4))}},
		{"32 bits as a result", first(a, layout.Int32, 4), back, device.Quantization{Scale: scale}},
		{"powers of two as a result", first(a, layout.Float8E8M0, 4), back, device.Quantization{Scale: scale}},
		{"long floats as a result", first(a, layout.Float16, 4), back, device.Quantization{Scale: scale}},
		{"64 bits", codes, first(b, layout.Float64, 4), device.Quantization{Scale: scale}},
		{"a foreign scale", codes, back, device.Quantization{Scale: first(foreign, layout.Float32, 4)}},
		{"scales found for int4", first(a, layout.Int4, 4), back, device.Quantization{Scale: found, FindScale: true}},
		{"scales found of integers", codes, first(b, layout.Int32, 4), device.Quantization{Scale: found, FindScale: true}},
		{"scales found beside a zero point", codes, back, device.Quantization{Scale: found, Zero: first(c, layout.Int8, 4), FindScale: true}},
		{"scales found by a precision", codes, back, device.Quantization{Scale: found, Precision: layout.Float16, FindScale: true}},
		{"scales found of 8 bits", codes, back, device.Quantization{Scale: repeated(c, layout.Float8E5M2, 4), FindScale: true}},
		{"powers of two found as floats", first(a, layout.Float4E2M1, 4), back, device.Quantization{Scale: found, FindScale: true}},
		{"scales found of single elements", codes, back, device.Quantization{Scale: scale, FindScale: true}},
		{"scales found of one number", operand(a, layout.Int8, dense(0)), operand(b, layout.Float32, dense(0)), device.Quantization{Scale: operand(c, layout.Float32, dense(0)), FindScale: true}},
		{"one scale found of two blocks", operand(a, layout.Int8, dense(0, 2, 2)), operand(b, layout.Float32, dense(0, 2, 2)), device.Quantization{Scale: operand(c, layout.Float32, strided([]int64{2, 2}, []int64{0, 0}, 0)), FindScale: true}},
		{"scales found in dst", codes, back, device.Quantization{Scale: repeated(a, layout.Float32, 4), FindScale: true}},
		{"scales found in src", codes, back, device.Quantization{Scale: operand(b, layout.Float32, strided([]int64{4}, []int64{0}, 3)), FindScale: true}},
		{"scales found in no buffer", codes, back, device.Quantization{FindScale: true}},
		{"foreign scales found", codes, back, device.Quantization{Scale: repeated(foreign, layout.Float32, 4), FindScale: true}},
	} {
		calls = append(calls, call{"quantize: " + x.name, func() error { return r.q.Quantize(x.dst, x.src, x.by) }})
	}
	return calls
}
