// Command transpose writes the kernels for transposes.
package main

import (
	"github.com/restride/restride/internal/simd/asm/emit"
)

func main() {
	for _, size := range []int{1, 2, 4, 8, 16} {
		for _, lanes := range []int{1, 2, 4} {
			transposer{size: size, lanes: lanes}.write()
			// A line that is not written at once must be among the few that a
			// processor can have begun.
			if lanes == 4 || lanes == 2 && size >= 8 {
				transposer{size: size, lanes: lanes, stream: true}.write()
			}
		}
	}
	for _, size := range []int{1, 2} {
		transposer{size: size, lanes: 4, few: true, stream: true}.write()
	}
	for _, lanes := range []int{2, 4} {
		scatterRows(lanes)
		for _, width := range []int{2, 4} {
			split{width, lanes}.write()
		}
	}
	for _, lanes := range []int{1, 4} {
		permute3{lanes, false}.write()
		permute3{lanes, true}.write()
	}
	emit.WriteFiles()
}
