package quant

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// scaling is what numbers are computed from, beside codes: tensors of three axes, whose
// extents are those of the codes or 1.
type scaling struct {
	scale     *tensor.Tensor
	zero, add *tensor.Tensor // nil: there are none
	subtract  bool           // add is subtracted
}

// scaled returns (x - zero) * scale + add in a new tensor of three axes: on the host, in
// float32, with each step rounded once.
func scaled(x *tensor.Tensor, to layout.DType, by scaling) (*tensor.Tensor, error) {
	codes, err := read(x)
	if err != nil {
		return nil, err
	}
	var terms [3]grid
	for i, t := range []*tensor.Tensor{by.zero, by.scale, by.add} {
		if t == nil {
			continue
		}
		if terms[i], err = read(t); err != nil {
			return nil, err
		}
	}
	zero, scale, add := terms[0], terms[1], terms[2]
	at := 0
	dims := x.Shape()
	for i := range dims[0] {
		for j := range dims[1] {
			for k := range dims[2] {
				v := codes.data[at]
				if by.zero != nil {
					v -= zero.at(i, j, k)
				}
				v = float32(v * scale.at(i, j, k)) // float32 keeps it from being fused with the sum
				switch {
				case by.subtract:
					v -= add.at(i, j, k)
				case by.add != nil:
					v += add.at(i, j, k)
				}
				codes.data[at] = v
				at++
			}
		}
	}
	out, err := tensor.FromSlice(x.Stream(), codes.data, dims...)
	if err != nil || to == layout.Float32 {
		return out, err
	}
	cast, err := out.Cast(to, device.Rounding{})
	return cast, errors.Join(err, out.Release())
}

// grid is a tensor of three axes on the host; the stride of an axis of extent 1 is 0.
type grid struct {
	data    []float32
	a, b, c int64
}

func (g grid) at(i, j, k int64) float32 { return g.data[i*g.a+j*g.b+k*g.c] }

// read returns a tensor's elements as floats.
func read(t *tensor.Tensor) (g grid, err error) {
	floats, err := t.Cast(layout.Float32, device.Rounding{})
	if err != nil {
		return g, err
	}
	defer func() { err = errors.Join(err, floats.Release()) }()
	stride := func(axis int, n int64) int64 {
		if t.Shape()[axis] == 1 {
			return 0
		}
		return n
	}
	dims := t.Shape()
	g.a, g.b, g.c = stride(0, dims[1]*dims[2]), stride(1, dims[2]), stride(2, 1)
	b, err := floats.Bytes()
	g.data = make([]float32, len(b)/4)
	for i := range g.data {
		g.data[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return g, err
}
