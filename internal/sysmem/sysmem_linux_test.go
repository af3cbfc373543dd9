package sysmem

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
)

const (
	K, M, G = 1 << 10, 1 << 20, 1 << 30

	machine = "MemTotal:       16777216 kB\nMemFree:         1024 kB\nMemAvailable:    8388608 kB\n"
	mounts1 = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n" +
		"32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n" +
		"35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n"
	mounts2 = "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n"
)

func TestSystem(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  figures
	}{
		{"nothing is told", nil, figures{source: "the machine"}},
		{"a machine", map[string]string{"proc/meminfo": machine}, figures{total: 16 * G, available: 8 * G, source: "the machine"}},
		{"an old kernel", map[string]string{"proc/meminfo": "MemTotal: 1024 kB\n"}, figures{total: M, available: M, source: "the machine"}},
		{"a broken file", map[string]string{"proc/meminfo": "MemTotal: many kB\nMemAvailable: 99999999999999999999 kB\n"}, figures{source: "the machine"}},
		{"version 2, no limit", map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "0::/user.slice\n", "proc/self/mountinfo": mounts2,
			"sys/fs/cgroup/user.slice/memory.max": "max\n",
		}, figures{total: 16 * G, available: 8 * G, source: "the machine"}},
		{"version 2, the process's own group", map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "0::/user.slice/job\n", "proc/self/mountinfo": mounts2,
			"sys/fs/cgroup/user.slice/job/memory.max":     "1073741824\n",
			"sys/fs/cgroup/user.slice/job/memory.current": "536870912\n",
			"sys/fs/cgroup/user.slice/job/memory.stat":    "anon 1\ninactive_file 268435456\n",
		}, figures{total: G, available: 768 * M, source: "the control group /sys/fs/cgroup/user.slice/job"}},
		{"version 2, the group around it", map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "0::/user.slice/job\n", "proc/self/mountinfo": mounts2,
			"sys/fs/cgroup/user.slice/job/memory.max": "4294967296\n",
			"sys/fs/cgroup/user.slice/memory.max":     "2147483648\n",
		}, figures{total: 2 * G, available: 2 * G, source: "the control group /sys/fs/cgroup/user.slice"}},
		{"version 1 beside 2", map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "9:name=systemd:/\n4:memory:/a/b\n0::/\n", "proc/self/mountinfo": mounts1,
			"sys/fs/cgroup/memory/a/b/memory.limit_in_bytes": "1048576\n",
			"sys/fs/cgroup/memory/a/b/memory.usage_in_bytes": "2048\n",
			"sys/fs/cgroup/memory/a/b/memory.stat":           "inactive_file 4096\ntotal_inactive_file 1024\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":     "9223372036854771712\n",
		}, figures{total: M, available: M - K, source: "the control group /sys/fs/cgroup/memory/a/b"}},
		{"a container, which sees the machine's path", map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "4:memory:/docker/abc\n",
			"proc/self/mountinfo":                        "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "1048576\n",
			"sys/fs/cgroup/memory/memory.usage_in_bytes": "9048576\n",
		}, figures{total: M, available: 1, source: "the control group /sys/fs/cgroup/memory"}},
	} {
		files := fstest.MapFS{}
		for name, text := range c.files {
			files[name] = &fstest.MapFile{Data: []byte(text)}
		}
		assert.Equal(t, c.want, system(files), c.name)
	}
}

func TestStatm(t *testing.T) {
	assert.EqualValues(t, 765, statm("765 425 396 5 0 123 0\n", 0))
	assert.EqualValues(t, 123, statm("765 425 396 5 0 123 0\n", 5))
	assert.Zero(t, statm("", 0))
}

func TestGrant(t *testing.T) {
	for _, c := range []struct {
		f      figures
		bytes  int64
		source string
	}{
		{figures{}, usual, "the default where the system does not say what memory there is"},
		{figures{available: 8 * G, source: "the machine"}, 7 * G, "seven eighths of what the machine left"},
		{figures{available: 8 * G, source: "the machine", address: 4 * G, addressOf: "ulimit -v"}, 2 * G, "half of what ulimit -v left"},
		{figures{available: G, source: "the machine", address: 4 * G, addressOf: "ulimit -v"}, 896 * M, "seven eighths of what the machine left"},
	} {
		bytes, source := grant(c.f)
		assert.Equal(t, c.bytes, bytes)
		assert.Equal(t, c.source, source)
	}
}
