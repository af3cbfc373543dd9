package onnx

// axes appends the axes of a tensor of the given rank to dst. It keeps them as given, so
// that errors of the layout name them.
func (d *definition) axes(dst []int, axes []int64, rank int) ([]int, error) {
	for _, a := range axes {
		if _, err := d.axis(a, rank, rank-1); err != nil {
			return nil, err
		}
		dst = append(dst, int(a))
	}
	return dst, nil
}

// axis resolves an axis that may count from the end. It refuses an axis beyond last or
// before the first. ONNX's text lets operators count from the end from opset 11 on, and exporters
// write such axes for older ones, too. Only Flatten's older text gives a range.
func (d *definition) axis(axis int64, rank, last int) (int, error) {
	low := -int64(rank)
	if d.since < 11 && d.op == "Flatten" {
		if low = 0; axis < 0 {
			return 0, d.invalid("axis %d is negative; Flatten allows that from opset 11", axis)
		}
	}
	return d.axisFrom(axis, low, rank, last)
}

// axisFrom is axis with an explicit lower limit: it refuses an axis outside [low, last].
func (d *definition) axisFrom(axis, low int64, rank, last int) (int, error) {
	switch {
	case axis >= low && axis <= int64(last):
		if axis < 0 {
			axis += int64(rank)
		}
		return int(axis), nil
	case last < 0:
		return 0, d.invalid("axis %d: the tensor has no axes", axis)
	}
	return 0, d.invalid("axis %d is outside [%d,%d]", axis, low, last)
}
