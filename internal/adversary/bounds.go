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

// bounds are the permitted costs of hostile input.
type bounds struct {
	memory int64         // allowed by the budget
	time   time.Duration // until the context's deadline
	// grace is how long work may continue after that: until the running node is done, which
	// moves at most the allowed memory.
	grace time.Duration
	// anyKind: errors are for people only, of any kind.
	anyKind bool
}

const (
	// collector is the factor between the memory that a budget allows and the growth of the
	// process: with GOGC=100 Go's heap holds as much garbage as live data.
	collector = 2
	// aside is the further growth allowed to the process: code of libraries, stacks, tables of
	// the allocator.
	aside = 64 << 20
	// longestError is the most bytes of a message for people.
	longestError = 16 << 10
)

// hold calls work, which has its files in dir, within the bounds, and reports what
// exceeds them: an error of no known kind or one that cannot be printed, memory of the process,
// time, files that stay open. An error within the rules is not a failure, and is returned as
// refused.
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

// releaseHeap returns the free memory of Go's heap to the system, if it is much: work that
// reused it would not be seen.
func releaseHeap() {
	free := []metrics.Sample{{Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}}
	if metrics.Read(free); free[0].Value.Uint64()+free[1].Value.Uint64() > aside/4 {
		debug.FreeOSMemory()
	}
}

// resident is the memory of this process in bytes: its present size, from which its peak is
// counted again, or the peak since. 0: the system does not report it, or the race detector's
// own memory, several times the program's, is part of it.
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

// openFiles are the files of a folder that this process has open, as far as the system reports
// them. Other files vary: drivers have some.
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

// kinds are the valid kinds of errors.
var kinds = []error{
	device.ErrInvalid, device.ErrUnsupported, device.ErrOutOfMemory, context.DeadlineExceeded,
	fs.ErrNotExist, fs.ErrPermission,
}

// checkError reports an error of no known kind, and one that is unfit for a terminal.
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

// checkText reports a text that would garble a terminal.
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

// limitMemory limits the growth of the process to n bytes, until restore.
func limitMemory(bytes int64) (restore func()) {
	// Idle memory and garbage of earlier tries would be freed in the try, and count as its
	// allowance.
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
