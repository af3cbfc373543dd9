package opencl

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/oracle"
)

// inexact are faults of arithmetic, planted in the trial, and the remaining arithmetic.
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
	"doubles do not compile":  {"__global const ulong", "__global const nothing", floats},
	"floats do not compile":   {"__global const uint", "__global const nothing", 0},
	"the trial has no kernel": {"try_floats", "try_nothing", 0},
}

// TestArithmeticIsTried: a device's own arithmetic is used as far as it is exact.
func TestArithmeticIsTried(t *testing.T) {
	for name, fault := range inexact {
		t.Run(name, func(t *testing.T) {
			dev := cached(t, "off")
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

// judges returns the device's arithmetic, and the number of compilations of the trial.
func judges(t *testing.T, dev *Device) (is arithmetic, compiled int) {
	t.Helper()
	compile := dev.driver.programs.compile
	dev.driver.programs.compile = func(source, options string) (uintptr, error) {
		compiled++
		return compile(source, options)
	}
	is = dev.driver.programs.arithmetic()
	require.Equal(t, is, dev.driver.programs.arithmetic())
	require.NoError(t, dev.Close())
	return is, compiled
}

// TestArithmeticIsKept: the trial is compiled once, as the disk cache keeps its verdict. An
// entry that cannot be a verdict is ignored.
func TestArithmeticIsKept(t *testing.T) {
	folder := t.TempDir()
	dev := cached(t, folder)
	claim, p := dev.driver.properties.arithmetic, &dev.driver.programs
	if claim == 0 {
		t.Skip("the device claims none")
	}
	key := p.key("trial of arithmetic "+trialNumbers, p.trial, buildOptions+claim.options())
	proven, compiled := judges(t, dev)
	require.Equal(t, 1, compiled)
	require.Len(t, files(t, folder), 1)
	is, compiled := judges(t, cached(t, folder))
	assert.Equal(t, proven, is)
	assert.Zero(t, compiled)

	name := files(t, folder)[0]
	beyond := byte(doubles << 1)
	for what, content := range map[string][]byte{
		"no verdict":                 []byte("nonsense"),
		"a verdict beyond the known": seal([]byte{byte(proven) | beyond}, key),
		"a verdict of two bytes":     seal([]byte{byte(proven), 0}, key),
		"no byte":                    seal(nil, key),
		"another key":                seal([]byte{byte(proven)}, key+" "),
	} {
		require.NoError(t, os.WriteFile(name, content, 0o600))
		is, compiled := judges(t, cached(t, folder))
		assert.Equal(t, proven, is, what)
		assert.Equal(t, 1, compiled, what)
		is, compiled = judges(t, cached(t, folder))
		assert.Equal(t, proven, is, what)
		assert.Zero(t, compiled, "%s: it is replaced", what)
	}

	// Only claimed arithmetic is used.
	dev = cached(t, folder)
	p = &dev.driver.programs
	key = p.key("trial of arithmetic "+trialNumbers, p.trial, buildOptions+floats.options())
	p.disk.store(key, []byte{byte(floats | doubles)})
	is, err := dev.driver.proven(floats)
	require.NoError(t, err)
	assert.Equal(t, floats&proven, is)
}

// TestArithmeticWithoutMemory: a trial that runs out of memory gives no verdict.
func TestArithmeticWithoutMemory(t *testing.T) {
	folder := t.TempDir()
	dev := cached(t, folder)
	if dev.driver.properties.arithmetic == 0 {
		t.Skip("the device claims none")
	}
	p := &dev.driver.programs
	compile := p.compile
	p.compile = func(string, string) (uintptr, error) { return 0, clBuildProgram.check(outOfHostMemory) }
	assert.Zero(t, p.arithmetic())
	assert.Empty(t, files(t, folder))
	p.compile = compile
	assert.NotZero(t, p.arithmetic(), "the next kernel tries again")
	assert.Len(t, files(t, folder), 1)
}

func TestClaimedArithmetic(t *testing.T) {
	const exact, divides = fpDenorm | fpInfNaN | fpRoundToNearest, fpCorrectlyRoundedDivide
	assert.Equal(t, floats, claimed(exact, exact, false))
	assert.Equal(t, floats|quotients|doubles, claimed(exact|divides, exact, true))
	assert.Zero(t, claimed(exact&^fpDenorm|divides, exact, true))
	assert.Zero(t, claimed(exact&^fpRoundToNearest, exact, true))
	assert.Equal(t, floats, claimed(exact, exact&^fpDenorm, true))
}

// TestArithmeticOnIntegers: results are the same without a device's own arithmetic.
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
