package planner_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/internal/planner"
)

// TestCompile: every kernel compiles in every dialect, without a warning. scripts/ptx.sh
// generates code for CUDA, hostOf for the host.
func TestCompile(t *testing.T) {
	for _, d := range []struct {
		name    string
		dialect planner.Dialect
		options []string
	}{
		{"opencl", planner.OpenCL, []string{"-x", "cl", "-cl-std=CL1.2"}},
		{"opencl/floats", planner.OpenCL, []string{"-x", "cl", "-cl-std=CL1.2", "-DFLOATS", "-DQUOTIENTS", "-DDOUBLES"}},
		{"cuda", planner.CUDA, []string{"-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "--cuda-gpu-arch=sm_70", "-ffp-contract=off"}},
	} {
		t.Run(d.name, func(t *testing.T) {
			_, err := exec.LookPath("clang-16")
			devicetest.Require(t, "compilers", err)
			file := filepath.Join(t.TempDir(), "kernels")
			require.NoError(t, os.WriteFile(file, []byte(planner.Source(d.dialect, planner.Specs()...)), 0o600))
			options := append(d.options, "-Wall", "-Werror", "-Wno-unused-function", "-fsyntax-only", file)
			out, err := exec.Command("clang-16", options...).CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
	t.Run(string(planner.Host), func(t *testing.T) { hostOf(t) })
}

// TestHeaders: every header is a kernel's or a dialect's, and compiles by itself, given a kernel's
// macros.
func TestHeaders(t *testing.T) {
	_, err := exec.LookPath("g++")
	devicetest.Require(t, "compilers", err)
	const sources = "../../kernels/source"
	files, err := filepath.Glob(sources + "/*.h")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	macros, folder := planner.Headers(), t.TempDir()
	for _, file := range files {
		name := filepath.Base(file)
		if name == "opencl.h" || name == "cuda.h" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "host.h" {
				require.Contains(t, macros, name)
			}
			program := "#include <cstdint>\n"
			for _, macro := range macros[name] {
				program += "#define " + macro + "\n"
			}
			program += "#include \"" + name + "\"\n"
			alone := filepath.Join(folder, name+".cpp")
			require.NoError(t, os.WriteFile(alone, []byte(program), 0o600))
			out, err := exec.Command("g++", "-std=c++17", "-fsyntax-only", "-I", sources, alone).CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
}
