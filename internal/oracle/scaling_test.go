package oracle

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestSteps: rounding twice is correct, compared with exact fractions.
func TestSteps(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	float := func() float32 {
		bits := rng.Uint32()
		switch rng.IntN(4) {
		case 0:
			bits &= 0x80ffffff // subnormal, or nearly
		case 1:
			bits &= 0xffff0000
		}
		if v := math.Float32frombits(bits); v == v && !math.IsInf(float64(v), 0) && v != 0 {
			return v
		}
		return 1
	}
	exact := func(v float32) *big.Rat { return new(big.Rat).SetFloat64(float64(v)) }
	check := func(what string, a, b, got float32, want *big.Rat) {
		t.Helper()
		if w, _ := want.Float32(); got != w {
			t.Fatalf("%v %s %v is %v, want %v", a, what, b, got, w)
		}
	}
	for range 20000 {
		a, b := float(), float()
		if rng.IntN(3) == 0 {
			b = math.Float32frombits(math.Float32bits(a) ^ 1<<rng.IntN(32))
			if b != b || b == 0 || math.IsInf(float64(b), 0) {
				b = a
			}
		}
		check("*", a, b, times(a, b), new(big.Rat).Mul(exact(a), exact(b)))
		check("+", a, b, plus(a, b), new(big.Rat).Add(exact(a), exact(b)))
		check("/", a, b, over(a, b), new(big.Rat).Quo(exact(a), exact(b)))
	}
}
