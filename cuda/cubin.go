package cuda

import (
	"io/fs"

	"github.com/restride/restride/internal/cudakernels"
	"github.com/restride/restride/internal/planner"
)

// cubins are compiled kernels for a device. One that is not there, or does not load, is
// compiled from its PTX by the driver.
type cubins struct {
	files        fs.FS
	architecture int // 0: none
}

// open opens the archive of the options, or of the build.
func (c *cubins) open(o Options, capability int) error {
	if c.files = o.Cubins; c.files == nil {
		var err error
		if c.files, err = cudakernels.Cubins(); c.files == nil || err != nil {
			return err
		}
	}
	c.architecture = cudakernels.ArchitectureFor(capability)
	return nil
}

// of returns a kernel's cubin; nil: there is none.
func (c *cubins) of(s planner.Spec, ptx []byte) []byte {
	if c.architecture == 0 {
		return nil
	}
	image, err := fs.ReadFile(c.files, cudakernels.CubinName(c.architecture, s, ptx))
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
