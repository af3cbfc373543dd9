// Package simd has the vector kernels of the cpu device: small functions in
// assembly that move elements within registers, for x86 processors that have AVX2 or
// AVX-512, found at run time, and for arm64, which always has NEON. Everywhere else,
// and for what has no kernel here, package cpu has loops in Go.
//
// The assembly is written by the programs in asm, a module of its own, so that who
// imports this one needs none of their tools. "go generate" runs them.
//
// A kernel checks nothing: addresses, extents and steps are the caller's. All of
// them are in bytes but where a parameter's name says otherwise.
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
//go:generate go run -C asm ./neon -out ../neon_arm64.s -stubs ../neon_arm64.go -pkg simd

// Level is a set of instructions. Each of an architecture's levels, whose names are
// levelNames, has what those before it have.
type Level uint8

// None has no kernels: it is there on every architecture.
const None Level = 0

func (l Level) String() string { return levelNames[l] }

// Kernels are those of a level. One that is nil does not exist there.
type Kernels struct {
	Level Level
	Rows
	Transposes
	Bits
	Casts
	Takes
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

// Levels returns what this processor has, the least first.
func Levels() []Level {
	var all []Level
	for l := None; l <= detected; l++ {
		all = append(all, l)
	}
	return all
}

// Of returns the kernels of a level of Levels.
func Of(l Level) *Kernels { return &tables[min(l, detected)] }

// Variable names the environment variable that keeps Best from using more than the
// level that it names: go, or on amd64 avx2 or avx512, or on arm64 neon.
const Variable = "RESTRIDE_SIMD"

// Best returns the kernels to use. An error: Variable is set to no level's name
// on this architecture, and is ignored.
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
