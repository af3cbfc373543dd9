//go:build unix

package peers

import (
	"os/exec"
	"syscall"
)

// ownGroup puts a process, and its children, into their own group: an interrupt from a terminal
// goes to this program, which ends them.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
