package onnx

import (
	"context"
	"errors"
	"fmt"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// A Captured is a run that can be repeated on the same inputs and outputs, with new
// elements in the inputs. One call queues all copies on the device (on CUDA: a graph); the
// host has no other work.
type Captured struct {
	inputs  []Value // own references
	outputs Values
	replay  device.Replay
}

// Capture records a run on the inputs without running it. The shapes of the inputs, and the
// values that the host computes from them, stay fixed. Devices that cannot replay work
// return ErrUnsupported. Only work on the session's stream can be replayed: a node that
// moves elements between host and device, or that uses an input of another stream, is an
// error. Nobody else may use the session's stream during Capture.
func (s *Session) Capture(ctx context.Context, inputs Values, options ...RunOption) (c *Captured, err error) {
	const op = "Session.Capture"
	if s == nil {
		return nil, nilSession(op)
	}
	q, ok := device.As[device.Recorder](s.stream.Queue())
	if !ok {
		return nil, layout.Errorf(device.ErrUnsupported, op, "device %s does not replay work", s.stream.Device().Info().ID())
	}
	c = &Captured{}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("%s: %w", op, err), c.Close())
			c = nil
		}
	}()
	for _, v := range inputs {
		if _, given := v.(donation); given || absent(v) { // an input given away belongs to the run
			continue
		}
		if v, err = again(op, v, (*tensor.Tensor).Retain); err != nil {
			return c, err
		}
		c.inputs = append(c.inputs, v)
	}
	c.replay, err = q.Capture(func() error {
		c.outputs, err = s.start(ctx, inputs, options, true, nil)
		for _, v := range c.outputs {
			err = errors.Join(err, tensor.Keep(tensorsOf(v)...))
		}
		return err
	})
	return c, err
}

// Run queues the work on the session's stream.
func (c *Captured) Run() error {
	if c == nil || c.replay == nil {
		return layout.Named("Captured.Run", device.ErrClosed)
	}
	return c.replay.Run()
}

// Outputs returns the outputs, which c owns. Their elements are undefined before the first
// Run and change with each Run.
func (c *Captured) Outputs() Values { return c.outputs }

// Close waits for the work and releases the outputs.
func (c *Captured) Close() error {
	if c == nil {
		return layout.Named("Captured.Close", device.ErrClosed)
	}
	var errs []error
	if c.replay != nil {
		errs = append(errs, c.replay.Close())
		c.replay = nil
	}
	for _, x := range c.inputs {
		errs = release(errs, x)
	}
	errs = append(errs, c.outputs.Release())
	c.inputs, c.outputs = nil, nil
	return errors.Join(errs...)
}
