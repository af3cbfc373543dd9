package device

import (
	"errors"
	"fmt"

	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// The kinds of error, for errors.Is. The caller can do something about the first two (see package
// layout); the others report the state of the machine.
var (
	ErrInvalid     = layout.ErrInvalid
	ErrUnsupported = layout.ErrUnsupported
	// ErrDriver: a driver call failed. The error is a *DriverError.
	ErrDriver = errors.New("driver error")
	// ErrOutOfMemory: the requested memory is not available.
	ErrOutOfMemory = budget.ErrOutOfMemory
	// ErrNoDevice: the machine has no such device, or no driver for it.
	ErrNoDevice = errors.New("no device")
	// ErrClosed: a freed buffer, or a closed queue or device, was used. It is
	// also ErrInvalid.
	ErrClosed = fmt.Errorf("%w: used after it was closed or freed", ErrInvalid)
)

// DriverError is a failed call of a driver.
type DriverError struct {
	Call string // the driver's function, e.g. "clBuildProgram"
	Code int64
	Name string // the code's name, e.g. "CL_BUILD_PROGRAM_FAILURE"
	Log  string // a build log, if there is one
}

func (e *DriverError) Error() string {
	s := fmt.Sprintf("%s: %s (%d)", e.Call, quote.Text(e.Name), e.Code)
	if e.Log != "" {
		s += quote.Lines("\n" + e.Log)
	}
	return s
}

// Is makes a DriverError an ErrDriver.
func (e *DriverError) Is(target error) bool { return target == ErrDriver }
