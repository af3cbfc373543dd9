//go:build unix

package bench

import (
	"os/exec"
	"syscall"
)

// ownGroup has a process, and those that it starts, in a group of their own: an
// interrupt from a terminal is for this program, which ends them.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
