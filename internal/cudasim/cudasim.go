// Package cudasim builds the simulated CUDA driver (cuda/simulator) for tests.
package cudasim

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/restride/restride/internal/dl"
)

// Variable names the library of the CUDA driver, for processes.
const Variable = "RESTRIDE_LIBCUDA"

// Path builds the simulator, once, and returns the path of its library. The error is
// fs.ErrNotExist where the process does not run in a source tree, and exec.ErrNotFound where
// there are no tools.
var Path = sync.OnceValues(func() (string, error) {
	root, err := root()
	if err != nil {
		return "", fmt.Errorf("the simulator cannot be built: %w", err)
	}
	for _, tool := range []string{"make", "g++"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "", fmt.Errorf("the simulator cannot be built: %w", err)
		}
	}
	sources, _ := filepath.Glob(filepath.Join(root, "cuda", "simulator", "*"))
	for _, s := range sources {
		_, _ = os.Stat(s) // so that go test's cache knows the dependencies
	}
	cmd := exec.Command("make", "cuda-sim")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("make cuda-sim: %w\n%s", err, out)
	}
	return filepath.Join(root, "build", "cuda-sim", "libcuda.so.1"), nil
})

// Default has the process use the simulator, unless Variable names a library or the system has
// the driver's. It must come before the process's first use of CUDA.
func Default() error {
	if os.Getenv(Variable) != "" {
		return nil
	}
	if _, err := dl.Open("libcuda.so.1"); err == nil {
		return nil
	}
	path, err := Path()
	if err != nil {
		return err
	}
	return os.Setenv(Variable, path)
}

// root is the folder of the source tree, above the one that a test runs in.
func root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		_, err := os.Stat(filepath.Join(dir, "cuda", "simulator", "Makefile"))
		if parent := filepath.Dir(dir); err == nil || parent == dir {
			return dir, err
		} else {
			dir = parent
		}
	}
}
