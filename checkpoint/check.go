package checkpoint

// Check returns the error that Create would of a header, and writes nothing.
func (h *Header) Check() error {
	_, err := h.append(nil)
	return err
}
