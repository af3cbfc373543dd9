package main

import (
	"encoding/hex"
	"errors"
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/bench/peers"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/layout"
)

// theCase is an entry as Restride's case. The src of a take is the place of the elements with
// index 0.
type theCase struct {
	op               string
	dst, src, at     layout.Layout
	dstType, srcType layout.DType
	pattern          []byte
	by               layout.Index
}

func parse(e *peers.Entry) (c theCase, err error) {
	if len(e.Dst.Dims) == 0 {
		return c, unsupported("no axes")
	}
	c.op = e.Op
	locate := func(p *peers.Location, l *layout.Layout, t *layout.DType) {
		if err == nil {
			*l, err = layout.Strided(p.Dims, p.Strides, p.Offset)
		}
		if err == nil {
			*t, err = layout.ParseDType(p.Type)
		}
	}
	locate(&e.Dst, &c.dst, &c.dstType)
	switch e.Op {
	case "fill":
		if err == nil {
			c.pattern, err = hex.DecodeString(e.Pattern)
		}
	case "take":
		from, axis := e.Src, e.At.Axis
		c.by = layout.Index{Extent: from.Dims[axis], Stride: from.Strides[axis]}
		from.Dims, from.Strides = e.Dst.Dims, slices.Clone(from.Strides)
		from.Strides[axis] = 0
		locate(&from, &c.src, &c.srcType)
		var indexType layout.DType
		locate(&e.At.Location, &c.at, &indexType)
		if err == nil && indexType != layout.Int64 {
			err = unsupported("no indices of " + e.At.Type)
		}
	default:
		locate(&e.Src, &c.src, &c.srcType)
	}
	return c, err
}

// rows is a part of it along the first axis.
func (c theCase) rows(first, end int64) (theCase, error) {
	var err error
	for _, l := range []*layout.Layout{&c.dst, &c.src, &c.at} {
		if l.Rank() > 0 {
			var e error
			*l, e = l.Slice(0, first, end, 1)
			err = errors.Join(err, e)
		}
	}
	return c, err
}

// walk executes it, one index after the other, into its own layout.
func (c *theCase) walk(dst []byte, to layout.Layout, b buffers) {
	switch c.op {
	case "fill":
		oracle.Fill(dst, to, c.pattern, c.dstType.Bits())
	case "take":
		oracle.Take(to, c.src, c.at, b.at, layout.Int64, []layout.Index{c.by}, func(p, q int64) {
			at, _ := layout.Strided(nil, nil, p) // a position is no error
			from, _ := layout.Strided(nil, nil, q)
			oracle.Copy(dst, at, b.src, from, c.dstType.Bits())
		})
	default:
		oracle.Convert(dst, to, c.dstType, b.src, c.src, c.srcType, device.Rounding{})
	}
}
