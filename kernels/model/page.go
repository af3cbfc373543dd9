package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// The table stands between these marks of the page.
const (
	begin = "<!-- written by make gpu-model -->\n"
	end   = "<!-- end -->\n"
)

// write puts the table into the page.
func write(page string, lines []line, assembled bool, known []string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, ok := bytes.Cut(text, []byte(begin))
	_, after, ok2 := bytes.Cut(rest, []byte(end))
	if !ok || !ok2 {
		return fmt.Errorf("%s has no place for the table", page)
	}
	return os.WriteFile(page, bytes.Join([][]byte{before, after}, []byte(begin+table(lines, assembled, known)+end)), 0o644)
}

// table is the predictions as Markdown.
func table(lines []line, assembled bool, known []string) string {
	var b strings.Builder
	registers := "Registers are the assembler's."
	if !assembled {
		registers = fmt.Sprintf("There was no assembler: %d registers are assumed for every kernel.", assumed.registers)
	}
	figures := "None of the model's constants was measured."
	if len(known) > 0 {
		figures = "Constants were measured on: " + strings.Join(known, ", ") + "."
	}
	fmt.Fprintf(&b, "%s %s\n\n| case | kernel | instructions |", registers, figures)
	for _, g := range gpus {
		fmt.Fprintf(&b, " %s |", g.name)
	}
	b.WriteString("\n|---|---|---|" + strings.Repeat("---|", len(gpus)) + "\n")
	for _, l := range lines {
		fmt.Fprintf(&b, "| %s | %s | %.0f |", l.name, l.kernel, l.each)
		for i, p := range l.on {
			fmt.Fprintf(&b, " %.0f %s, %d%s |", 100*p.share, p.bound, l.kernels[i].registers, l.kernels[i].note())
		}
		b.WriteString("\n")
	}
	return b.String()
}
