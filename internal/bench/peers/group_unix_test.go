//go:build unix

package peers

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A process's children end with it.
func TestPeerGroup(t *testing.T) {
	p, err := fake(t, context.Background(), "has a child", time.Second)
	require.NoError(t, err)
	_, err = p.Ask(Request{Case: Entry{Name: "x"}})
	require.ErrorContains(t, err, "no answer in 1s")
	pid, err := strconv.Atoi(regexp.MustCompile(`pid=(\d+)\.`).FindStringSubmatch(err.Error())[1])
	require.NoError(t, err)
	assert.Eventually(t, func() bool { // the process that inherits it waits for it
		s := state(pid)
		return s == "" || s == "Z"
	}, 10*time.Second, 10*time.Millisecond)
	assert.ErrorIs(t, syscall.Kill(p.cmd.Process.Pid, 0), syscall.ESRCH)
}

// state is Linux's name for the state of a process: "" if there is none.
func state(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return ""
	}
	return string(regexp.MustCompile(`State:\s+(\w)`).FindSubmatch(text)[1])
}
