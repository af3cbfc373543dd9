package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// layered is a table of a model's nodes, whose names differ in the middle.
func layered(n int) *table {
	t := nodeTable("SHARE")
	for i := range n {
		name := fmt.Sprintf("/model/decoder/layers.%d/self_attn/q_proj/", i)
		t.add(fmt.Sprintf("%d %sMatMul", i, name), "Transpose-21", name+"MatMul_output_0", "float[batch,16,sequence,64]", "copy (rows by rows.128)", "1048576", "50%", "no strides over its memory express this: dimensions 1 and 2 are not next to each other")
		t.add("", "", name+"second", "int64[3]", "", "", "", "")
	}
	return t
}

func fitted(t *testing.T, table *table, width int) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, table.fit(&b, width, "…"))
	return b.String()
}

func TestTableFits(t *testing.T) {
	for width := 70; width <= 400; width += 3 {
		text := fitted(t, layered(40), width)
		for line := range strings.Lines(text) {
			assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), width, "%d: %q", width, line)
			assert.Equal(t, strings.TrimRight(line, " \n")+"\n", line)
		}
		assert.Contains(t, text, "copy (rows by rows.128)")
		assert.Contains(t, text, "1048576")
		assert.Contains(t, strings.Join(strings.Fields(text), " "), "50%")
	}
	// Wide enough: each node is a line, and nothing is left out.
	text := fitted(t, layered(40), 400)
	assert.NotContains(t, text, "…")
	assert.Equal(t, 1+2*40, strings.Count(text, "\n"))
	assert.Contains(t, fitted(t, layered(3), 100), "\n    /model/decoder/layers.0/self_attn/q_proj/MatMul_output_0  float[batch,16,sequence,64]  no\n    strides over")
}

// Names that differ are not the same when they are shortened.
func TestBugShortNamesAlike(t *testing.T) {
	for _, limit := range []int{8, 12, 20, 30} {
		table := layered(40)
		before := map[string]bool{}
		for _, cells := range table.rows {
			before[cells[2]] = true
		}
		table.shorten(2, limit, "…")
		after := map[string]bool{}
		for _, cells := range table.rows {
			after[cells[2]] = true
			if utf8.RuneCountInString(cells[2]) > limit {
				assert.NotContains(t, cells[2], "…", "whole, as nothing tells it apart")
			}
		}
		assert.Len(t, after, len(before), limit)
	}
	// The middle is what is left out, visibly.
	assert.Equal(t, "/mod…t_0", middle("/model/output_0", 8, "…"))
	assert.Equal(t, "/mo..t_0", middle("/model/output_0", 8, ".."))
	assert.Equal(t, "x", middle("x", 8, "…"))
	assert.Equal(t, []string{"/model…rs.1…ut_0", "/model…rs.12…ut_0"}, tellApart([]string{"/model/layers.1/self/output_0", "/model/layers.12/self/output_0"}, 17, "…"))
	assert.Nil(t, tellApart([]string{"/a/first/name/b", "/a/other/word/b"}, 8, "…"))
}

func TestShortenRandomNames(t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		tbl := &table{head: []string{"A", "WHY"}, flexible: []int{0}}
		names := map[string]bool{}
		for range 1 + rng.IntN(30) {
			var b strings.Builder
			for range rng.IntN(40) {
				b.WriteRune([]rune("ab/é…")[rng.IntN(5)])
			}
			names[b.String()] = true
			tbl.add(b.String(), "")
		}
		tbl.shorten(0, fewest+rng.IntN(20), []string{"…", "..."}[rng.IntN(2)])
		after := map[string]bool{}
		for _, cells := range tbl.rows {
			require.True(t, utf8.ValidString(cells[0]))
			after[cells[0]] = true
		}
		require.Len(t, after, len(names))
	}
}

func TestWrap(t *testing.T) {
	assert.Equal(t, []string{"no strides", "over its", "memory"}, wrap("no strides over its memory", 10))
	assert.Equal(t, []string{"abcde", "fgh i"}, wrap("abcdefgh i", 5))
	assert.Equal(t, []string{"abcde", "fghij"}, wrap("abcde fghij", 5))
	assert.Empty(t, wrap("", 5))
	assert.Equal(t, []string{"a b"}, wrap("a b", 5))
}
