package backends_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/readme"
)

// The README's first program, in a module outside the repository, trains without cgo.
func TestReadme(t *testing.T) {
	_, built := readme.BuildNth(t, "..", 1, "CGO_ENABLED=0")
	for _, name := range devices {
		t.Run(name, func(t *testing.T) {
			open(t, name)
			cmd := exec.Command(built)
			cmd.Env = append(os.Environ(), "GOMLX_BACKEND=restride:"+name)
			out, err := cmd.Output()
			require.NoError(t, err)
			require.Equal(t, "restride true\n", string(out))
		})
	}
}
