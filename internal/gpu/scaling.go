package gpu

import (
	"github.com/restride/restride/device"
	"github.com/restride/restride/device/backend"
	"github.com/restride/restride/kernels"
	"github.com/restride/restride/layout"
)

// Dequantize sets the elements of dst to (src - zero) * scale + add.
func (q *Queue) Dequantize(dst, src device.Operand, by device.Scaling) error {
	const op = "Dequantize"
	if err := q.begin(op); err != nil {
		return err
	}
	defer q.mu.Unlock()
	if err := backend.CheckDequantize(&dst, &src, &by); err != nil {
		return err
	}
	return q.scale(op, &dst, &src, [3]*device.Operand{&by.Scale, &by.Zero, &by.Add}, kernels.Scaling{Subtract: by.Subtract})
}

// Quantize sets the elements of dst to round(src / scale) + zero.
func (q *Queue) Quantize(dst, src device.Operand, by device.Quantization) error {
	const op = "Quantize"
	if err := q.begin(op); err != nil {
		return err
	}
	defer q.mu.Unlock()
	if err := backend.CheckQuantize(&dst, &src, &by); err != nil {
		return err
	}
	return q.scale(op, &dst, &src, [3]*device.Operand{&by.Scale, &by.Zero, {}}, kernels.Scaling{Quantize: true, Precision: by.Precision, Unsaturated: by.Unsaturated, FindScale: by.FindScale})
}

// scale queues a checked call; how lacks its types.
func (q *Queue) scale(op string, dst, src *device.Operand, terms [3]*device.Operand, how kernels.Scaling) error {
	to, from, err := q.usePair(op, dst.Buffer, src.Buffer)
	if err != nil {
		return err
	}
	how.To, how.From = dst.Type, src.Type
	types := [3]*layout.DType{&how.Scale, &how.Zero, &how.Add}
	var layouts kernels.TermLayouts
	buffers := [3]*Buffer{from, from, from} // of a term that is not there: any
	for i, t := range terms {
		if t.Buffer == nil {
			continue
		}
		b, err := q.useAs(op, [3]string{"scale", "zero", "add"}[i], t.Buffer, i == 0 && how.FindScale)
		if err != nil {
			return err
		}
		*types[i], layouts[i], buffers[i] = t.Type, &t.Layout, b
	}
	e, err := q.launches.Scale(&dst.Layout, &src.Layout, &layouts, how)
	if err != nil || e.Groups == 0 {
		return err
	}
	d, s := e.Bases(dst.Layout.Offset(), src.Layout.Offset())
	base := func(i int) int64 { return e.TermBase(i, terms[i].Layout.Offset()) }
	q.args = Args{
		Dst: to.block.mem, Src: from.block.mem, Params: e.OnDevice, Bases: [2]int64{d, s},
		Values: [2]uint64{uint64(base(0)), uint64(base(1))}, AddBase: base(2),
	}
	for i, b := range buffers {
		q.args.Terms[i] = b.block.mem
	}
	if err := q.send(e); err != nil {
		return err
	}
	srcs := append(make([]*device.Operand, 0, 4), src)
	for _, t := range terms {
		if t.Buffer != nil {
			srcs = append(srcs, t)
		}
	}
	if how.FindScale {
		q.flow(terms[0], src)
	}
	q.flow(dst, srcs...)
	return nil
}
