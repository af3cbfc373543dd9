package device

import "log/slog"

// Diagnostics is implemented by devices that notice what is not an error, but worth
// knowing.
type Diagnostics interface {
	// LogTo has the device log what it notices from now on, and at once what it has noticed
	// before: each a warning with its ID as the attribute "device". nil ends that.
	// The logger's handler must not use the device.
	LogTo(*slog.Logger)
}
