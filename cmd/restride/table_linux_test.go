package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// onTerminal runs the command on a terminal of a width, and returns the lines that it shows.
func onTerminal(t *testing.T, width uint16, args ...string) []string {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("there are no terminals: ", err)
	}
	defer ours.Close()
	require.NoError(t, unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	theirs, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetWinsize(int(theirs.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: width}))
	shown := make(chan []byte)
	go func() {
		var b bytes.Buffer
		_, _ = io.Copy(&b, ours) // until the other end is closed
		shown <- b.Bytes()
	}()
	cmd := command(t, args...)
	cmd.Stdout, cmd.Stderr = theirs, theirs
	require.NoError(t, cmd.Run())
	require.NoError(t, theirs.Close())
	return strings.Split(strings.ReplaceAll(string(<-shown), "\r\n", "\n"), "\n")
}

// On a terminal the table was as wide as its longest names, and each row broken anywhere.
func TestBugExplainWiderThanTerminal(t *testing.T) {
	path := chain(t, strings.Repeat("LongNameOfAnOperator", 3), "Transpose", strings.Repeat("LongNameOfAnOperator", 3)+"2")
	args := []string{"explain", path, "--device", "cpu"}
	widest := func(lines []string) (n int) {
		for _, line := range lines[1 : len(lines)-3] { // the table's
			n = max(n, utf8.RuneCountInString(line))
		}
		return n
	}
	t.Setenv("COLUMNS", "")
	assert.LessOrEqual(t, widest(onTerminal(t, 90, args...)), 90)
	t.Setenv("COLUMNS", "70")
	assert.LessOrEqual(t, widest(onTerminal(t, 200, args...)), 70)
	piped, err := command(t, args...).Output()
	require.NoError(t, err)
	assert.Greater(t, widest(strings.Split(string(piped), "\n")), 150, "whole where it is piped")
}
