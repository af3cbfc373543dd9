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

// TestCompile compiles every kernel in every dialect, without a warning.
func TestCompile(t *testing.T) {
	for _, c := range []struct {
		dialect kernels.Dialect
		ext     string
		command []string
	}{
		{kernels.OpenCL, ".cl", []string{"clang-16", "-x", "cl", "-cl-std=CL1.2", "-Wall", "-Werror", "-Wno-unused-function", "-fsyntax-only"}},
		{kernels.CUDA, ".cu", []string{
			"clang-16", "-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "--cuda-gpu-arch=sm_70",
			"-Wall", "-Werror", "-Wno-unused-function", "-O3", "-S", "-o", "/dev/null",
		}},
		{kernels.Host, ".cpp", []string{"g++", "-std=c++17", "-Wall", "-Werror", "-Wno-unused-function", "-O1", "-c", "-o", "/dev/null"}},
	} {
		t.Run(string(c.dialect), func(t *testing.T) {
			t.Parallel()
			_, err := exec.LookPath(c.command[0])
			devicetest.Require(t, "compilers", err)
			file := filepath.Join(t.TempDir(), "kernels"+c.ext)
			require.NoError(t, os.WriteFile(file, []byte(kernels.Source(c.dialect, kernels.Specs()...)), 0o600))
			out, err := exec.Command(c.command[0], append(c.command[1:], file)...).CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
}
