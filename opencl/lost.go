package opencl

import (
	"errors"
	"fmt"
)

// gone is the error of a device that cannot be used any more; nil: it can.
func (d *driver) gone() error {
	if err := d.lost.Load(); err != nil {
		return *err
	}
	return nil
}

// lose ends the use of the device, if neither of two ways tells that work is over: it may be
// going on in memory that others are to get.
func (d *driver) lose(one, other error) {
	err := fmt.Errorf("the device cannot be used any more, as its driver does not tell when work is over: %w", errors.Join(one, other))
	d.lost.CompareAndSwap(nil, &err)
}
