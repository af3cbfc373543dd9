package gomlx

import (
	"os/exec"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/readme"
)

// The README's second program builds without cgo, runs on every device, and prints the documented
// output.
func TestReadme(t *testing.T) {
	program, built := readme.BuildNth(t, ".", 2, "CGO_ENABLED=0")
	var want string
	for _, line := range regexp.MustCompile(`fmt\.Println.* // (.*)`).FindAllStringSubmatch(program, -1) {
		want += line[1] + "\n"
	}
	for _, name := range devices {
		t.Run(name, func(t *testing.T) {
			open(t, name)
			out, err := exec.Command(built, name).Output()
			require.NoError(t, err, "%s", out)
			require.Equal(t, want, string(out))
		})
	}
}
