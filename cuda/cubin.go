package cuda

import (
	"archive/zip"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"strings"

	"github.com/restride/restride/internal/planner"
)

// Compiled kernels (cubins) are an option of the build: make cubins writes the archive
// cubins.zip, which the build tag cubins embeds. It has a folder for each architecture, sm_90.
// A kernel that is missing, or does not load, is compiled from its PTX by the driver.

// CubinName is a compiled kernel's file in the archive. The name depends on the program that it
// was compiled from, so that other versions do not match.
func CubinName(architecture int, s planner.Spec, ptx []byte) string {
	sum := sha256.Sum256(ptx)
	return fmt.Sprintf("sm_%d/%v.%x.cubin", architecture, s, sum[:8])
}

// Architectures are the compute capabilities that cubins are made for: 80 for 8.0.
func Architectures() []int { return []int{80, 90, 100} }

// architectureFor returns the architecture whose cubins run on a GPU of a compute
// capability: the newest of the same major version that is not newer; 0: there is none.
func architectureFor(capability int) int {
	best := 0
	for _, a := range Architectures() {
		if a/10 == capability/10 && a <= capability {
			best = max(best, a)
		}
	}
	return best
}

// cubins are the compiled kernels for a device.
type cubins struct {
	files        fs.FS
	architecture int // 0: none
}

// open opens the archive of the options, or of the build.
func (c *cubins) open(o Options, capability int) error {
	c.files, c.architecture = o.Cubins, architectureFor(capability)
	if c.files == nil && cubinArchive != "" {
		var err error
		if c.files, err = zip.NewReader(strings.NewReader(cubinArchive), int64(len(cubinArchive))); err != nil {
			return fmt.Errorf("the embedded cubins: %w", err)
		}
	}
	if c.files == nil {
		c.architecture = 0
	}
	return nil
}

// of returns a kernel's cubin; nil: there is none.
func (c *cubins) of(s planner.Spec, ptx []byte) []byte {
	if c.architecture == 0 {
		return nil
	}
	image, err := fs.ReadFile(c.files, CubinName(c.architecture, s, ptx))
	if err != nil || len(image) == 0 {
		return nil
	}
	return image
}

// unfit reports whether an error of a cubin's loading means that the driver or the GPU does not
// fit it.
func unfit(err error) bool {
	code := codeOf(err)
	return code == codeInvalidImage || code == codeNoBinary
}
