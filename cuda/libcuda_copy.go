//go:build !gorgonia

package cuda

import (
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/layout"
)

func (l *libcuda) copyWithin(dst, src pointer, n int64, s stream) error {
	if l.copyDevice == 0 {
		return layout.Errorf(device.ErrUnsupported, "CopyByDriver", "%s has no cuMemcpyDtoDAsync", l.path)
	}
	return l.do("cuMemcpyDtoDAsync", dl.Call(l.copyDevice, uintptr(dst), uintptr(src), uintptr(n), uintptr(s)))
}
