package cases

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
)

// A caller's own case has a name, or its text is one, and is the same at any size.
func TestParse(t *testing.T) {
	const text = "copy/int4/3x5/dst=5,1@1/src=-1,3@14"
	for given, name := range map[string]string{text: text, "mine=" + text: "mine", "mine/4=" + text: "mine/4", "mine/dst/4=" + text: "mine/dst/4"} {
		c, err := Parse(given)
		require.NoError(t, err)
		assert.Equal(t, name, c.Name)
		assert.Equal(t, "own", c.Class)
		for _, size := range []int64{1, 1 << 40} {
			at, err := c.At(size)
			require.NoError(t, err)
			assert.Equal(t, text, at.String())
		}
	}
}

// A case that cannot be measured is refused with the rule that it breaks.
func TestParseRefuses(t *testing.T) {
	for text, rule := range map[string]string{
		"":                                   "not of the form copy/types",
		"copy/int4":                          "not of the form copy/types",
		"mine=copy/int4":                     "not of the form copy/types",
		"a b=copy/int4/3/dst=1@0/src=1@0":    "a name has 1 to 1000 bytes, none of them a space",
		"a\x1b=copy/int4/3/dst=1@0/src=1@0":  "or what cannot be printed",
		"=copy/int4/3/dst=1@0/src=1@0":       "a name has 1 to 1000 bytes",
		"copy/string/3/dst=1@0/src=1@0":      "strings have none",
		"copy/int4/0/dst=1@0/src=1@0":        "at least one element",
		"copy/int4/3/dst=1@0/src=1@0/shared": "a buffer of its own",
		"where/int4/3/dst=1@0/src=1@0/b=1@0/cond=1@0/shared-b":                   "a buffer of its own",
		"take/int4/3/dst=1@0/src=0@0/at=1@0/int32/by=0:7:5,0:3:1/wrong=0":        "one index",
		"take/int4/3/dst=1@0/src=0@0/at=1@0/int32/by=1:7:5/wrong=0":              "at offset 0",
		"take/int4/3/dst=1@0/src=0@0/at=1@0/int32/by=0:0:5/wrong=0":              "the extent of an index is at least 1",
		"take/int4/3/dst=1@0/src=0@0/at=1@0/int8/by=0:7:5/wrong=0":               "int32 or int64",
		"put/int4/3/dst=0@0/src=1@0/at=1@0/int32/by=0:7:5/wrong=2/set":           "all indices are in range",
		"map/int16-int8/3/dst=1@0/src=1@0/table=0":                               "at most 8 bits",
		"map/int8/3/dst=1@0/src=1@0/table=3":                                     "begins at 0",
		"dequantize/uint4-float/3/dst=1@0/src=1@0/scale=float:0@0/add=float:0@0": "nothing is added",
		"dequantize/uint4-float/3/dst=1@0/src=1@0/scale=float8e5m2:0@0":          "scales are float16",
		"dequantize/uint4-float/3/dst=1@0/src=1@0":                               "scales are float16",
		strings.Repeat("a", 1001) + "=copy/int4/3/dst=1@0/src=1@0":               "1 to 1000 bytes",
		"copy/int4/99999999999x99999999999x9/dst=1,1,1@0/src=1,1,1@0":            "int64",
		"put/int4/3/dst=0@0/src=1@0/at=1@0/int32/by=0:7:5/wrong=-2/set":          "-2 elements",
	} {
		_, err := Parse(text)
		require.ErrorIs(t, err, device.ErrInvalid, text)
		assert.ErrorContains(t, err, rule, text)
	}
}

func TestRead(t *testing.T) {
	all, err := Read(strings.NewReader("# some\n\n  a/8\tcopy/uint8/3/dst=1@0/src=1@0 \nb fill/int4/3/dst=1@0"))
	require.NoError(t, err)
	require.Len(t, all, 2)
	assert.Equal(t, "a/8", all[0].Name)
	assert.Equal(t, "b", all[1].Name)
	for text, rule := range map[string]string{
		"# some\na":                       "line 2: Case: want a name and an operation",
		"a copy/int4/3/dst=1@0/src=1@0 b": "line 1: Case: want a name and an operation",
		"\na copy/int4":                   "line 2: ParseCase",
		"a copy/int4/0/dst=1@0/src=1@0":   "line 1: Case: a: it has at least one element",
		"a " + strings.Repeat("b", 1<<20): "too long",
	} {
		_, err := Read(strings.NewReader(text))
		assert.ErrorContains(t, err, rule, text)
	}
}

// Small cases differ from their fixed ones only in extents.
func TestSmall(t *testing.T) {
	for text, want := range map[string]string{
		"copy/uint8/4096x1000/dst=1000,1@0/src=1024,1@3":                                           "copy/uint8/16x1000/dst=1000,1@0/src=1024,1@3",
		"copy/uint8/16384x16384/dst=16384,1@0/src=-16384,-1@268435455":                             "copy/uint8/1x16384/dst=16384,1@0/src=-16384,-1@16383",
		"copy/float16/512x64/dst=64,1@1048576/src=1,512@9":                                         "copy/float16/128x16/dst=64,1@0/src=1,512@9",
		"take/float16/8192x4096/dst=4096,1@0/src=0,1@0/at=1,0@0/int64/by=0:16384:4096/wrong=0":     "take/float16/2x4096/dst=4096,1@0/src=0,1@0/at=1,0@0/int64/by=0:2:4096/wrong=0",
		"dequantize/uint4-float/512x64/dst=64,1@0/src=64,1@0/scale=float:1,0@0/zero=uint4:1,0@128": "dequantize/uint4-float/128x64/dst=64,1@0/src=64,1@0/scale=float:1,0@0/zero=uint4:1,0@128",
		"where/float/4096x64/dst=64,1@0/src=64,1@0/b=0,0@0/cond=1,0@0":                             "where/float/64x64/dst=64,1@0/src=64,1@0/b=0,0@0/cond=1,0@0",
		"fill/float/64/dst=-2@126":                                                                 "fill/float/64/dst=-2@126",
	} {
		c, err := Parse(text)
		require.NoError(t, err)
		small, err := c.Small(10 << 10)
		require.NoError(t, err)
		assert.Equal(t, want, small.String())
		at, err := c.At(1)
		require.NoError(t, err)
		assert.Equal(t, text, at.String(), "it stays as it is")
	}
	list, err := os.Open("../../../kernels/model/cases.txt")
	require.NoError(t, err)
	defer list.Close()
	all, err := Read(list)
	require.NoError(t, err)
	for _, c := range all {
		small, err := c.Small(256 << 10)
		require.NoError(t, err)
		dst, src, at := small.Sizes()
		assert.LessOrEqual(t, dst+src+at, int64(3<<20), "%s: %v", c.Name, small)
		assert.GreaterOrEqual(t, dst+src+at, int64(256<<10), "%s: %v", c.Name, small)
	}
}
