package adversary

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/internal/race"
)

// bounds are what hostile input may cost.
type bounds struct {
	memory int64         // that the budget allows
	time   time.Duration // until the context's deadline
	// grace is how long work may go on after that: until the node that runs is done,
	// which has at most the allowed memory to move.
	grace time.Duration
	// anyKind: errors are for people only, and of no kind.
	anyKind bool
}

const (
	// collector is the factor between the memory that a budget allows and what the
	// process may grow by: with GOGC=100 Go's heap holds as much garbage as live data.
	collector = 2
	// aside is what the process may grow by beside that: code of libraries, stacks,
	// tables of the allocator.
	aside = 64 << 20
	// longestError is the most bytes of a message that somebody may read.
	longestError = 16 << 10
)

// hold calls work, which has its files in dir, within the bounds, and reports what
// exceeds them: an error of no known kind or one that cannot be printed, memory of the
// process, time, files that stay open. An error within the rules is none here, and
// returned as refused.
func (b bounds) hold(dir string, work func(context.Context) error) (refused, err error) {
	restore := limitMemory(b.memory)
	defer restore()
	releaseHeap()
	start, began := resident(true), time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), b.time)
	defer cancel()
	refused = work(ctx)
	took := time.Since(began)
	if err := b.checkError(refused); err != nil {
		return refused, err
	}
	if grown := resident(false) - start; start > 0 && grown > collector*b.memory+aside {
		return refused, fmt.Errorf("the process grew by %d MiB, with %d MiB allowed by its budget (result: %v)", grown>>20, b.memory>>20, refused)
	}
	if took > b.time+b.grace {
		return refused, fmt.Errorf("it took %v, with a deadline of %v (result: %v)", took, b.time, refused)
	}
	if left := openFiles(dir); len(left) > 0 {
		return refused, fmt.Errorf("files are left open: %q (result: %v)", left, refused)
	}
	return refused, nil
}

// releaseHeap gives the system what Go's heap has free, if that is much: work that takes
// it up again would not be seen.
func releaseHeap() {
	free := []metrics.Sample{{Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}}
	if metrics.Read(free); free[0].Value.Uint64()+free[1].Value.Uint64() > aside/4 {
		debug.FreeOSMemory()
	}
}

// resident is the memory of this process in bytes: as it is, from where its peak is
// counted anew, or the peak since. 0: the system does not tell, or the race detector's
// own memory is a part of it, several times the program's.
func resident(anew bool) int64 {
	if race.Enabled {
		return 0
	}
	line := "VmHWM:"
	if anew {
		line = "VmRSS:"
		if os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) != nil {
			return 0
		}
	}
	return processBytes(line)
}

// openFiles are the files of a folder that this process has open, as far as the
// system tells. Others come and go: drivers have some.
func openFiles(dir string) (paths []string) {
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		path, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name()))
		if err == nil && strings.HasPrefix(path, dir+string(filepath.Separator)) {
			paths = append(paths, path)
		}
	}
	return paths
}

// kinds are what an error must be of.
var kinds = []error{
	device.ErrInvalid, device.ErrUnsupported, device.ErrOutOfMemory, context.DeadlineExceeded,
	fs.ErrNotExist, fs.ErrPermission,
}

// checkError reports an error of no known kind, and one that is no text for a
// terminal.
func (b bounds) checkError(err error) error {
	if err == nil {
		return nil
	}
	known := b.anyKind
	for _, kind := range kinds {
		known = known || errors.Is(err, kind)
	}
	if !known {
		return fmt.Errorf("an error of no known kind: %w", err)
	}
	if text := err.Error(); len(text) > longestError {
		return fmt.Errorf("a message of %d bytes, which begins %.200q", len(text), text)
	}
	return checkText(err.Error())
}

// checkText reports a text that spoils a terminal.
func checkText(text string) error {
	if !utf8.ValidString(text) {
		return fmt.Errorf("text that is no UTF-8: %.1000q", text)
	}
	for _, r := range text {
		if !unicode.IsPrint(r) && r != '\n' && r != '\t' {
			return fmt.Errorf("text with %q: %.1000q", r, text)
		}
	}
	return nil
}

// limitMemory lets the process have so many bytes more than it has, until restore.
func limitMemory(bytes int64) (restore func()) {
	// What earlier tries left, idle or as garbage, would be freed in the try, and be its
	// own beside.
	_ = budget.Process().Take("more than there is", math.MaxInt64)
	for range 10 {
		if budget.Process().InUse() < aside/4 {
			break
		}
		runtime.GC()
		time.Sleep(5 * time.Millisecond)
	}
	return budget.SetLimit(budget.Process().InUse()+bytes, "the try's bounds")
}
