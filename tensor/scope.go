package tensor

import (
	"errors"
	"sync"
)

// A Scope collects the tensors that are made on a stream, by whichever goroutine, until
// it is closed. Of several scopes of a stream, the one that was opened last collects.
type Scope struct {
	stream *Stream
	outer  *Scope

	mu     sync.Mutex
	closed bool
	made   map[*Tensor]struct{} // that are neither released nor kept
}

// NewScope opens a scope: Close releases all tensors, views too, that were made on the
// stream in between, by any call, and not taken out by Keep. A tensor that is released
// before is no matter. The sessions of package onnx keep what is theirs. A tensor is in the
// scope from when the call that makes it returns. Goroutines that share a stream share its
// scopes: each needs a stream of its own, or another's Close releases what it still uses.
//
//	scope := tensor.NewScope(s)
//	defer scope.Close()
func NewScope(s *Stream) *Scope {
	sc := &Scope{stream: s, made: map[*Tensor]struct{}{}}
	if s != nil {
		s.scopes.Lock()
		defer s.scopes.Unlock()
		sc.outer = s.scope.Swap(sc)
	}
	return sc
}

// Keep takes tensors out of the scopes that they were made in: they are the caller's to
// release again. Nil tensors, and those of no scope, are passed over. ErrReleased says that
// one is released already, as by another goroutine's Scope.Close; the others are kept.
func Keep(xs ...*Tensor) error {
	var errs []error
	for _, x := range xs {
		if x == nil {
			continue
		}
		if x.leaveScope(); x.released.Load() {
			errs = append(errs, x.fail("Keep", ErrReleased))
		}
	}
	return errors.Join(errs...)
}

// Close releases the scope's tensors, after those of scopes that were opened in it and
// are still open. A second Close does nothing.
func (sc *Scope) Close() error {
	if sc == nil || sc.stream == nil {
		return nilStream("Scope.Close")
	}
	s := sc.stream
	s.scopes.Lock()
	var ended []*Scope
	for at := s.scope.Load(); at != nil; at = at.outer {
		if ended = append(ended, at); at == sc {
			s.scope.Store(sc.outer)
			break
		}
	}
	s.scopes.Unlock()
	if n := len(ended); n == 0 || ended[n-1] != sc {
		return nil // it was closed before
	}
	var errs []error
	for _, each := range ended {
		errs = append(errs, each.release())
	}
	return errors.Join(errs...)
}

func (sc *Scope) release() error {
	var ended []*Tensor
	sc.mu.Lock()
	for x := range sc.made {
		if !x.released.Swap(true) { // within the lock: so Keep, which takes it, knows
			x.scope.Store(nil)
			ended = append(ended, x)
		}
	}
	sc.made, sc.closed = nil, true
	sc.mu.Unlock()
	var errs []error
	for _, x := range ended {
		errs = append(errs, x.letGo())
	}
	return errors.Join(errs...)
}

// collect gives a new tensor to the stream's scope, if it has one.
func (s *Stream) collect(t *Tensor) {
	for sc := s.scope.Load(); sc != nil; sc = s.scope.Load() {
		sc.mu.Lock()
		if !sc.closed {
			sc.made[t] = struct{}{}
			t.scope.Store(sc)
			sc.mu.Unlock()
			return
		}
		sc.mu.Unlock() // it has just ended
	}
}

// leaveScope takes a tensor out of its scope. One that the scope's end releases is marked so
// when it returns.
func (t *Tensor) leaveScope() {
	if sc := t.scope.Load(); sc != nil {
		sc.mu.Lock()
		delete(sc.made, t)
		sc.mu.Unlock()
		t.scope.Store(nil)
	}
}
