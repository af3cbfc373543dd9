//go:build unix

package file

import "syscall"

// nonblock: opening a pipe that has taken the file's place does not wait for who writes
// it, and a terminal does not become the process's own.
const nonblock = syscall.O_NONBLOCK | syscall.O_NOCTTY

// nofollow: a link that has taken the file's place is not opened.
const nofollow = syscall.O_NOFOLLOW
