package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// table is rows of cells; the last cell of a row is text. On a terminal the table is at most as
// wide as the terminal; elsewhere each row is one line with complete cells.
type table struct {
	head     []string
	flexible []int // columns of names, which may be shortened
	// below are sets of columns that move to separate lines if the table is too wide: the
	// first set that suffices is used.
	below [][]int
	rows  [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) write(out io.Writer) error {
	if width := terminalWidth(out); width > 0 {
		dots := "..."
		if unicodeLocale() {
			dots = "…"
		}
		return t.fit(out, width, dots)
	}
	w := tabwriter.NewWriter(out, 0, 0, len(gap), ' ', 0)
	for _, cells := range t.all() {
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	return w.Flush()
}

// all are the rows, including the head.
func (t *table) all() [][]string { return append([][]string{t.head}, t.rows...) }

const (
	gap    = "  "   // between columns
	indent = "    " // before what is below
	// The fewest letters of a name, the desired number before columns move below, and the
	// desired number for a text.
	fewest, wanted, wantedText = 8, 20, 40
)

// fit writes the table for a terminal. Dots replace omitted parts of names.
func (t *table) fit(out io.Writer, width int, dots string) error {
	limit, below := t.limit(nil, width), []int(nil)
	for i := 0; i < len(t.below) && limit < wanted; i++ {
		below = t.below[i]
		limit = t.limit(below, width)
	}
	limit = max(limit, fewest)
	widths, last := t.widths(), len(t.head)-1
	for _, i := range t.flexible {
		if slices.Contains(below, i) {
			t.shorten(i, width-len(indent), dots)
			continue
		}
		t.shorten(i, limit, dots)
		widths[i] = min(widths[i], limit)
	}
	left := width // for the last column
	for i, w := range widths {
		if i != last && !slices.Contains(below, i) {
			left -= w + len(gap)
		}
	}
	var b strings.Builder
	for _, cells := range t.all() {
		var line, under []string
		for i, cell := range cells {
			switch {
			case slices.Contains(below, i):
				if cell != "" {
					under = append(under, cell)
				}
			case i == last:
				text := wrap(cell, max(left, 1))
				line = append(line, strings.Join(text, "\n"+strings.Repeat(" ", width-left)))
			default:
				line = append(line, cell+strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(cell))))
			}
		}
		if text := strings.TrimRight(strings.Join(line, gap), " "); text != "" {
			fmt.Fprintln(&b, text)
		}
		for _, text := range wrap(strings.Join(under, gap), width-len(indent)) {
			fmt.Fprintln(&b, indent+text)
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// widths are the widths of the columns.
func (t *table) widths() []int {
	widths := make([]int, len(t.head))
	for _, cells := range t.all() {
		for i, cell := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// limit is the largest length of names with which the columns that are not below fit.
func (t *table) limit(below []int, width int) int {
	widths := t.widths()
	last := len(widths) - 1
	widths[last] = min(widths[last], wantedText)
	for limit := width; limit > 0; limit-- {
		sum := -len(gap)
		for i, w := range widths {
			switch {
			case slices.Contains(below, i):
				continue
			case slices.Contains(t.flexible, i):
				w = min(w, limit)
			}
			sum += w + len(gap)
		}
		if sum <= width {
			return limit
		}
	}
	return 0
}

// shorten omits the middle of a column's long names. Different names stay different: if the
// letters that distinguish them do not fit, they stay whole.
func (t *table) shorten(column, limit int, dots string) {
	short := map[string]string{} // by name
	alike := map[string][]string{}
	var looks []string // shortened forms that are alike, in order
	for _, cells := range t.rows {
		name := cells[column]
		if _, seen := short[name]; seen {
			continue
		}
		look := middle(name, limit, dots)
		if alike[look] == nil {
			looks = append(looks, look)
		}
		short[name], alike[look] = look, append(alike[look], name)
	}
	for _, look := range looks {
		names := alike[look]
		if len(names) == 1 {
			continue
		}
		apart := tellApart(names, limit, dots)
		for i, name := range names {
			short[name] = name
			if apart != nil && alike[apart[i]] == nil {
				short[name], alike[apart[i]] = apart[i], names
			}
		}
	}
	for _, cells := range t.rows {
		cells[column] = short[cells[column]]
	}
}

// middle shortens a name to limit letters: half from its start, half from its end.
func middle(name string, limit int, dots string) string {
	letters := []rune(name)
	if len(letters) <= limit {
		return name
	}
	room := limit - utf8.RuneCountInString(dots)
	return string(letters[:(room+1)/2]) + dots + string(letters[len(letters)-room/2:])
}

// tellApart shortens names that would otherwise look alike: it keeps the difference, some letters
// before it, and some of the names' first and last letters. nil: there is not enough room.
func tellApart(names []string, limit int, dots string) (short []string) {
	all := make([][]rune, len(names))
	for i, name := range names {
		all[i] = []rune(name)
	}
	before, after, longest := len(all[0]), len(all[0]), 0
	for _, name := range all {
		before = min(before, common(all[0], name, func(name []rune, i int) rune { return name[i] }))
		after = min(after, common(all[0], name, func(name []rune, i int) rune { return name[len(name)-1-i] }))
		longest = max(longest, len(name))
	}
	for _, name := range all { // the two may overlap
		after = min(after, len(name)-before)
	}
	room := limit - 2*utf8.RuneCountInString(dots) - (longest - before - after)
	if room < 0 {
		return nil
	}
	lead, tail := min(room/3, before), min(room/3, after)
	head := min(room-lead-tail, before-lead)
	for _, name := range all {
		text := string(name[:head])
		if head+lead < before {
			text += dots
		}
		text += string(name[before-lead : len(name)-after])
		if tail < after {
			text += dots
		}
		short = append(short, text+string(name[len(name)-tail:]))
	}
	return short
}

// common is the number of letters that two names have in common, in the order of at.
func common(a, b []rune, at func(name []rune, i int) rune) (n int) {
	for n < min(len(a), len(b)) && at(a, n) == at(b, n) {
		n++
	}
	return n
}

// wrap splits a text into lines between words, and within words that are longer than a line.
func wrap(text string, width int) (lines []string) {
	line := []rune(text)
	for len(line) > width {
		at := width
		for at > 0 && line[at] != ' ' {
			at--
		}
		if at == 0 {
			lines, line = append(lines, string(line[:width])), line[width:]
			continue
		}
		lines, line = append(lines, strings.TrimRight(string(line[:at]), " ")), []rune(strings.TrimLeft(string(line[at:]), " "))
	}
	if len(line) > 0 {
		lines = append(lines, string(line))
	}
	return lines
}
