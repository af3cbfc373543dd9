package quant

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// ErrDiffers means that a conversion's comparison found different bytes, for example if the
// reverse conversion does not reproduce the source. It is also layout.ErrInvalid.
var ErrDiffers = fmt.Errorf("%w: other bytes", layout.ErrInvalid)

// back is the reverse of a plan, made on demand.
type back struct {
	once sync.Once
	plan *Plan
	err  error
}

// Back returns the plan of the reverse conversion: it restores the source's tensors
// unchanged from the target's. If the target lacks something, the error is ErrUnsupported.
func (p *Plan) Back() (*Plan, error) {
	p.back.once.Do(func() { p.back.plan, p.back.err = p.turn() })
	return p.back.plan, p.back.err
}

func (p *Plan) turn() (*Plan, error) {
	switch {
	case p.quantises():
		return nil, p.From.Format.refuse("numbers that were rounded do not come back")
	case p.adapt != nil:
		return nil, p.From.Format.refuse("scales of another type, and numbers in place of zero points, do not come back")
	case p.carry != nil:
		return nil, p.From.Format.refuse("it is not a weight")
	case p.From.Partial:
		return nil, p.From.Format.refuse("a part of a weight, or several, do not come back alone")
	case len(p.From.Sidecars) > 0:
		return nil, p.From.Format.refuse("the tensors that say what the weight is do not come back")
	case p.To.Format.numbers:
		return nil, p.From.Format.refuse("numbers do not say what codes and scales they were made from")
	}
	back, err := p.To.plan(&Weight{Name: p.From.Name, Format: p.From.Format, Params: p.From.Params}, p.From.arrays)
	if err != nil {
		return nil, err
	}
	if p.of != nil {
		if back.of, err = p.of.Back(); err != nil {
			return nil, err
		}
	}
	if len(back.To.Tensors) != len(p.From.Tensors) {
		return nil, p.From.Format.refuse("the way back makes %d of its %d tensors", len(back.To.Tensors), len(p.From.Tensors))
	}
	return back, nil
}

// Check runs the reverse conversion on the stream and compares the result with src, byte
// for byte on the host: src has the tensors that p was run on, dst its results. A
// difference is ErrDiffers.
func (p *Plan) Check(s *tensor.Stream, src, dst Memory) error { return p.check(s, src, dst, 0) }

// check is Check for a piece of a plan; at is the piece's first column in the whole.
func (p *Plan) check(s *tensor.Stream, src, dst Memory, at int64) (err error) {
	back, err := p.Back()
	if err != nil {
		return err
	}
	got, err := back.run(s, dst, at)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, got.Release()) }()
	for i, t := range p.From.Tensors {
		if src[t.Name] == nil {
			continue
		}
		want, err := src[t.Name].Bytes()
		if err != nil {
			return err
		}
		have, err := got[back.To.Tensors[i].Name].Bytes()
		if err != nil {
			return err
		}
		if at := differ(want, have); at >= 0 {
			return layout.Errorf(ErrDiffers, "quant", "tensor %s: the way back gives other bytes, byte %d first", quote.Name(t.Name), at)
		}
	}
	return nil
}

// differ returns the index of the first difference, or -1 if there is none.
func differ(a, b []byte) int {
	if bytes.Equal(a, b) {
		return -1
	}
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}
