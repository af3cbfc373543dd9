package report

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/bench/cases"
)

func TestBar(t *testing.T) {
	for part, want := range map[float64][2]string{
		0:    {"          ", "          "},
		.5:   {"#####     ", "█████     "},
		.54:  {"#####     ", "█████▍    "},
		.01:  {"          ", "▏         "},
		.99:  {"##########", "█████████▉"},
		1:    {"##########", "██████████"},
		1.04: {"##########", "█████████▶"},
		1.2:  {"#########>", "█████████▶"},
		1e30: {"#########>", "█████████▶"},
		-1:   {"          ", "          "},
	} {
		assert.Equal(t, want[0], bar(part, false), part)
		assert.Equal(t, want[1], bar(part, true), part)
	}
}

// The table of all cases fits a terminal of 100 columns, and its columns are aligned, with
// either kind of bars.
func TestTableWidth(t *testing.T) {
	r := example(t).Devices[0]
	one := r.Cases[0]
	r.Cases = nil
	for i, c := range cases.All() {
		next := *one
		next.Name, next.Kernel, next.Ratio = c.Name, "bits.dense.4", float64(i)/40
		r.Cases = append(r.Cases, &next)
	}
	for _, blocks := range []bool{false, true} {
		var out bytes.Buffer
		table := &Table{W: &out, Blocks: blocks}
		table.Close(r)
		lines := strings.Split(out.String(), "\n")
		var rows []string
		for i, l := range lines {
			if strings.HasPrefix(l, "case ") {
				rows = lines[i : i+1+len(r.Cases)]
			}
		}
		require.NotEmpty(t, rows)
		for _, l := range rows {
			assert.Equal(t, utf8.RuneCountInString(rows[0]), utf8.RuneCountInString(l), l)
			assert.LessOrEqual(t, utf8.RuneCountInString(l), 100, l)
		}
		assert.Equal(t, blocks, strings.Contains(out.String(), "█"))
	}
}

// Lines come when their figures cover all passes, in the order of the cases; the remaining
// lines of an interrupted run come at the end.
func TestTableUpdate(t *testing.T) {
	r := example(t).Devices[0]
	last := r.Cases[len(r.Cases)-1]
	passes := last.Time.Passes
	last.Time.Passes = passes[:2]

	var out bytes.Buffer
	table := &Table{W: &out}
	roof := r.Roofline.Copy.Passes
	r.Roofline.Copy.Passes = roof[:1]
	assert.False(t, table.Update(r))
	assert.Empty(t, out.String())
	r.Roofline.Copy.Passes = roof
	assert.True(t, table.Update(r))
	assert.Contains(t, out.String(), r.Cases[0].Name+" ")
	assert.NotContains(t, out.String(), last.Name+" ")
	assert.False(t, table.Update(r))
	table.Close(r)
	assert.Equal(t, 1, strings.Count(out.String(), "\n"+last.Name+" "))
	assert.Equal(t, 1, strings.Count(out.String(), "\ncase "))
}
