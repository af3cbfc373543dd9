package main

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/oracle"
)

func TestExplainCase(t *testing.T) {
	const transposition = "copy/float/4096x4096/dst=4096,1@0/src=1,4096@0"
	out, err := restride("explain", "--case", transposition, "--target", "132")
	require.NoError(t, err, out)
	require.Contains(t, out, "a GPU of 132 multiprocessors: transpose by tile.32; costs are estimates, in cycles on one multiprocessor\n")
	require.Regexp(t, `(?m)^blocks +- +- +only targets that are CPUs have it$`, out)
	require.Regexp(t, `(?m)^transposition +tile\.32 +\d+ +chosen$`, out)
	require.Regexp(t, `(?m)^shuffle +shuffle\.32 +\d+ +it costs more than the best kernel before it$`, out)

	out, err = restride("explain", "--case", transposition, "--device", "cpu")
	require.NoError(t, err, out)
	require.Regexp(t, `(?m)^cpu: transpose by [a-z-]+\.32; `, out)
	require.Regexp(t, `(?m)^tiles +[a-z-]+\.32 +\d+ +chosen$`, out)

	out, err = restride("explain", "--case", "fill/string/3/dst=2@0", "--device", "cpu")
	require.NoError(t, err, out)
	require.Contains(t, out, "cpu: fill by elements.string;")
}

// TestExplainCaseJSON: the names of fields are a promise.
func TestExplainCaseJSON(t *testing.T) {
	out, err := restride("explain", "--json", "--case", "fill/float/1000/dst=2@0", "--target", "132")
	require.NoError(t, err, out)
	require.JSONEq(t, `{
		"case": "fill/float/1000/dst=2@0", "target": "a GPU of 132 multiprocessors", "class": "fill", "kernel": "fill.32",
		"unit": "cycles on one multiprocessor",
		"candidates": [
			{"planner": "words", "chosen": false, "why": "it is for narrower elements, dense in the destination"},
			{"planner": "chunks", "chosen": false, "why": "partly written sectors cost less than chunks do"},
			{"planner": "elements", "kernel": "fill.32", "chosen": true}
		]}`, out)
	again, err := restride("explain", "--json", "--case", "fill/float/1000/dst=2@0", "--target", "132")
	require.NoError(t, err)
	require.Equal(t, out, again)
}

// TestExplainCaseRefuses: hostile cases are errors that name the flag and the rule.
func TestExplainCaseRefuses(t *testing.T) {
	for name, says := range map[string]string{
		"":                                      "--case: ",
		"hostile\x1b[2J\n":                      "not of the form copy/types/dims",
		"copy/int5/3":                           "not of the form",
		"copy/int5/3/dst=1@0/src=1@0":           `"int5"`,
		"copy/float/3/dst=0@0/src=1@0":          "two indices share an element of dst",
		"copy/float-double/3/dst=1@0/src=1@0":   "the element widths differ",
		"convert/string-int8/3/dst=1@0/src=1@0": "cannot be converted",
		"copy/float/9223372036854775807/dst=1@0/src=1@0":                   "overflow",
		"copy/float/99999999999x99999999999/dst=99999999999,1@0/src=1,1@0": "overflow",
		"quantize/float-int8/3/dst=1@0/src=1@0":                            "--case: ",
		"take/float/3/dst=1@0/src=1@0/at=1@0/float/by=0:1:1/wrong=0":       "--case: ",
		"map/double-float/3/dst=1@0/src=1@0/table=0":                       "--case: ",
	} {
		for _, on := range []string{"--device=cpu", "--target=132", "--target=serial"} {
			out, err := restride("explain", "--case", name, on)
			require.ErrorContains(t, err, says, name)
			require.Equal(t, misused, statusOf(err), name)
			require.NotContains(t, out+err.Error(), "\x1b")
		}
	}
	for _, args := range [][]string{
		{"--target", "132"}, {"--case", "copy/float/3/dst=1@0/src=1@0", "m.onnx"}, {"--case", "copy/float/3/dst=1@0/src=1@0", "--static"},
		{"--case", "copy/float/3/dst=1@0/src=1@0", "--target", "0"}, {"--case", "copy/float/3/dst=1@0/src=1@0", "--target", "\x1b"},
	} {
		_, err := restride(append([]string{"explain"}, args...)...)
		require.Error(t, err)
		require.Equal(t, misused, statusOf(err), "%v", err)
		require.NotContains(t, err.Error(), "\x1b")
	}
	_, err := restride("explain", "--case", "take/float/3/dst=1@0/src=0@0/at=1@0/int64/by=0:4096:1/wrong=0", "--device", "cpu")
	require.ErrorContains(t, err, "the cpu device has no candidates for it")
}

// TestExplainRandomCases: whatever restride verify takes as a case is explained.
func TestExplainRandomCases(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 8))
	for range 60 {
		o := oracle.Random(rng, oracle.Limits{MaxBytes: 1 << 20, Ops: []oracle.Op{oracle.OpCopy, oracle.OpConvert, oracle.OpFill}})
		if o.DstType.Bits() == 0 {
			continue
		}
		for _, on := range []string{"--device=cpu", "--target=132", "--target=serial"} {
			out, err := restride("explain", "--json", "--case", o.String(), on)
			require.NoError(t, err, "%v", o)
			var e explained
			require.NoError(t, json.Unmarshal([]byte(out), &e))
			require.Equal(t, o.String(), e.Case)
			chosen := 0
			for _, c := range e.Candidates {
				if c.Chosen {
					chosen++
					require.Equal(t, e.Kernel, c.Kernel)
				}
			}
			require.Equal(t, e.Kernel != "nothing", chosen == 1, "%v", o)
		}
	}
}
