package opencl

import "github.com/restride/restride/internal/gpu"

// Copy is gpu.Copier, by clEnqueueCopyBuffer.
func (d *driver) Copy(s gpu.Stream, dst, src gpu.Mem, bytes int64) error {
	return clEnqueueCopyBuffer.call(s.(*stream).handle, src.(*memory).handle, dst.(*memory).handle, 0, 0, uintptr(bytes), 0, 0, 0)
}
