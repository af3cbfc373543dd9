package ptx

import (
	"slices"
	"strings"
)

// weight is roughly the number of machine instructions for one of PTX.
func weight(opcode string) float64 {
	words := strings.Split(opcode, ".")
	last := words[len(words)-1]
	double := strings.HasSuffix(last, "64")
	wide := func(one, two float64) float64 {
		if double {
			return two
		}
		return one
	}
	has := func(word string) bool { return slices.Contains(words, word) }
	switch words[0] {
	case "ld", "st":
		if has("param") {
			return 0
		}
		return 1
	case "cvta":
		return 0
	case "mov":
		return .25
	case "cvt":
		if opcode == "cvt.s64.s32" {
			return 1
		}
		return .1
	case "add", "sub":
		return wide(1, 1.6)
	case "mul":
		if has("wide") || has("hi") {
			return 1
		}
		return wide(1, 3)
	case "shl", "shr":
		return wide(1, 1.7)
	case "setp":
		return wide(1, 1.8)
	case "selp":
		return wide(1, 1.9)
	case "and", "or", "xor", "not":
		if last == "pred" {
			return .5
		}
		return wide(.8, 1.6)
	case "min", "max":
		return wide(1, 4)
	case "bra":
		if has("uni") {
			return .3
		}
		return 1.2
	case "div":
		if last == "f32" {
			return 9 // a reciprocal, steps, and a test for a call
		}
	case "clz":
		return wide(2, 3)
	case "neg":
		return wide(1, 1.5)
	}
	return 1
}
