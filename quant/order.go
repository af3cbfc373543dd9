package quant

import (
	"encoding/binary"
	"io"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// readOrder reads the group of each k, and the order of rows, if their content is
// available: invalid ones are an error of the weight, not of its conversion.
func (w *Weight) readOrder() error {
	count := max(1, w.ext[axisG])
	for i, a := range w.arrays {
		t := w.Tensors[i]
		if t.Content == nil {
			continue
		}
		var err error
		switch {
		case a.has(groups):
			err = eachInt32(t, func(i, g int64) error {
				if g < 0 || g >= count {
					return layout.Errorf(layout.ErrInvalid, w.Format.Name, "tensor %s: row %d is of group %d; there are %d", quote.Name(t.Name), i, g, count)
				}
				w.unordered = w.unordered || w.Params.Group > 0 && g != i/w.Params.Group
				return nil
			})
		case a.has(sorting):
			seen := make([]byte, (w.ext[axisK]+7)/8)
			err = eachInt32(t, func(i, k int64) error {
				if k < 0 || k >= w.ext[axisK] || seen[k/8]>>(k%8)&1 == 1 {
					return layout.Errorf(layout.ErrInvalid, w.Format.Name, "tensor %s: sorted row %d is row %d: of %d rows each is wanted once", quote.Name(t.Name), i, k, w.ext[axisK])
				}
				seen[k/8] |= 1 << (k % 8)
				return nil
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// eachInt32 calls do with each number of a tensor.
func eachInt32(t Tensor, do func(i, n int64) error) error {
	count := int64(1)
	for _, n := range t.Dims {
		count *= n
	}
	b := make([]byte, 1<<16)
	for i := int64(0); i < count; {
		b = b[:min(int64(len(b)), 4*(count-i))]
		if _, err := io.ReadFull(io.NewSectionReader(t.Content, 4*i, int64(len(b))), b); err != nil {
			return layout.Named(quote.Name(t.Name), err)
		}
		for at := 0; at < len(b); at, i = at+4, i+1 {
			if err := do(i, int64(int32(binary.LittleEndian.Uint32(b[at:])))); err != nil {
				return err
			}
		}
	}
	return nil
}
