package main

import (
	"errors"
	"runtime"
	"strings"

	"github.com/restride/restride/bench"
	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// restride is the cpu device of this build, at the level that RESTRIDE_SIMD says: so
// it can stand beside itself, without vectors, say, or as it was some commits ago.
type restride struct {
	queue  device.Queue
	driver string // "Go go1.26.8, avx512"
}

func newRestride() (library, error) {
	dev, err := cpu.Open()
	if err != nil {
		return nil, err
	}
	queue, err := dev.NewQueue()
	return &restride{queue, dev.Info().Driver}, err
}

func (r *restride) name() string {
	return "Restride/" + r.driver[strings.LastIndexByte(r.driver, ' ')+1:]
}

func (r *restride) threads() int { return runtime.GOMAXPROCS(0) }

func (r *restride) prepare(e *bench.Entry, dst, src []byte) (operation, error) {
	to, from, err := layouts(e)
	if err != nil {
		return nil, err
	}
	op := &restrideOperation{queue: r.queue, raw: dst}
	op.dst = device.Operand{Buffer: cpu.Wrap(dst), Layout: to}
	op.src = device.Operand{Buffer: cpu.Wrap(src), Layout: from}
	var a, b error
	op.dst.Type, a = layout.ParseDType(e.Dst.Type)
	op.src.Type, b = layout.ParseDType(e.Src.Type)
	return op, errors.Join(a, b)
}

type restrideOperation struct {
	queue    device.Queue
	dst, src device.Operand
	raw      []byte
}

func (o *restrideOperation) run() error {
	if o.dst.Type != o.src.Type {
		return errors.Join(o.queue.Convert(o.dst, o.src, device.Rounding{}), o.queue.Wait())
	}
	return errors.Join(o.queue.Copy(o.dst, o.src), o.queue.Wait())
}

func (o *restrideOperation) result() ([]byte, error) { return o.raw, nil }

func (o *restrideOperation) free() {
	_, _ = o.dst.Buffer.Free(), o.src.Buffer.Free() // the memory is not theirs
}
