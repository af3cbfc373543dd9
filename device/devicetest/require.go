package devicetest

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/restride/restride/device"
)

// Require ends a test whose device could not be opened, or that lacks a tool: it
// is skipped where the machine has none (device.ErrNoDevice, exec.ErrNotFound, fs.ErrNotExist),
// and fails on any other error, or where the environment requires it:
//
//	RESTRIDE_REQUIRE=opencl,cuda,oclgrind,compilers,browser,peers,numpy,gl,onnxruntime
//
// It does nothing if err is nil.
func Require(t testing.TB, what string, err error) {
	t.Helper()
	if err == nil {
		return
	}
	required := strings.Split(os.Getenv("RESTRIDE_REQUIRE"), ",")
	switch {
	case slices.Contains(required, what):
		t.Fatalf("RESTRIDE_REQUIRE names %s, but: %v", what, err)
	case errors.Is(err, device.ErrNoDevice), errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		t.Skip(err)
	default:
		t.Fatal(err)
	}
}
