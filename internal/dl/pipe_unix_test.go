//go:build unix

package dl

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A pipe that RESTRIDE_LIBCUDA names must not block the program.
func TestOpenPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	done := make(chan error, 1)
	go func() {
		_, err := Open(path)
		done <- err
	}()
	select {
	case err := <-done:
		require.EqualError(t, err, path+": it is no regular file")
	case <-time.After(time.Minute):
		t.Fatal("the call waits for who writes the pipe")
	}
}
