package opencl

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device/oracle"
)

// inexact are faults of arithmetic, planted in its trial, and what is left of a claim.
var inexact = map[string]struct {
	right, wrong string
	left         arithmetic
}{
	"none": {},
	"subnormal numbers are taken for zero": {
		"const uint a = in[3 * i],", "const uint a = (in[3 * i] & 0x7f800000) ? in[3 * i] : in[3 * i] & 0x80000000,", 0,
	},
	"subnormal products are flushed": {
		"out[4 * i + 1] = PRODUCT_OF(a, b);", "const uint p = PRODUCT_OF(a, b); out[4 * i + 1] = (p & 0x7f800000) ? p : p & 0x80000000;", 0,
	},
	"a product and a sum are fused": {
		"SUM_OF(PRODUCT_OF(a, b), c)", "AS_BITS(fma(AS_FLOAT(a), AS_FLOAT(b), AS_FLOAT(c)))", 0,
	},
	"sums are rounded to zero": {
		"out[4 * i] = SUM_OF(a, b);", "const uint s = SUM_OF(a, b); out[4 * i] = fma(AS_FLOAT(a), 1.0f, AS_FLOAT(b) - AS_FLOAT(s)) == 0 ? s : s - 1;", 0,
	},
	"quotients are products with a reciprocal": {
		"= QUOTIENT_OF(a, b)", "= AS_BITS(AS_FLOAT(a) * (1.0f / AS_FLOAT(b)))", floats | doubles,
	},
	"doubles are fused": {
		"DOUBLE_SUM_OF(DOUBLE_PRODUCT_OF(a, b), c)", "as_ulong(fma(as_double(a), as_double(b), as_double(c)))", floats | quotients,
	},
	"doubles do not compile":  {"__global const ulong", "__global const nothing", 0},
	"the trial has no kernel": {"try_floats", "try_nothing", 0},
}

// TestArithmeticIsTried: a device's own arithmetic is used as far as it is exact.
func TestArithmeticIsTried(t *testing.T) {
	for name, fault := range inexact {
		t.Run(name, func(t *testing.T) {
			dev := openTest(t, Options{})
			defer func() { require.NoError(t, dev.Close()) }()
			claim := dev.driver.properties.arithmetic
			if fault.right == "" {
				assert.Equal(t, claim, dev.driver.programs.arithmetic())
				return
			}
			if claim != floats|quotients|doubles {
				t.Skip("the device does not claim all of it")
			}
			require.True(t, strings.Contains(dev.driver.programs.trial, fault.right))
			dev.driver.programs.trial = strings.ReplaceAll(dev.driver.programs.trial, fault.right, fault.wrong)
			assert.Equal(t, fault.left, dev.driver.programs.arithmetic())
		})
	}
}

func TestClaimedArithmetic(t *testing.T) {
	const exact, divides = fpDenorm | fpInfNaN | fpRoundToNearest, fpCorrectlyRoundedDivide
	assert.Equal(t, floats, claimed(exact, exact, false))
	assert.Equal(t, floats|quotients|doubles, claimed(exact|divides, exact, true))
	assert.Zero(t, claimed(exact&^fpDenorm|divides, exact, true))
	assert.Zero(t, claimed(exact&^fpRoundToNearest, exact, true))
	assert.Equal(t, floats, claimed(exact, exact&^fpDenorm, true))
}

// TestArithmeticOnIntegers: results are the same where a device's own arithmetic is not used.
func TestArithmeticOnIntegers(t *testing.T) {
	dev := openTest(t, Options{integers: true})
	require.Zero(t, dev.driver.programs.arithmetic())
	for _, name := range []string{
		"dequantize/float-float/5x64/dst=64,1@0/src=64,1@0/scale=float:1,0@0/zero=float:1,0@0/add=float:1,0@0",
		"quantize/float-int8/5x64/dst=64,1@0/src=64,1@0/scale=float:1,0@0",
		"put/float/64/dst=1@0/src=1@0/at=1@0/int64/by=0:5:1/wrong=0/add",
		"put/double/64/dst=1@0/src=1@0/at=1@0/int64/by=0:5:1/wrong=0/mul",
	} {
		c, err := oracle.ParseCase(name)
		require.NoError(t, err)
		for seed := range uint64(40) {
			require.NoError(t, oracle.Check(dev, c, seed))
		}
	}
}
