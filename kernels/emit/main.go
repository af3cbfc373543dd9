// Command emit writes the kernels as one program in a dialect:
//
//	go run ./kernels/emit cuda > kernels.cu
//
// Kernels for processors that run work-groups as loops are left out, unless
// -serial is given.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"

	"github.com/restride/restride/kernels"
)

func main() {
	serial := flag.Bool("serial", false, "serial kernels, too")
	flag.Parse()
	d := kernels.Dialect(flag.Arg(0))
	if !slices.Contains([]kernels.Dialect{kernels.OpenCL, kernels.CUDA, kernels.Host}, d) || flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: emit [-serial] opencl|cuda|host")
		os.Exit(2)
	}
	specs := slices.DeleteFunc(kernels.Specs(), func(s kernels.Spec) bool { return s.Serial && !*serial })
	if _, err := fmt.Print(kernels.Source(d, specs...)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
