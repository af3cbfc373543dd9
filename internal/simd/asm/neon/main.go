// Command neon writes the kernels for arm64.
package main

import (
	. "github.com/restride/restride/internal/simd/asm/arm64"
)

func main() {
	for _, t := range []transposer{{1, 1}, {2, 1}, {2, 2}, {4, 1}, {4, 4}, {8, 1}, {8, 4}, {16, 1}, {16, 4}} {
		t.write()
	}
	for _, width := range []int{2, 4} {
		split(width)
	}
	permute3()
	move()
	for count := 1; count <= 4; count++ {
		pick(count)
	}
	belowBytes()
	casts()
	for size := 1; size <= 16; size *= 2 {
		blend(size)
	}
	Generate()
}
