//go:build unix

package peers

import (
	"os/exec"
	"syscall"
)

// ownGroup puts a process, and those that it starts, into a group of their own: an
// interrupt from a terminal is for this program, which ends them.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
