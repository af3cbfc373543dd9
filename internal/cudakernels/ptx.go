// Package cudakernels has the kernels for CUDA: as PTX, and, where a build embeds them, compiled
// for some GPUs (cubins).
package cudakernels

import (
	"archive/zip"
	_ "embed" // for the archive
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/restride/restride/internal/file"
	"github.com/restride/restride/internal/planner"
)

// ptxArchive holds the kernels as scripts/ptx.sh made them, one file each, as the
// driver compiles only those in use. To read one: unzip -p internal/cudakernels/ptx.zip element_32.ptx
//
//go:embed ptx.zip
var ptxArchive string

// ptxFiles opens the archive.
func ptxFiles() (*zip.Reader, error) {
	return zip.NewReader(strings.NewReader(ptxArchive), int64(len(ptxArchive)))
}

// ptxFolder is a variable that names a folder of programs to use instead of the archive's: a
// file for each kernel, such as element_32.ptx. Missing kernels come from the archive.
const ptxFolder = "RESTRIDE_PTX"

const mostPTX = 16 << 20 // bytes of a program

// PTX returns a kernel's program, as text.
func PTX(s planner.Spec) ([]byte, error) {
	if in := os.Getenv(ptxFolder); in != "" {
		text, err := file.Content(filepath.Join(in, s.String()+".ptx"), mostPTX)
		if !errors.Is(err, fs.ErrNotExist) {
			return text, err
		}
	}
	files, err := ptxFiles()
	if err != nil {
		return nil, err
	}
	text, err := fs.ReadFile(files, s.String()+".ptx")
	if err != nil {
		return nil, fmt.Errorf("kernel %v is not among those that were built: run make ptx: %w", s, err)
	}
	return text, nil
}
