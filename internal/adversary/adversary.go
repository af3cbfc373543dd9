// Package adversary has generators of random input, valid and broken, each with an
// oracle that says what must become of it, and the loop that tries them on devices
// (command soak). A generator is a file or a few, and a call of register in an init:
//
//	func init() { register(Generator{Name: "casts", About: "...", Try: tryCast}) }
//
// Tests of this package run every generator for a moment.
package adversary

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/restride/restride/tensor"
)

// A Trial is what one try has to work with.
type Trial struct {
	// Stream is on the device under test. It outlives the try: whatever the try has
	// made on it, or on [tensor.Host], must be released when it ends.
	Stream *tensor.Stream
	// Rand is all that a try may depend on: the same numbers are the same try.
	Rand *rand.Rand
	// Dir is an empty folder for the try, whose content is removed afterwards.
	Dir string
}

// A Generator makes random input and holds what becomes of it against an oracle.
type Generator struct {
	Name  string
	About string // a line for users: what is made, and what it is compared with
	// Host: the device makes no difference. It is tried on the first device only.
	Host bool
	// Try is one try: nil, or what went wrong. A panic is wrong, too, and so is what
	// is left behind: memory of the device, goroutines.
	Try func(*Trial) error
}

var registry []Generator

// register makes a generator known.
func register(g Generator) { registry = append(registry, g) }

// Generators returns all generators, by name.
func Generators() []Generator {
	return slices.SortedFunc(slices.Values(registry), func(a, b Generator) int { return cmp.Compare(a.Name, b.Name) })
}

// Named returns the generators of a list of names, "graphs,casts"; of an empty one,
// all.
func Named(list string) ([]Generator, error) {
	all := Generators()
	if list == "" {
		return all, nil
	}
	var some []Generator
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(all, func(g Generator) bool { return g.Name == name })
		if i < 0 {
			var names []string
			for _, g := range all {
				names = append(names, g.Name)
			}
			return nil, fmt.Errorf("there is no generator %q; there are %s", name, strings.Join(names, ", "))
		}
		some = append(some, all[i])
	}
	return some, nil
}
