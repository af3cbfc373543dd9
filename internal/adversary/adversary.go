// Package adversary has generators of random input, valid and broken, each with an oracle for
// the outcome, and the loop that tries them on devices (command soak). A generator is a file or
// a few, and a call of register in an init:
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

// A Trial holds the resources of one try.
type Trial struct {
	// Stream is on the device under test. It outlives the try: everything that the try has made
	// on it, or on [tensor.Host], must be released when it ends.
	Stream *tensor.Stream
	// Rand is the only source of variation: the same numbers are the same try.
	Rand *rand.Rand
	// Dir is an empty folder for the try, which is emptied afterwards.
	Dir string
}

// A Generator makes random input and checks the outcome with an oracle.
type Generator struct {
	Name  string
	About string // a line for users: the input, and its reference
	// Host: the device makes no difference. It is tried on the first device only.
	Host bool
	// Simulated: it is tried on the simulated CUDA device only.
	Simulated bool
	// Try is one try: nil, or the failure. A panic is a failure, too, and so are leftovers:
	// memory of the device, goroutines.
	Try func(*Trial) error
}

var registry []Generator

// register adds a generator.
func register(g Generator) { registry = append(registry, g) }

// Generators returns all generators, by name.
func Generators() []Generator {
	return slices.SortedFunc(slices.Values(registry), func(a, b Generator) int { return cmp.Compare(a.Name, b.Name) })
}

// Named returns the generators in a list of names, "graphs,casts"; for an empty one, all.
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
