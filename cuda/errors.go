package cuda

import (
	"fmt"

	"github.com/restride/restride/device"
)

// Codes of CUDA's driver that mean something to us.
const (
	codeOutOfMemory  = 2
	codeNoDevice     = 100
	codeNotReady     = 600
	codeNotSupported = 801
)

// lost are the codes after which a context is of no use any more: a kernel
// failed, and every later call fails the same way.
var lost = map[int64]bool{
	700: true, // illegal address
	702: true, // launch timeout
	710: true, // assert
	714: true, // hardware stack error
	715: true, // illegal instruction
	716: true, // misaligned address
	717: true, // invalid address space
	718: true, // invalid PC
	719: true, // launch failed
	214: true, // uncorrectable ECC error
}

// driverError makes an error of a call's result.
func driverError(call string, code int64, name, log string) error {
	err := &device.DriverError{Call: call, Code: code, Name: name, Log: log}
	switch {
	case code == codeOutOfMemory:
		return fmt.Errorf("%w: %w", device.ErrOutOfMemory, err)
	case code == codeNoDevice:
		return fmt.Errorf("%w: %w", device.ErrNoDevice, err)
	case code == codeNotSupported:
		return fmt.Errorf("%w: %w", device.ErrUnsupported, err)
	case lost[code]:
		return fmt.Errorf("the device's context is lost: %w", err)
	}
	return err
}
