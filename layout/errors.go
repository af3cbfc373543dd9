package layout

import (
	"errors"
	"fmt"
)

// Every error that Restride returns for a call is of one of two kinds; test for them with
// errors.Is. (Driver errors are a third kind, which package device defines.)
var (
	// ErrInvalid: the caller broke a rule; the same call is wrong everywhere.
	ErrInvalid = errors.New("invalid")
	// ErrUnsupported: the call is valid but cannot be done here.
	ErrUnsupported = errors.New("unsupported")
)

// ErrNeedsCopy: Layout.Reshape has a valid new shape, but no strides can express it over the same
// memory.
var ErrNeedsCopy = errors.New("layout: this reshape cannot be a view")

// Error says which operation refused which call, and the broken rule.
type Error struct {
	Kind error  // ErrInvalid or ErrUnsupported
	Op   string // the operation, e.g. "Permute" or "Reshape-14"
	Msg  string // shapes, types and the rule
}

func (e *Error) Error() string { return e.Op + ": " + e.Msg }

// Unwrap returns the error's kind.
func (e *Error) Unwrap() error { return e.Kind }

// Errorf makes an *Error of the given kind.
func Errorf(kind error, op, format string, args ...any) error {
	return &Error{Kind: kind, Op: op, Msg: fmt.Sprintf(format, args...)}
}

// Named returns err with op, the operation that the caller asked for, in place of the inner one
// that found the fault. nil stays nil.
func Named(op string, err error) error {
	if err == nil {
		return nil
	}
	var e *Error
	if !errors.As(err, &e) {
		return fmt.Errorf("%s: %w", op, err)
	}
	return &Error{Kind: e.Kind, Op: op, Msg: e.Msg}
}
