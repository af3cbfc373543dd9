package file

import (
	"os"
	"strings"
)

// Boot identifies the time since the system was started: as long as it is the same, everything
// written to files is present, on the disk or not. "": unknown.
func Boot() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b))
}
