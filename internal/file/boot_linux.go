package file

import (
	"os"
	"strings"
)

// Boot names the time since the system was started: as long as it is the same, all that was
// written to files is there, on the disk or not. "": the system does not say.
func Boot() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b))
}
