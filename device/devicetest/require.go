package devicetest

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/restride/restride/device"
)

// Require ends a test whose device could not be opened: it is skipped where
// the machine has no such device, and fails where the error is another one, or
// where the environment says that there must be one:
//
//	RESTRIDE_REQUIRE=opencl,cuda
//
// It does nothing if err is nil.
func Require(t testing.TB, backend string, err error) {
	t.Helper()
	if err == nil {
		return
	}
	required := strings.Split(os.Getenv("RESTRIDE_REQUIRE"), ",")
	switch {
	case slices.Contains(required, backend):
		t.Fatalf("RESTRIDE_REQUIRE names %s, but: %v", backend, err)
	case errors.Is(err, device.ErrNoDevice):
		t.Skip(err)
	default:
		t.Fatal(err)
	}
}
