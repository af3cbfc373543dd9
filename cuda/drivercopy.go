package cuda

import (
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/layout"
)

// Copy is gpu.Copier, by cuMemcpyDtoDAsync.
func (d *driver) Copy(s gpu.Stream, dst, src gpu.Mem, bytes int64) error {
	on := s.(*stream).handle
	if on == 0 {
		return layout.Errorf(device.ErrInvalid, "CopyByDriver", "the queue is the default stream")
	}
	return d.with(func(f *frame) error {
		return d.api.copyWithin(f, dst.(*memory).at, src.(*memory).at, bytes, on)
	})
}
