package gorgonia_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/readme"
)

// The README's program builds without cgo, runs, and prints the documented output.
func TestReadme(t *testing.T) {
	program, built := readme.Build(t, "CGO_ENABLED=0")
	out, err := exec.Command(built).CombinedOutput()
	require.NoError(t, err, "%s", out)
	_, says, _ := strings.Cut(program, "fmt.Println(y.Shape(), y.Data()) // ")
	says, _, _ = strings.Cut(says, "\n")
	assert.Equal(t, says, strings.TrimSpace(string(out)))
}
