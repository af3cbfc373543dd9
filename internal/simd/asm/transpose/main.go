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
				if size <= 8 {
					streamer{transposer: t, placed: true}.write()
				}
				if size <= 4 {
					streamer{transposer: t, staged: true}.write()
					streamer{transposer: t, staged: true, placed: true}.write()
				}
				if size <= 2 {
					streamer{transposer: t, few: true}.write()
				}
			}
		}
	}
	for _, width := range []int{2, 4} {
		for _, n := range []int{1, 2, 4} {
			t := transposer{size: 1, lanes: n}
			packer{transposer: t, width: width}.write()
			if n > 1 {
				packer{transposer: t, width: width, past: true}.write()
				packer{transposer: t, width: width, past: true, staged: true}.write()
			}
		}
	}
	fetchRows()
	for _, lanes := range []int{2, 4} {
		scatterRows(lanes)
	}
	split3Lines()
	for _, lanes := range []int{1, 4} {
		permute3{lanes, false}.write()
		permute3{lanes, true}.write()
	}
	emit.WriteFiles()
}
