package cuda

import (
	"errors"
	"fmt"
)

// What the driver says of a lost context is noted whichever call says it, and from then on
// no call of the device succeeds: each is refused with the first error. So an error that
// only a question gave, as of an event, reaches all who depend on the work.

// gone is the error of a device whose context is lost; nil: it is not.
func (d *driver) gone() error {
	if err := d.lost.Load(); err != nil {
		return *err
	}
	return nil
}

// lose notes that the context is lost.
func (d *driver) lose(err error) {
	if !errors.Is(err, ErrLost) {
		err = fmt.Errorf("%w: %w", ErrLost, err)
	}
	d.lost.CompareAndSwap(nil, &err)
}

// check returns the error of a call, and notes if the context is lost.
func (d *driver) check(err error) error {
	if errors.Is(err, ErrLost) {
		d.lose(err)
	}
	return err
}

// checkBoth is check for a call that another device has part in, which may be the lost one.
func (d *driver) checkBoth(f *frame, other *driver, err error) error {
	if errors.Is(err, ErrLost) && other != d && d.api.synchronize(f, d.side) == nil {
		other.lose(err)
		return err
	}
	return d.check(err)
}

// over returns when work is over, and the error of it. wait is the call that waits for it,
// and otherwise another way to learn the same. If both fail, the work may be going on in
// memory that others are to get: then the device cannot be relied on any more.
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

// giveBack is with for freeing, which is tried again if it could not begin, as nobody else
// does it. A lost context may not have it any more; an engine's may have ended, and its handle
// be another's.
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
		return nil // its error is that of all other calls
	}
	return err
}
