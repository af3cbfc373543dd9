package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/pipeline"
	"github.com/restride/restride/quant"
	"github.com/restride/restride/tensor"
)

// conversion moves a file's weights through the device, one batch per piece.
type conversion struct {
	*output
	todo []*weight
	// The next batches to be read, converted and written.
	reads, turns, writes batch
}

// batch is a piece of a weight.
type batch struct{ weight, piece int }

func (c *conversion) run(ctx context.Context) error {
	if len(c.todo) == 0 {
		return nil
	}
	st := c.memory.stages()
	st.Source, st.Work, st.Sink = c.load, c.convert, c.store
	_, err := pipeline.Run(ctx, c.stream, st)
	return err
}

// next returns a batch, and advances. last: it is the weight's last one.
func (c *conversion) next(at *batch) (w *weight, p quant.Piece, last bool) {
	w = c.todo[at.weight]
	p = w.pieces.At(at.piece)
	if at.piece++; at.piece == w.pieces.Len {
		*at, last = batch{weight: at.weight + 1}, true
	}
	return w, p, last
}

// load reads a batch.
func (c *conversion) load(_ context.Context, in []*pipeline.Array) error {
	if c.reads.weight == len(c.todo) {
		return io.EOF
	}
	w, p, _ := c.next(&c.reads)
	for i, a := range in {
		if i >= len(p.Src) {
			if err := a.Resize(0); err != nil {
				return err
			}
			continue
		}
		name, r := w.From.Tensors[i].Name, p.Src[i]
		if err := a.Resize(r.Size()); err != nil {
			return err
		}
		from := c.source.Lookup(name)
		for n := range r.Count {
			if _, err := from.ReadAt(a.Bytes()[n*r.Bytes:][:r.Bytes], r.At+n*r.Step); err != nil && err != io.EOF {
				return fmt.Errorf("%s: %w", quote.Plain(name), err)
			}
		}
		if err := p.Finite(a.Bytes()); err != nil {
			return fmt.Errorf("%s: %w", quote.Plain(name), err)
		}
	}
	return nil
}

// convert converts a batch, and converts it back if required.
func (c *conversion) convert(_ context.Context, in []*tensor.Tensor) (out []*tensor.Tensor, err error) {
	w, p, last := c.next(&c.turns)
	src := quant.Memory{}
	for i, t := range p.From.Tensors {
		src[t.Name] = in[i]
	}
	dst, err := p.Run(c.stream, src)
	if err == nil && c.verify && w.back == nil {
		err = p.Check(c.stream, src, dst)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", quote.Plain(w.From.Name), errors.Join(w.named(err), dst.Release()))
	}
	if !w.earlier {
		c.did.moves += p.Cost().Moves
	}
	w.turned = last && c.verify && w.back == nil
	for i, t := range p.To.Tensors {
		if w.views[i] < 0 {
			out = append(out, dst[t.Name])
		} else if err := dst[t.Name].Release(); err != nil {
			return out, err
		}
	}
	return out, nil
}

// store writes a batch.
func (c *conversion) store(_ context.Context, out []*pipeline.Array) error {
	w, p, last := c.next(&c.writes)
	for i, t := range w.To().Tensors {
		if w.views[i] >= 0 {
			continue
		}
		b, r := out[0].Bytes(), p.Dst[i]
		out = out[1:]
		for n := range r.Count {
			if err := c.put(t.Name, b[n*r.Bytes:][:r.Bytes], r.At+n*r.Step); err != nil {
				return fmt.Errorf("%s: %w", quote.Plain(t.Name), err)
			}
		}
		if last {
			if err := c.finish(t.Name); err != nil {
				return err
			}
			if !c.compares(t.Name) {
				c.did.moved++
			}
		}
	}
	return nil
}
