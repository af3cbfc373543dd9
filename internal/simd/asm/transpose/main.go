// Command transpose writes the kernels for transposes.
package main

import (
	. "github.com/mmcloughlin/avo/build"
)

func main() {
	for _, size := range []int{1, 2, 4, 8, 16} {
		for _, lanes := range []int{1, 2, 4} {
			turn{size: size, lanes: lanes}.write()
			if lanes > 1 {
				turn{size: size, lanes: lanes, stream: true}.write()
			}
		}
	}
	place(2)
	place(4)
	Generate()
}
