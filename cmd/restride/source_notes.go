package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/quant"
)

// sourceNotes say what a source has that nothing uses: tensors that its index leaves out, tensors beside
// weights, fields of its configuration, and tensors of types that are not known.
func sourceNotes(c *checkpoint.Checkpoint, d *described, f found) (all []string) {
	add := func(what string, names []string) {
		if len(names) > 0 {
			all = append(all, fmt.Sprintf("%s: %s", what, some(names)))
		}
	}
	add("tensors that the index leaves out", c.Unlisted)
	add("files that are not there", c.Missing)
	if d.config != nil {
		add("not used in "+d.by, d.config.Unused)
	}
	var beside []string
	for _, w := range f.weights {
		for _, t := range w.Beside {
			beside = append(beside, t.Name)
		}
	}
	add("tensors beside weights, whose effect is not known", beside)
	var experts []string
	for _, t := range f.rest {
		if len(t.Dims) == 3 && strings.Contains(t.Name, "experts") && strings.Contains("F16 BF16 F32", t.Type) {
			experts = append(experts, t.Name)
		}
	}
	add("experts that stay as they are, whose names do not say which axis is which", experts)
	return append(all, unknownTypes(f.rest)...)
}

// unknownTypes names the types of tensors that look quantised and are of no weight.
func unknownTypes(rest []quant.Tensor) (all []string) {
	count := map[string]int{}
	for _, t := range rest {
		kind, err := checkpoint.GGUF.Type(t.Type)
		if err == nil && kind.Block > 1 || unknownType(t) || strings.HasPrefix(t.Type, "F8_E4") || strings.HasPrefix(t.Type, "F8_E5") {
			count[t.Type]++
		}
	}
	for _, typ := range slices.Sorted(maps.Keys(count)) {
		all = append(all, fmt.Sprintf("%d tensors of type %s are of no weight: its numbers are not known here", count[typ], strings.TrimPrefix(typ, unknownPrefix)))
	}
	return all
}

// unknownPrefix begins the names of GGUF's types of which only the number is known.
const unknownPrefix = "type "

// unknownType reports whether a tensor has such a type.
func unknownType(t quant.Tensor) bool { return strings.HasPrefix(t.Type, unknownPrefix) }

// mostNamed is the most names in a note.
const mostNamed = 5

// some lists some of the names, and how many there are.
func some(names []string) string {
	var out []string
	for _, n := range names[:min(len(names), mostNamed)] {
		out = append(out, quote.Plain(n))
	}
	if n := len(names) - mostNamed; n > 0 {
		out = append(out, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(out, ", ")
}
