package gomlx

import (
	"github.com/gomlx/compute"
	"github.com/pkg/errors"
)

// scope wraps a function of the Go backend, the shadow, which has all operations.
type scope struct {
	compute.Function
	bu           *builder
	self, parent compute.Function
}

// scope wraps a function of the shadow's.
func (bu *builder) scope(parent compute.Function) func(compute.Function, error) (compute.Function, error) {
	return func(shadow compute.Function, err error) (compute.Function, error) {
		if err != nil {
			return nil, err
		}
		s := &scope{Function: shadow, bu: bu, parent: parent}
		s.self = s
		return s, nil
	}
}

func (s *scope) Builder() compute.Builder           { return s.bu }
func (s *scope) Parent() compute.Function           { return s.parent }
func (s *scope) Closure() (compute.Function, error) { return s.bu.scope(s.self)(s.Function.Closure()) }

// callees returns the shadows of functions that an operation calls.
func callees(op string, called ...compute.Function) ([]compute.Function, error) {
	out := make([]compute.Function, len(called))
	for i, f := range called {
		s, ok := f.(*scope)
		if !ok || s == nil {
			return nil, errors.Errorf("restride: %s of a main function, or a function of another backend: %T", op, f)
		}
		out[i] = s.Function
	}
	return out, nil
}

func (s *scope) Call(called compute.Function, in ...compute.Value) ([]compute.Value, error) {
	c, err := callees("Call", called)
	if err != nil {
		return nil, err
	}
	return s.Function.Call(c[0], in...)
}

func (s *scope) Sort(comparator compute.Function, axis int, stable bool, in ...compute.Value) ([]compute.Value, error) {
	c, err := callees("Sort", comparator)
	if err != nil {
		return nil, err
	}
	return s.Function.Sort(c[0], axis, stable, in...)
}

func (s *scope) While(cond, body compute.Function, state ...compute.Value) ([]compute.Value, error) {
	c, err := callees("While", cond, body)
	if err != nil {
		return nil, err
	}
	return s.Function.While(c[0], c[1], state...)
}

func (s *scope) If(pred compute.Value, onTrue, onFalse compute.Function) ([]compute.Value, error) {
	c, err := callees("If", onTrue, onFalse)
	if err != nil {
		return nil, err
	}
	return s.Function.If(pred, c[0], c[1])
}
