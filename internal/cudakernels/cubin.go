package cudakernels

import (
	"archive/zip"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"strings"

	"github.com/restride/restride/internal/planner"
)

// Compiled kernels (cubins) are an option of the build: make cubins writes the archive
// cubins.zip, which the build tag cubins embeds. It has a folder for each architecture,
// sm_90.

// Cubins returns the compiled kernels of the build; nil: it has none.
func Cubins() (fs.FS, error) {
	if cubinArchive == "" {
		return nil, nil
	}
	files, err := zip.NewReader(strings.NewReader(cubinArchive), int64(len(cubinArchive)))
	if err != nil {
		return nil, fmt.Errorf("the embedded cubins: %w", err)
	}
	return files, nil
}

// CubinName is a compiled kernel's file in an archive. It depends on the program that it
// was compiled from, so that one of another version is not taken for it.
func CubinName(architecture int, s planner.Spec, ptx []byte) string {
	sum := sha256.Sum256(ptx)
	return fmt.Sprintf("sm_%d/%v.%x.cubin", architecture, s, sum[:8])
}

// Architectures are the compute capabilities that cubins are made for: 80 for 8.0.
func Architectures() []int { return []int{80, 90, 100} }

// ArchitectureFor returns the architecture whose cubins run on a GPU of a compute
// capability: the newest of the same major version that is not newer; 0: there is none.
func ArchitectureFor(capability int) int {
	best := 0
	for _, a := range Architectures() {
		if a/10 == capability/10 && a <= capability {
			best = max(best, a)
		}
	}
	return best
}
