// Package simd has the vector kernels of the cpu device: small functions in
// assembly that move elements within registers, for x86 processors that have AVX2 or
// AVX-512, found at run time, and for arm64, which always has NEON. Everywhere else, and for
// operations without a kernel, package cpu has loops in Go.
//
// The programs in asm write the assembly; "go generate" runs them. They are a module of
// their own, so that importers of this one need none of their tools.
//
// A kernel checks nothing: the caller must check addresses, extents and steps, which are in
// bytes unless stated otherwise.
package simd

import (
	"fmt"
	"os"
	"slices"
)

//go:generate go run -C asm ./rows -out ../rows_amd64.s -stubs ../rows_amd64.go -pkg simd
//go:generate go run -C asm ./transpose -out ../transpose_amd64.s -stubs ../transpose_amd64.go -pkg simd
//go:generate go run -C asm ./bits -out ../bits_amd64.s -stubs ../bits_amd64.go -pkg simd
//go:generate go run -C asm ./casts -out ../casts_amd64.s -stubs ../casts_amd64.go -pkg simd
//go:generate go run -C asm ./take -out ../take_amd64.s -stubs ../take_amd64.go -pkg simd
//go:generate go run -C asm ./blend -out ../blend_amd64.s -stubs ../blend_amd64.go -pkg simd
//go:generate go run -C asm ./permute -out ../permute_amd64.s -stubs ../permute_amd64.go -pkg simd
//go:generate go run -C asm ./neon -out ../neon_arm64.s -stubs ../neon_arm64.go -pkg simd

// Level is a set of instructions. Each level of an architecture includes the previous ones.
type Level uint8

// None has no kernels: it exists on every architecture.
const None Level = 0

func (l Level) String() string { return levelNames[l] }

// Kernels are the kernels of a level; nil where it has none.
type Kernels struct {
	Level Level
	Rows
	Transposes
	Bits
	Casts
	Scalings
	Takes
	Permutes
	Blends
}

var tables [len(levelNames)]Kernels

func init() {
	for i := range tables {
		k := &tables[i]
		k.Level = Level(i)
		if k.Level <= detected {
			k.fill()
		}
	}
}

// Levels returns the levels of this processor, the lowest first.
func Levels() []Level {
	var all []Level
	for l := None; l <= detected; l++ {
		all = append(all, l)
	}
	return all
}

// Of returns the kernels of a level of Levels.
func Of(l Level) *Kernels { return &tables[min(l, detected)] }

// Variable is the environment variable that limits Best to a level: go, on amd64 also
// avx2 or avx512, on arm64 neon.
const Variable = "RESTRIDE_SIMD"

// Best returns the kernels to use. If Variable does not name a level of this architecture, it
// is ignored, and an error says so.
func Best() (*Kernels, error) {
	name := os.Getenv(Variable)
	if name == "" {
		return Of(detected), nil
	}
	i := slices.Index(levelNames[:], name)
	if i < 0 {
		return Of(detected), fmt.Errorf("%s=%q: want one of %v", Variable, name, levelNames)
	}
	return Of(Level(i)), nil
}
