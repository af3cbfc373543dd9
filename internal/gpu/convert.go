package gpu

import (
	"github.com/restride/restride/device"
	"github.com/restride/restride/device/backend"
	"github.com/restride/restride/kernels"
)

// Convert sets every element of dst to the value of src's with the same index.
func (q *Queue) Convert(dst, src device.Operand, how device.Rounding) error {
	if err := q.begin("Convert"); err != nil {
		return err
	}
	defer q.mu.Unlock()
	if err := backend.CheckConvert(&dst, &src, how); err != nil {
		return err
	}
	to, from, err := q.usePair("Convert", dst.Buffer, src.Buffer)
	if err != nil {
		return err
	}
	var e *kernels.Entry[Mem]
	var lo, hi uint64
	switch backend.ConversionOf(dst.Type, src.Type) {
	case backend.AsCopy:
		e, err = q.launches.Copy(&dst.Layout, &src.Layout, dst.Type.Bits())
	case backend.AsPack:
		e, err = q.launches.Pack(&dst.Layout, &src.Layout, dst.Type.Bits(), src.Type.Bits(), backend.IsSigned(src.Type))
	case backend.ByValue:
		lo, hi = kernels.Numbers(dst.Type, src.Type, how)
		e, err = q.launches.Cast(&dst.Layout, &src.Layout, dst.Type, src.Type, how)
	}
	if err != nil {
		return err
	}
	return q.launch(e, to, from, &dst, &src, [2]uint64{lo, hi})
}
