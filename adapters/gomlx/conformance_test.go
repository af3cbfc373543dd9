package gomlx

import (
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/gomlx/compute/gobackend"
	"github.com/gomlx/compute/support/backendtest"
	"github.com/stretchr/testify/require"
)

// GoMLX's own suite for backends.
func TestConformance(t *testing.T) {
	onDevices(t, func(t *testing.T, b *Backend) {
		backendtest.RunAll(t, b, nil)
		t.Logf("%+v", b.Stats())
	})
}

func TestGoBackend(t *testing.T) {
	if os.Getenv("RESTRIDE_COMPARED") == "" {
		t.Skip("it is what TestAsManyPass compares with")
	}
	b, err := gobackend.New("")
	require.NoError(t, err)
	backendtest.RunAll(t, b, nil)
}

// The suite passes as many tests as with the Go backend.
func TestAsManyPass(t *testing.T) {
	passed := func(name string) (n int) {
		cmd := exec.Command(os.Args[0], "-test.v", "-test.run", "^"+name)
		cmd.Env = append(os.Environ(), "RESTRIDE_COMPARED=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		count := func(what string) int { return len(regexp.MustCompile(`(?m)^ +--- `+what).FindAll(out, -1)) }
		t.Logf("%s: %d passed, %d failed, %d skipped", name, count("PASS"), count("FAIL"), count("SKIP"))
		return count("PASS")
	}
	suites := passed("TestConformance$/^cpu$") - 1 // except the device's own
	require.GreaterOrEqual(t, suites, passed("TestGoBackend$"))
	require.Positive(t, suites)
}
