package opencl

import (
	"errors"
	"fmt"
)

// gone is the error of a device that is unusable; nil: it is usable.
func (d *driver) gone() error {
	if err := d.lost.Load(); err != nil {
		return *err
	}
	return nil
}

// lose makes the device unusable, if neither of two methods tells that work is over: it may
// still use memory that others will get.
func (d *driver) lose(one, other error) {
	err := fmt.Errorf("the device cannot be used any more, as its driver does not tell when work is over: %w", errors.Join(one, other))
	d.lost.CompareAndSwap(nil, &err)
}
