package main

import (
	"errors"
	"runtime"
	"strings"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/bench/peers"
	"github.com/restride/restride/layout"
)

// restride is the cpu device of this build, at the level of RESTRIDE_SIMD: it can be compared
// with itself, without vectors, for example, or at an earlier commit.
type restride struct {
	queue  device.Queue
	driver string // "go1.26.8, avx512"
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

func (r *restride) ops() []string { return []string{"copy", "convert", "fill", "take"} }

func (r *restride) prepare(e *peers.Entry, b buffers) (operation, error) {
	c, err := parse(e)
	if err != nil {
		return nil, err
	}
	dst := device.Operand{Buffer: cpu.Wrap(b.dst), Layout: c.dst, Type: c.dstType}
	src := device.Operand{Buffer: cpu.Wrap(b.src), Layout: c.src, Type: c.srcType}
	at := device.Operand{Buffer: cpu.Wrap(b.at), Layout: c.at, Type: layout.Int64}
	queue := func() error { return r.queue.Copy(dst, src) }
	switch e.Op {
	case "convert":
		queue = func() error { return r.queue.Convert(dst, src, device.Rounding{}) }
	case "fill":
		queue = func() error { return r.queue.Fill(dst, c.pattern) }
	case "take":
		queue = func() error { return r.queue.Take(dst, src, at, c.by) }
	}
	run := func() error { return errors.Join(queue(), r.queue.Wait()) }
	free := func() { _, _, _ = dst.Buffer.Free(), src.Buffer.Free(), at.Buffer.Free() } // the libraries do not own the memory
	return &restrideOperation{b.dst, run, free}, nil
}

type restrideOperation struct {
	raw  []byte
	call func() error
	drop func()
}

func (o *restrideOperation) run() error              { return o.call() }
func (o *restrideOperation) result() ([]byte, error) { return o.raw, nil }
func (o *restrideOperation) free()                   { o.drop() }
