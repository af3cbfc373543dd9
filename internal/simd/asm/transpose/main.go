// Command transpose writes the kernels for transposes.
package main

import (
	"github.com/restride/restride/internal/simd/asm/emit"
)

func main() {
	for _, size := range []int{1, 2, 4, 8, 16} {
		for _, lanes := range []int{1, 2, 4} {
			transposer{size: size, lanes: lanes}.write()
			for _, staged := range []bool{false, true} {
				if lanes > 1 && (!staged || size <= 4) {
					streamer{transposer{size: size, lanes: lanes, stream: true}, staged}.write()
				}
			}
		}
	}
	for _, size := range []int{1, 2} {
		transposer{size: size, lanes: 4, few: true, stream: true}.write()
	}
	fetchRows()
	for _, lanes := range []int{2, 4} {
		scatterRows(lanes)
		for _, width := range []int{2, 4} {
			split{width, lanes}.write()
		}
	}
	split3Lines()
	for _, lanes := range []int{1, 4} {
		permute3{lanes, false}.write()
		permute3{lanes, true}.write()
	}
	emit.WriteFiles()
}
