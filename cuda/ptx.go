package cuda

import (
	"archive/zip"
	_ "embed" // for the archive
	"fmt"
	"io/fs"
	"strings"

	"github.com/restride/restride/kernels"
)

// ptxArchive holds the kernels as scripts/ptx.sh made them, one file each, as the
// driver compiles only those in use. To read one: unzip -p cuda/ptx.zip element_32.ptx
//
//go:embed ptx.zip
var ptxArchive string

// ptxFiles opens the archive.
func ptxFiles() (*zip.Reader, error) {
	return zip.NewReader(strings.NewReader(ptxArchive), int64(len(ptxArchive)))
}

// PTX returns a kernel's program, as text.
func PTX(s kernels.Spec) ([]byte, error) {
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
