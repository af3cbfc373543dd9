package tensor

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/restride/restride/layout"
)

// liveSet knows which memory of a stream has not been freed, while somebody
// wants to know.
type liveSet struct {
	on     atomic.Bool
	mu     sync.Mutex
	origin map[*memory]string
}

func (l *liveSet) add(m *memory, t layout.DType, at layout.Layout) {
	if !l.on.Load() {
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
	if l.origin == nil {
		l.origin = map[*memory]string{}
	}
	l.origin[m] = b.String()
}

func (l *liveSet) remove(m *memory) {
	if !l.on.Load() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.origin, m)
}

// TB is what CheckLeaks needs of a *testing.T or *testing.B.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Cleanup(func())
}

// CheckLeaks fails the test, when it ends, for all memory that was allocated on
// the stream since this call and is still held by a tensor, and says where each
// was made. It slows allocation down: it is for tests.
func CheckLeaks(tb TB, s *Stream) {
	tb.Helper()
	s.live.on.Store(true)
	tb.Cleanup(func() {
		tb.Helper()
		s.live.on.Store(false)
		s.live.mu.Lock()
		defer s.live.mu.Unlock()
		for _, origin := range s.live.origin {
			tb.Errorf("not released: %s", origin)
		}
		clear(s.live.origin)
	})
}
