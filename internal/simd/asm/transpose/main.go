// Command transpose writes the kernels for transposes.
package main

import (
	. "github.com/mmcloughlin/avo/build"
)

func main() {
	for _, size := range []int{1, 2, 4, 8, 16} {
		for _, lanes := range []int{1, 2, 4} {
			turn{size: size, lanes: lanes}.write()
			// A line that is not written at once must be among the few that a
			// processor can have begun.
			if lanes == 4 || lanes == 2 && size >= 8 {
				turn{size: size, lanes: lanes, stream: true}.write()
			}
		}
	}
	for _, size := range []int{1, 2} {
		turn{size: size, lanes: 4, few: true, stream: true}.write()
	}
	for _, lanes := range []int{2, 4} {
		place(lanes)
		for _, width := range []int{2, 4} {
			split{width, lanes}.write()
		}
	}
	for _, lanes := range []int{1, 4} {
		mix{lanes, false}.write()
		mix{lanes, true}.write()
	}
	Generate()
}
