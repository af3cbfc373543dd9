package kernels_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/kernels"
)

// TestCompile: every kernel compiles in every dialect, without a warning. scripts/ptx.sh
// generates code for CUDA, hostOf for the host.
func TestCompile(t *testing.T) {
	for dialect, options := range map[kernels.Dialect][]string{
		kernels.OpenCL: {"-x", "cl", "-cl-std=CL1.2"},
		kernels.CUDA:   {"-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "--cuda-gpu-arch=sm_70", "-ffp-contract=off"},
	} {
		t.Run(string(dialect), func(t *testing.T) {
			_, err := exec.LookPath("clang-16")
			devicetest.Require(t, "compilers", err)
			file := filepath.Join(t.TempDir(), "kernels")
			require.NoError(t, os.WriteFile(file, []byte(kernels.Source(dialect, kernels.Specs()...)), 0o600))
			options = append(options, "-Wall", "-Werror", "-Wno-unused-function", "-fsyntax-only", file)
			out, err := exec.Command("clang-16", options...).CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
	t.Run(string(kernels.Host), func(t *testing.T) { hostOf(t) })
}
