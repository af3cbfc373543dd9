package device

import "log/slog"

// Diagnostics is implemented by devices that notice things worth knowing that are not errors.
type Diagnostics interface {
	// LogTo makes the device log what it notices from now on, and at once what it has noticed
	// already: each a warning with the device's ID as the attribute "device". nil stops this. The
	// logger's handler must not use the device.
	LogTo(*slog.Logger)
}
