//go:build unix

package file

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// Owned returns the reason why anyone but the process's user, and root, may change a file or a
// folder: it has another owner, or its mode lets others write. nil: there is none.
func Owned(info fs.FileInfo) error {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Uid != 0 && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("its owner is user %d, and this process is of user %d", stat.Uid, os.Geteuid())
	}
	if perm := info.Mode().Perm(); perm&0o022 != 0 {
		return fmt.Errorf("its mode, %v, lets others write", perm)
	}
	return nil
}
