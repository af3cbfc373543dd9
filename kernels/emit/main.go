// Command emit writes the kernels' programs in a dialect: all in one, or with
// -split DIR one file for each kernel.
//
//	go run ./kernels/emit host > kernels.cpp
//	go run ./kernels/emit -split build/ptx cuda
//
// Kernels for CPUs, which run work-groups as loops, are left out, unless
// -cpu is given.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/restride/restride/internal/planner"
)

var extensions = map[planner.Dialect]string{planner.OpenCL: ".cl", planner.CUDA: ".cu", planner.Host: ".cpp"}

func main() {
	cpu := flag.Bool("cpu", false, "kernels for CPUs, too")
	split := flag.String("split", "", "write a file for each kernel into this folder")
	flag.Parse()
	d := planner.Dialect(flag.Arg(0))
	if extensions[d] == "" || flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: emit [-cpu] [-split DIR] opencl|cuda|host")
		os.Exit(2)
	}
	specs := slices.DeleteFunc(planner.Specs(), func(s planner.Spec) bool { return s.CPUTarget && !*cpu })
	if err := emit(d, specs, *split); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func emit(d planner.Dialect, specs []planner.Spec, split string) error {
	if split == "" {
		_, err := fmt.Print(planner.Source(d, specs...))
		return err
	}
	if err := os.MkdirAll(split, 0o755); err != nil {
		return err
	}
	for _, s := range specs {
		if err := os.WriteFile(filepath.Join(split, s.String()+extensions[d]), []byte(planner.Source(d, s)), 0o644); err != nil {
			return err
		}
	}
	return nil
}
