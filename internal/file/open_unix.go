//go:build unix

package file

import "syscall"

// nonblock: opening a pipe that has replaced the file does not wait for a writer, and a
// terminal does not become the process's own.
const nonblock = syscall.O_NONBLOCK | syscall.O_NOCTTY

// nofollow: a link that has replaced the file is not opened.
const nofollow = syscall.O_NOFOLLOW
