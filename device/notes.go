package device

// Noter is implemented by devices that notice things which are no error, and which
// somebody should know.
type Noter interface {
	// Notes returns what the device has noticed so far, each in a line of text.
	Notes() []string
}

// NotesOf returns a device's notes, if it has some.
func NotesOf(dev Device) []string {
	if n, ok := dev.(Noter); ok {
		return n.Notes()
	}
	return nil
}
