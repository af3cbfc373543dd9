package sysmem

import (
	"io/fs"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
)

func read() figures {
	f := system(os.DirFS("/"))
	pages, _ := fs.ReadFile(os.DirFS("/"), "proc/self/statm")
	for _, r := range []struct {
		resource, field int // of statm
		name            string
	}{
		{syscall.RLIMIT_AS, 0, "ulimit -v"},
		{syscall.RLIMIT_DATA, 5, "ulimit -d"},
	} {
		var limit syscall.Rlimit
		if syscall.Getrlimit(r.resource, &limit) != nil || limit.Cur > math.MaxInt64 {
			continue
		}
		left := int64(limit.Cur) - statm(string(pages), r.field)*int64(os.Getpagesize())
		if left = max(left, 1); f.address == 0 || left < f.address {
			f.address, f.addressOf = left, r.name
		}
	}
	return f
}

// statm parses a field of /proc/self/statm, in pages.
func statm(text string, field int) int64 {
	if fields := strings.Fields(text); field < len(fields) {
		n, _ := strconv.ParseInt(fields[field], 10, 64)
		return n
	}
	return 0
}

// system reads the memory of the machine and of the process's control groups.
func system(root fs.FS) (f figures) {
	text, _ := fs.ReadFile(root, "proc/meminfo")
	f.total = meminfo(string(text), "MemTotal:")
	if f.available = meminfo(string(text), "MemAvailable:"); f.available == 0 {
		f.available = f.total
	}
	f.source = "the machine"
	text, _ = fs.ReadFile(root, "proc/self/cgroup")
	mounts, _ := fs.ReadFile(root, "proc/self/mountinfo")
	for line := range strings.Lines(string(text)) {
		// "4:memory:/path" of version 1, "0::/path" of version 2.
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 {
			continue
		}
		g := version1
		if fields[1] == "" {
			g = version2
		} else if fields[1] != "memory" {
			continue
		}
		g.read(root, string(mounts), fields[2], &f)
	}
	return f
}

// meminfo parses a line of /proc/meminfo.
func meminfo(text, key string) int64 {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, key); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 53)
			if err == nil {
				return kib << 10
			}
		}
	}
	return 0
}

// cgroup is a version of control groups: its mount point, and its files.
type cgroup struct {
	kind   string // of file system
	option string // of the mount
	limit  string
	usage  string
	cache  string // of the line of memory.stat for reclaimable memory
}

var (
	version1 = cgroup{"cgroup", "memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "}
	version2 = cgroup{"cgroup2", "", "memory.max", "memory.current", "inactive_file "}
)

// read lowers the figures to the limits of a group and its parents.
func (g cgroup) read(root fs.FS, mountinfo, group string, f *figures) {
	mount, within, ok := g.mount(mountinfo)
	if !ok {
		return
	}
	// A container sees its own group as the root of the mount.
	if rest, ok := strings.CutPrefix(group, strings.TrimSuffix(within, "/")); ok {
		group = rest
	}
	for at := path.Clean("/" + group); ; at = path.Dir(at) {
		g.lower(root, path.Join(mount, at), f)
		if at == "/" {
			return
		}
	}
}

// mount finds the mount point of the groups, and the group at its root.
func (g cgroup) mount(mountinfo string) (at, root string, ok bool) {
	for line := range strings.Lines(mountinfo) {
		// id parent major:minor root mount options... - kind source options
		before, after, found := strings.Cut(line, " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !found || len(left) < 5 || len(right) < 3 || right[0] != g.kind {
			continue
		}
		if g.option == "" || strings.Contains(","+right[2]+",", ","+g.option+",") {
			return left[4], left[3], true
		}
	}
	return "", "", false
}

// lower lowers the figures to the limits in a group's folder.
func (g cgroup) lower(root fs.FS, folder string, f *figures) {
	number := func(file string) (int64, bool) {
		text, err := fs.ReadFile(root, path.Join(folder, file)[1:])
		if err != nil {
			return 0, false
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // "max" is not a number
		return n, err == nil
	}
	limit, ok := number(g.limit)
	if !ok || limit < 0 {
		return
	}
	if f.total == 0 || limit < f.total {
		f.total = max(limit, 1)
	}
	used, _ := number(g.usage)
	stat, _ := fs.ReadFile(root, path.Join(folder, "memory.stat")[1:])
	for line := range strings.Lines(string(stat)) {
		if value, ok := strings.CutPrefix(line, g.cache); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			used -= n
		}
	}
	if left := max(limit-max(used, 0), 1); f.available == 0 || left < f.available {
		f.available, f.source = left, "the control group "+folder
	}
}
