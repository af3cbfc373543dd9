// Command take writes the kernels that copy rows from anywhere.
package main

import (
	"github.com/restride/restride/internal/simd/asm/emit"
)

func main() {
	for _, v := range emit.Both {
		take(v)
		offsets(v, 32)
		offsets(v, 64)
	}
	fetch()
	emit.WriteFiles()
}
