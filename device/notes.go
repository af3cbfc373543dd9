package device

// Diagnostics is implemented by devices that notice what is not an error, but worth
// knowing.
type Diagnostics interface {
	// Notes returns what the device has noticed so far, each in a line of text.
	Notes() []string
}
