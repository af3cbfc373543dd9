package tensor

import (
	"encoding/binary"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/layout"
)

// hostIndices are indices in the host's memory.
type hostIndices struct {
	raw []byte
	t   layout.DType
}

// read resolves the index at a position, counted from 0; ok is false if it is out of range.
func (h hostIndices) read(position int64, x *layout.Index) (i, index int64, ok bool) {
	if position += x.Offset; h.t == layout.Int64 {
		index = int64(binary.LittleEndian.Uint64(h.raw[8*position:]))
	} else {
		index = int64(int32(binary.LittleEndian.Uint32(h.raw[4*position:])))
	}
	i, ok = x.Resolve(index)
	return i, index, ok
}

// asView returns the layout of the result if strides can express it: if, along each axis, each
// index advances by a constant step. Indices out of range are errors. If no other code checks the
// indices (othersLook is false), asView checks all of them.
func (g *gathering) asView(h hostIndices, at *layout.Layout, othersLook bool) (l layout.Layout, ok bool, err error) {
	// Along axes where at repeats its elements there is nothing to check.
	var axes []int
	var dims, strides []int64
	for i, n := range g.shape {
		if n > 1 && at.Stride(i) != 0 {
			axes, dims, strides = append(axes, i), append(dims, n), append(strides, at.Stride(i))
		}
	}
	offset := g.origin
	out := append([]int64(nil), g.strides...)
	all := true
	index := make([]int64, len(axes))
	steps := make([]int64, len(axes))
	for k := range g.by {
		x := &g.by[k]
		refuse := func(value int64) error {
			if x.OutOfRange == layout.OutOfRangeSkip { // left out
				return nil
			}
			return layout.Errorf(device.ErrInvalid, g.op, "%s", backend.OutOfRange(value, backend.ToldExtent(x)))
		}
		first, value, ok := h.read(at.Offset(), x)
		if !ok {
			return l, false, refuse(value)
		}
		offset += first * x.Stride
		for j, axis := range axes {
			second, value, ok := h.read(at.Offset()+strides[j], x)
			if !ok {
				return l, false, refuse(value)
			}
			steps[j] = second - first
			out[axis] += steps[j] * x.Stride
		}
		clear(index)
		for position, expected := at.Offset(), first; ; {
			i, value, ok := h.read(position, x)
			if !ok {
				return l, false, refuse(value)
			}
			if all = all && i == expected; !all && othersLook {
				return l, false, nil
			}
			j := len(axes) - 1
			for ; j >= 0; j-- { // the next index
				if index[j]++; index[j] < dims[j] {
					position, expected = position+strides[j], expected+steps[j]
					break
				}
				index[j] = 0
				position, expected = position-(dims[j]-1)*strides[j], expected-(dims[j]-1)*steps[j]
			}
			if j < 0 {
				break
			}
		}
	}
	if !all {
		return l, false, nil
	}
	l, err = layout.Strided(g.shape, out, offset)
	return l, err == nil, err
}
