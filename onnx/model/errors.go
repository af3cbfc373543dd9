package model

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/restride/restride/internal/file"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// Errors are built from the inside out: the place that finds a fault describes only the
// fault, each caller adds its location in front (within), and the exported function adds
// its own name (named).

// ErrText is the error for text that is not valid UTF-8, which ONNX requires. Its kind is
// ErrInvalid.
var ErrText = fmt.Errorf("%w: not valid UTF-8", layout.ErrInvalid)

func invalidf(format string, args ...any) error {
	return layout.Errorf(layout.ErrInvalid, "", format, args...)
}

func unsupportedf(format string, args ...any) error {
	return layout.Errorf(layout.ErrUnsupported, "", format, args...)
}

// nilError is the error of an exported function for a nil argument.
func nilError(op, what string) error { return named(op, invalidf("the %s is nil", what)) }

// within adds the place where err happened. A nil err stays nil.
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

// named adds the name of the exported function to err.
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

// refused gives the error for a file that cannot be read the kind ErrInvalid.
func refused(err error) error {
	if e := new(file.Error); errors.As(err, &e) {
		return invalidf("%v", e)
	}
	return err
}

// causeOf returns the operating system's error for a file, without the path, which may
// contain anything.
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

// fileError reports an external data file that does not match the model: the model is
// invalid, and the operating system's error says why. where names the file, so cause need
// not.
type fileError struct {
	where string
	cause error
}

func (e *fileError) Error() string { return e.where + ": " + e.cause.Error() }

func (e *fileError) Unwrap() []error { return []error{layout.ErrInvalid, e.cause} }
