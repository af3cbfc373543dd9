// Command transpose writes the kernels for transposes.
package main

import (
	"github.com/restride/restride/internal/simd/asm/emit"
)

func main() {
	for _, size := range []int{1, 2, 4, 8, 16} {
		for _, lanes := range []int{1, 2, 4} {
			transposer{size: size, lanes: lanes}.write()
			if t := (transposer{size: size, lanes: lanes}); lanes > 1 {
				streamer{transposer: t}.write()
				if size <= 4 {
					streamer{transposer: t, staged: true}.write()
				}
				if size <= 2 {
					streamer{transposer: t, few: true}.write()
				}
			}
		}
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
