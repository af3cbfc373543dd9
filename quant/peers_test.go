package quant

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device/devicetest"
)

// TestBugPeersSkippedAlthoughRequired: the comparison with other packages skipped all that
// could not be imported, and passed, also where they had to be there.
func TestBugPeersSkippedAlthoughRequired(t *testing.T) {
	python, err := exec.LookPath("python3")
	devicetest.Require(t, "peers", err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "numpy.py"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "gguf.py"), []byte("raise ImportError('there is none')\n"), 0o600))
	cmd := exec.CommandContext(t.Context(), python, "-S", "-B", "peers/check.py", "restride")
	cmd.Env = append(os.Environ(), "PYTHONPATH="+dir, "RESTRIDE_REQUIRE=cuda,peers")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	assert.Equal(t, "RESTRIDE_REQUIRE names peers, but: there is none\n", string(out))
}
