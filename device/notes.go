package device

// Noter is implemented by devices that notice things which are no error, and which
// somebody should know.
type Noter interface {
	// Notes returns what the device has noticed so far, each in a line of text.
	Notes() []string
}
