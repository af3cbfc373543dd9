package device

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/restride/restride/layout"
)

// refuses reports whether an error is that of a driver that is there, and not that there is none
// or that it has no device.
func refuses(err error) bool {
	return !errors.Is(err, ErrNoDevice) || errors.Is(err, ErrDriver) || errors.Is(err, ErrUnsupported)
}

// openWorking opens a device, and runs a kernel on it: only that loads the driver's compiler.
func openWorking(b Backend, index int) (Device, error) {
	dev, err := b.Open(index)
	if err != nil {
		return nil, err
	}
	if err := fillOne(dev); err != nil {
		_ = dev.Close() // the other error is more important
		return nil, err
	}
	return dev, nil
}

// fillOne fills a buffer of one element.
func fillOne(dev Device) (err error) {
	q, err := dev.NewQueue()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	b, err := dev.Alloc(1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Free()) }()
	one, err := layout.Contiguous(1)
	if err != nil {
		return err
	}
	return errors.Join(q.Fill(Operand{Buffer: b, Layout: one, Type: layout.Uint8}, []byte{1}), q.Wait())
}

// substitute is a device that Open("auto") opened in place of others, whose drivers refused.
type substitute struct {
	Device
	refused []error
}

// inPlaceOf returns a device that tells of the errors of others, if there are any.
func inPlaceOf(dev Device, refused []error) Device {
	if len(refused) == 0 {
		return dev
	}
	return &substitute{dev, refused}
}

func (s *substitute) Unwrap() Device { return s.Device }

// LogTo implements Diagnostics.
func (s *substitute) LogTo(l *slog.Logger) {
	if d, ok := As[Diagnostics](s.Device); ok {
		d.LogTo(l)
	}
	if l == nil {
		return
	}
	id := s.Info().ID()
	for _, err := range s.refused {
		l.Warn(fmt.Sprintf("%s is used, as another device refuses: %v", id, err), "device", id)
	}
}
