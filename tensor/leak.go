package tensor

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/restride/restride/layout"
)

// liveSet records the memory of a stream that has not been freed, while it is watched.
type liveSet struct {
	watchers atomic.Int32
	mu       sync.Mutex
	made     int // how many have been added
	origins  map[*memory]origin
}

// origin says where memory was made, and its number in order of creation.
type origin struct {
	number int
	text   string
}

func (l *liveSet) add(m *memory, t layout.DType, at layout.Layout) {
	if l.watchers.Load() == 0 {
		return
	}
	var pc [16]uintptr
	frames := runtime.CallersFrames(pc[:runtime.Callers(3, pc[:])])
	var b strings.Builder
	fmt.Fprintf(&b, "%v%v made by", t, at.Shape())
	for {
		f, more := frames.Next()
		fmt.Fprintf(&b, "\n\t%s\n\t\t%s:%d", f.Function, f.File, f.Line)
		if !more {
			break
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.origins == nil {
		l.origins = map[*memory]origin{}
	}
	l.made++
	l.origins[m] = origin{l.made, b.String()}
}

func (l *liveSet) remove(m *memory) {
	if l.watchers.Load() == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.origins, m)
}

// TB is the part of *testing.T and *testing.B that CheckLeaks needs.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Cleanup(func())
}

// CheckLeaks fails the test, when it ends, for all memory that was allocated on the stream after
// this call and is still held by a tensor, and says where each was made. It slows down making
// tensors: it is for tests. If several checks run on one stream, the first that ends reports a
// leak.
func CheckLeaks(tb TB, s *Stream) {
	tb.Helper()
	l := &s.live
	l.watchers.Add(1)
	l.mu.Lock()
	before := l.made
	l.mu.Unlock()
	tb.Cleanup(func() {
		tb.Helper()
		for _, text := range l.takeSince(before) {
			tb.Errorf("not released: %s", text)
		}
	})
}

// takeSince ends a check. It forgets all memory that was added after the first before ones and
// not removed, and returns in order where it was made.
func (l *liveSet) takeSince(before int) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var late []origin
	for m, o := range l.origins {
		if o.number > before {
			late = append(late, o)
			delete(l.origins, m)
		}
	}
	slices.SortFunc(late, func(a, b origin) int { return a.number - b.number })
	texts := make([]string, len(late))
	for i, o := range late {
		texts[i] = o.text
	}
	if l.watchers.Add(-1) == 0 {
		clear(l.origins)
	}
	return texts
}
