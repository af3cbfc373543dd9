package checkpoint

import (
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// ReadAt reads bytes of tensor i, which must be written; off counts from its first byte.
func (w *Writer) ReadAt(i int, p []byte, off int64) error {
	t := w.Tensors[i]
	if off < 0 || off > t.size || int64(len(p)) > t.size-off {
		return layout.Errorf(layout.ErrInvalid, "ReadAt", "bytes %d to %d of tensor %s, which has %d", off, off+int64(len(p)), quote.Name(t.Name), t.size)
	}
	_, err := w.file.ReadAt(p, t.offset+off)
	return quote.Error(err)
}
