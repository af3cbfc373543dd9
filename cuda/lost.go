package cuda

import (
	"errors"
	"fmt"
)

// When any call of the driver reports a lost context, this is recorded, and from then on no
// call of the device succeeds: each is refused with the first error. So an error that only a
// query returned, such as an event's, reaches all that depend on the work.

// gone is the error of a device whose context is lost; nil: it is not lost.
func (d *driver) gone() error {
	if err := d.lost.Load(); err != nil {
		return *err
	}
	return nil
}

// lose records that the context is lost.
func (d *driver) lose(err error) {
	if !errors.Is(err, ErrLost) {
		err = fmt.Errorf("%w: %w", ErrLost, err)
	}
	d.lost.CompareAndSwap(nil, &err)
}

// check returns the error of a call, and records a lost context.
func (d *driver) check(err error) error {
	if errors.Is(err, ErrLost) {
		d.lose(err)
	}
	return err
}

// checkBoth is check for a call that involves another device, which may be the lost one.
func (d *driver) checkBoth(f *frame, other *driver, err error) error {
	if errors.Is(err, ErrLost) && other != d && d.api.synchronize(f, d.side) == nil {
		other.lose(err)
		return err
	}
	return d.check(err)
}

// over returns when work is over, and the error of it. wait is the call that waits for it, and
// otherwise an alternative. If both fail, the work may still be using memory that others will
// get: then the device is unusable.
func (d *driver) over(wait, otherwise func() error) error {
	err := d.check(wait())
	if err == nil {
		return d.gone()
	}
	if again := d.check(otherwise()); again != nil {
		d.lose(errors.Join(err, again))
	}
	return err
}

// giveBack is with for freeing, which is repeated if it could not begin, as no other call frees
// the memory. For a lost context, errors do not matter, and an engine's is not used: it may
// have ended, and its handle may be reused.
func (d *driver) giveBack(f func(*frame) error) error {
	lost := d.gone() != nil
	if lost && !d.primary {
		return nil
	}
	begun := false
	free := func(t *frame) error {
		begun = true
		return f(t)
	}
	err := d.anyway(free)
	if err != nil && !begun {
		err = d.anyway(free)
	}
	if lost {
		return nil // its error is the error of all other calls
	}
	return err
}
