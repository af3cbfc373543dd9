package simd_test

import (
	"encoding/binary"
	"math"
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/simd"
)

// scalings has, for each kernel, the bytes of its elements, its table and the rule, by an
// element's place. Kernels for a line use the terms at the line's place.
var scalings = map[string]linesRule{
	"ScaleFloat":     {4, 4, byTerms, func(x uint64, at int) uint64 { return scaleFloat(x, at/16) }},
	"ScaleFloats":    {4, 4, byTerms, scaleFloat},
	"DivideFloat":    {4, 4, byTerms, func(x uint64, at int) uint64 { return divideFloat(x, at/16) }},
	"DivideFloats":   {4, 4, byTerms, divideFloat},
	"QuantizeFloat":  {4, 4, byTerms, func(x uint64, at int) uint64 { return quantizeFloat(x, at/16) }},
	"QuantizeFloats": {4, 4, byTerms, quantizeFloat},
	"QuantizeBytes": {4, 1, byTerms, func(x uint64, at int) uint64 {
		return uint64(uint8(int(math.Float32frombits(uint32(quantizeFloat(x, at/16))))))
	}},
	"LookUpEach16":   {1, 2, (*byte)(unsafe.Pointer(choices)), func(x uint64, at int) uint64 { return choose(x, at, 2) }},
	"LookUpPacked16": {1, 4, (*byte)(unsafe.Pointer(choices)), func(x uint64, at int) uint64 { return choose(x&15, 2*at, 2) | choose(x>>4, 2*at+1, 2)<<16 }},
	"LookUpEach32":   {1, 4, (*byte)(unsafe.Pointer(choices)), func(x uint64, at int) uint64 { return choose(x, at, 4) }},
	"CodeFloat":      {4, 4, byTerms, func(x uint64, at int) uint64 { return codeFloat(x, at/16) }},
	"StepFloat":      {4, 4, byTerms, func(x uint64, at int) uint64 { return stepFloat(x, at/16) }},
	"BoundFloat":     {4, 4, (*byte)(unsafe.Pointer(new([64][2]float32))), func(x uint64, _ int) uint64 { return boundFloat(x) }},
	"MapBytes":       {1, 1, &bytes[0], func(x uint64, _ int) uint64 { return uint64(bytes[x]) }},
}

var (
	terms = func() *simd.Terms {
		t := &simd.Terms{Limits: simd.Limits{Least: -120, Most: 133, Bias: .25, None: 7, Half: .5}}
		for i := range simd.MostTerms {
			t.Zero[i], t.Scale[i], t.Add[i] = float32(i%9), 1/float32(3-i%7), float32(-i)/3
		}
		return t
	}()
	byTerms = (*byte)(unsafe.Pointer(terms))
	choices = func() *simd.Choices {
		c := new(simd.Choices)
		for i := range c.At {
			c.At[i] = uint32(i/2*37%128) * 32
		}
		for i := range c.Tables {
			copy(c.Tables[i][:], noise(64 + i)[i:])
		}
		return c
	}()
	bytes = noise(256)
)

func scaleFloat(x uint64, term int) uint64 {
	d := math.Float32frombits(uint32(x)) - terms.Zero[term]
	p := float32(d * terms.Scale[term])
	return clean(p+terms.Add[term], 0)
}

func divideFloat(x uint64, term int) uint64 {
	return bitsOf(math.Float32frombits(uint32(x)) / terms.Scale[term])
}

func quantizeFloat(x uint64, term int) uint64 {
	v := float64(math.Float32frombits(uint32(divideFloat(x, term))))
	if v != v {
		v = 0
	}
	sum := math.RoundToEven(v) + float64(terms.Zero[term])
	return bitsOf(float32(min(max(sum, float64(terms.Least)), float64(terms.Most))))
}

func codeFloat(x uint64, term int) uint64 {
	v := float32(math.Float32frombits(uint32(x)) * terms.Scale[term])
	if v += terms.Bias; v != v {
		v = terms.None
	}
	v = min(max(v, terms.Least), terms.Most)
	v += float32(math.Copysign(float64(terms.Half), float64(v)))
	return bitsOf(float32(math.Trunc(float64(v))))
}

func stepFloat(x uint64, term int) uint64 {
	v, code := float64(float32(math.Float32frombits(uint32(x))*terms.Scale[term])), 0
	for _, step := range []float64{.25, .75, 1.25, 1.75, 2.5, 3.5, 5} {
		if math.Abs(v) > step {
			code++
		}
	}
	if code > 0 && v < 0 {
		code += 8
	}
	return bitsOf(float32(code))
}

func boundFloat(x uint64) uint64 {
	v := math.Float32frombits(uint32(x))
	if v != v {
		return 0
	}
	return bitsOf(min(max(v, -math.MaxFloat32), math.MaxFloat32))
}

// TestBoundFloat: each line's largest and least number are found.
func TestBoundFloat(t *testing.T) {
	each(t, func(t *testing.T, k *simd.Kernels) {
		if k.BoundFloat == nil {
			t.Skip("there is none")
		}
		const lines = 40
		src := floats(64 * lines)
		var found [lines + 1][2]float32
		k.BoundFloat(&src[0], &src[0], lines, (*byte)(unsafe.Pointer(&found)), false)
		for line := range lines {
			want := [2]float32{-math.MaxFloat32, math.MaxFloat32}
			for i := range 16 {
				v := math.Float32frombits(binary.LittleEndian.Uint32(src[64*line+4*i:]))
				want = [2]float32{max(want[0], v), min(want[1], v)}
			}
			require.Equal(t, want, found[line], line)
		}
		require.Zero(t, found[lines])
	})
}

func choose(x uint64, at, size int) uint64 {
	all := unsafe.Slice(&choices.Tables[0][0], unsafe.Sizeof(choices.Tables))
	var entry [8]byte
	copy(entry[:size], all[int(choices.At[at*size/64])+int(x)*size:])
	return binary.LittleEndian.Uint64(entry[:])
}

func TestScalings(t *testing.T) {
	each(t, func(t *testing.T, k *simd.Kernels) {
		testLines(t, reflect.ValueOf(k.Scalings), scalings, []int{0, 1, 2, 3, 7, 33, 64})
	})
}

// TestMapBytes finds every byte.
func TestMapBytes(t *testing.T) {
	each(t, func(t *testing.T, k *simd.Kernels) {
		if k.MapBytes == nil {
			t.Skip("there is none")
		}
		var all, got [256]byte
		for i := range all {
			all[i] = byte(i)
		}
		k.MapBytes(&got[0], &all[0], 4, &bytes[0], false)
		require.Equal(t, bytes, got[:])
	})
}
