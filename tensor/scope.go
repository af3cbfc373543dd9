package tensor

import (
	"errors"
	"sync"
)

// A Scope collects the tensors that any goroutine makes on a stream, until it is closed. If a
// stream has several scopes, the one that was opened last collects.
type Scope struct {
	stream *Stream
	outer  *Scope

	mu     sync.Mutex
	closed bool
	made   map[*Tensor]struct{} // neither released nor kept
}

// NewScope opens a scope: Close releases all tensors, including views, that any call made on the
// stream in between, except those that Keep took out and those that are released already. The
// sessions of package onnx keep their own tensors. A tensor joins the scope when the call that
// makes it returns. Goroutines that share a stream share its scopes: each needs a stream of its
// own, or another's Close releases tensors that it still uses.
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

// Keep takes tensors out of their scopes, so that the caller must release them again. It skips
// nil tensors and tensors in no scope. ErrReleased says that one is already released, for example
// by another goroutine's Scope.Close; the others are kept.
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

// Close releases the scope's tensors, after those of scopes that were opened in it and are still
// open. A second Close does nothing.
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
		if !x.released.Swap(true) { // within the lock, so that Keep sees it
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

// collect adds a new tensor to the stream's scope, if it has one.
func (s *Stream) collect(t *Tensor) {
	for sc := s.scope.Load(); sc != nil; sc = s.scope.Load() {
		sc.mu.Lock()
		if !sc.closed {
			sc.made[t] = struct{}{}
			t.scope.Store(sc)
			sc.mu.Unlock()
			return
		}
		sc.mu.Unlock() // closed meanwhile
	}
}

// leaveScope takes a tensor out of its scope. If the scope's Close releases the tensor, it is
// marked as released when leaveScope returns.
func (t *Tensor) leaveScope() {
	if sc := t.scope.Load(); sc != nil {
		sc.mu.Lock()
		delete(sc.made, t)
		sc.mu.Unlock()
		t.scope.Store(nil)
	}
}
