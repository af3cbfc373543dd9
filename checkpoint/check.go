package checkpoint

// Check returns the error that Create would return for the header, and writes nothing.
func (h *Header) Check() error {
	_, err := h.append(nil)
	return err
}
