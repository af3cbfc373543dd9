package model

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/restride/restride/internal/file"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// Errors grow from the inside out: the place that finds a fault knows only the
// fault, each caller puts in front of it where that was (within), and the
// exported function adds its own name (named).

// ErrText is the error of text that is not valid UTF-8, as ONNX's strings are. It
// is of kind ErrInvalid.
var ErrText = fmt.Errorf("%w: not valid UTF-8", layout.ErrInvalid)

func invalidf(format string, args ...any) error {
	return layout.Errorf(layout.ErrInvalid, "", format, args...)
}

func unsupportedf(format string, args ...any) error {
	return layout.Errorf(layout.ErrUnsupported, "", format, args...)
}

// nilError is the error of an exported function that gets nothing.
func nilError(op, what string) error { return named(op, invalidf("the %s is nil", what)) }

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
	return fmt.Errorf("model.%s: %w", op, quote.Error(err))
}

// refused makes the error of a file that is none for us one of kind ErrInvalid.
func refused(err error) error {
	if e := new(file.Error); errors.As(err, &e) {
		return invalidf("%v", e)
	}
	return err
}

// causeOf returns what the operating system says of a file, without its path,
// which may hold anything.
func causeOf(err error) error {
	var e *fs.PathError
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// message is e's text without an operation that within or named would repeat.
func message(e *layout.Error) string {
	if e.Op == "" {
		return e.Msg
	}
	return e.Error()
}

// fileError is an external data file that cannot be used as the model says: the
// model is invalid, and the operating system says why. where names the file, so
// cause need not.
type fileError struct {
	where string
	cause error
}

func (e *fileError) Error() string { return e.where + ": " + e.cause.Error() }

func (e *fileError) Unwrap() []error { return []error{layout.ErrInvalid, e.cause} }
