package model

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/restride/restride/layout"
)

// Errors grow from the inside out: the place that finds a fault knows only the
// fault, each caller puts in front of it where that was (within), and the
// exported function adds its own name (named).

func invalidf(format string, args ...any) error {
	return layout.Errorf(layout.ErrInvalid, "", format, args...)
}

func unsupportedf(format string, args ...any) error {
	return layout.Errorf(layout.ErrUnsupported, "", format, args...)
}

// within says where err happened. A nil err stays nil.
func within(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	where := fmt.Sprintf(format, args...)
	var e *layout.Error
	if errors.As(err, &e) {
		return layout.Errorf(e.Kind, "", "%s: %s", where, message(e))
	}
	return fmt.Errorf("%s: %w", where, err)
}

// named gives err the name of the exported function that returns it.
func named(op string, err error) error {
	if err == nil {
		return nil
	}
	var e *layout.Error
	if errors.As(err, &e) {
		return layout.Errorf(e.Kind, "model."+op, "%s", message(e))
	}
	return fmt.Errorf("model.%s: %w", op, err)
}

// message is e's text without an operation that within or named would repeat.
func message(e *layout.Error) string {
	if e.Op == "" {
		return e.Msg
	}
	return e.Error()
}

// fileError is an external data file that cannot be used as the model says: the
// model is invalid, and the operating system says why.
type fileError struct {
	where string
	cause error
}

func (e *fileError) Error() string { return e.where + ": " + e.cause.Error() }

func (e *fileError) Unwrap() []error { return []error{layout.ErrInvalid, e.cause} }

// quote writes a name from a file so that it can stand in an error: escaped,
// and cut when it is absurdly long.
func quote(s string) string {
	const most = 80
	if len(s) > most {
		return strconv.Quote(s[:most]) + fmt.Sprintf("... (%d bytes)", len(s))
	}
	return strconv.Quote(s)
}
