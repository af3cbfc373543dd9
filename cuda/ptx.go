package cuda

import (
	"embed"
	"fmt"

	"github.com/restride/restride/kernels"
)

// ptx holds the kernels as scripts/ptx.sh made them, one file each: a kernel
// that nobody uses is not compiled by the driver.
//
//go:embed ptx/*.ptx
var ptx embed.FS

// ptxOf returns a kernel's program, zero-terminated.
func ptxOf(s kernels.Spec) ([]byte, error) {
	text, err := ptx.ReadFile("ptx/" + s.String() + ".ptx")
	if err != nil {
		return nil, fmt.Errorf("kernel %v is not among those that were built: run make ptx: %w", s, err)
	}
	return append(text, 0), nil
}
