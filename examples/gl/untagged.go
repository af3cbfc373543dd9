//go:build !gogl

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "this program is built with the tag gogl: go run -tags gogl,egl ./examples/gl")
	os.Exit(2)
}
