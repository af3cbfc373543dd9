package faults

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"time"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/pipeline"
	"github.com/restride/restride/tensor"
)

// Program is work of all kinds on a device. It ends with the first error.
type Program struct {
	*Target
	Device device.Device
	Queue  device.Queue
	Other  device.Queue // of the same device

	second device.Device
	peer   device.Queue // of the second device

	want, got map[string][]byte // results of reads; got is nil, or to be filled
	wrong     error             // a violation of the rules
}

// all runs the program.
func (p *Program) all() error {
	for _, step := range []func() error{
		p.open, p.transfers, p.kernels, p.indices, p.badIndex, p.events, p.reuse, p.replay, p.user, p.peers, p.tensors, p.more,
	} {
		if err := step(); err != nil || p.wrong != nil {
			return err
		}
	}
	return nil
}

func (p *Program) open() (err error) {
	if p.Device, err = p.Open(0); err != nil {
		return err
	}
	if p.Queue, err = p.Device.NewQueue(); err != nil {
		return err
	}
	p.Other, err = p.Device.NewQueue()
	return err
}

// end closes the devices; their queues and buffers end with them.
func (p *Program) end() error {
	var errs []error
	for _, d := range []device.Device{p.second, p.Device} {
		if d != nil {
			errs = append(errs, d.Close())
		}
	}
	return errors.Join(errs...)
}

// again does some work on the device that saw a fault: it may fail, but not return wrong bytes.
func (p *Program) again() error {
	if p.Device == nil || p.wrong != nil {
		return nil
	}
	q, err := p.Device.NewQueue()
	if err != nil {
		return nil
	}
	was := p.Queue
	p.Queue = q
	defer func() { p.Queue = was }()
	if p.transfers() == nil {
		_ = p.badIndex()
	}
	return p.wrong
}

// Check compares the result of a read with the result without a fault.
func (p *Program) Check(name string, got []byte) {
	if p.got != nil {
		p.got[name] = bytes.Clone(got)
		return
	}
	if want := p.want[name]; p.wrong == nil && !bytes.Equal(want, got) {
		at := 0
		for at < min(len(want), len(got)) && want[at] == got[at] {
			at++
		}
		p.wrong = fmt.Errorf("%s has other bytes from byte %d of %d on, without an error", name, at, len(want))
	}
}

// Read reads a buffer, and checks it.
func (p *Program) Read(q device.Queue, name string, b device.Buffer) error {
	got := make([]byte, b.Size())
	if err := q.Read(got, b, 0); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	p.Check(name, got)
	return nil
}

// Await polls an event, then waits for it.
func (p *Program) Await(e device.Event) error {
	for end := time.Now().Add(Deadline / 2); !e.Done(); runtime.Gosched() {
		if time.Now().After(end) {
			p.wrong = fmt.Errorf("an event is never done")
			return nil
		}
	}
	return e.Wait()
}

const side = 64

// matrix is a buffer as side rows and columns, transposed or not.
func matrix(b device.Buffer, t layout.DType, transposed bool) device.Operand {
	strides := []int64{side, 1}
	if transposed {
		strides = []int64{1, side}
	}
	l, err := layout.Strided([]int64{side, side}, strides, 0)
	if err != nil {
		panic(err)
	}
	return device.Operand{Buffer: b, Layout: l, Type: t}
}

// numbers are floats.
func numbers(seed int) []byte {
	b := make([]byte, 0, 4*side*side)
	for i := range side * side {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(i*(seed+3)%1013)-77))
	}
	return b
}

// alloc allocates buffers of a device.
func alloc(d device.Allocator, sizes ...int64) ([]device.Buffer, error) {
	all := make([]device.Buffer, len(sizes))
	for i, n := range sizes {
		var err error
		if all[i], err = d.Alloc(n); err != nil {
			return nil, err
		}
	}
	return all, nil
}

const size = 4 * side * side

// transfers writes and reads, with and without waiting.
func (p *Program) transfers() error {
	b, err := alloc(p.Device, size, size, 3<<20)
	if err != nil {
		return err
	}
	long := bytes.Repeat(numbers(5), 3<<20/size)
	for range 2 { // through all the staging memory
		if err := p.Queue.Write(b[2], 0, long); err != nil {
			return err
		}
	}
	if err := p.Queue.Write(b[0], 0, numbers(1)); err != nil {
		return err
	}
	if err := p.Queue.Copy(matrix(b[1], layout.Float32, true), matrix(b[0], layout.Float32, false)); err != nil {
		return err
	}
	if err := p.Read(p.Queue, "a transposed matrix", b[1]); err != nil {
		return err
	}
	if err := p.Read(p.Queue, "a long write", b[2]); err != nil {
		return err
	}
	if err := p.async(b[0]); err != nil {
		return err
	}
	for _, one := range b {
		if err := one.Free(); err != nil {
			return err
		}
	}
	return nil
}

// async is transfers that others wait for, from the driver's memory.
func (p *Program) async(b device.Buffer) error {
	q, ok := p.Queue.(device.AsyncQueue)
	if !ok {
		return nil
	}
	hosts := p.Device.(device.HostAllocator)
	host, err := hosts.AllocHost(size)
	if err != nil {
		return err
	}
	copy(host, numbers(2))
	written, err := q.WriteAsync(b, 0, host)
	if err == nil {
		err = p.Await(written)
	}
	if err != nil || p.wrong != nil {
		return err
	}
	clear(host)
	read, err := q.ReadAsync(host, b, 0)
	if err == nil {
		err = p.Await(read)
	}
	if err != nil || p.wrong != nil {
		return err
	}
	p.Check("an asynchronous read", host)
	if timed, ok := read.(device.TimedEvent); ok {
		if _, err := timed.Since(written); err != nil && !errors.Is(err, device.ErrUnsupported) {
			return err
		}
	}
	return hosts.FreeHost(host)
}

// kernels converts, fills and chooses.
func (p *Program) kernels() error {
	b, err := alloc(p.Device, size, size, size/2, side*side)
	if err != nil {
		return err
	}
	for i := range 2 {
		if err := p.Queue.Write(b[i], 0, numbers(3+i)); err != nil {
			return err
		}
	}
	half, mask := matrix(b[2], layout.Float16, false), matrix(b[3], layout.Bool, false)
	if err := p.Queue.Convert(half, matrix(b[0], layout.Float32, true), device.Rounding{}); err != nil {
		return err
	}
	if err := p.Queue.Fill(matrix(b[3], layout.Uint8, false), []byte{1}); err != nil {
		return err
	}
	if err := p.Queue.Where(matrix(b[0], layout.Float32, false), mask, matrix(b[1], layout.Float32, true), matrix(b[0], layout.Float32, false)); err != nil {
		return err
	}
	if err := p.Read(p.Queue, "halves", b[2]); err != nil {
		return err
	}
	return p.Read(p.Queue, "what Where chose", b[0])
}

// rows is a list of row numbers, and the operands that gather those rows of a table.
func (p *Program) rows(table, dst, at device.Buffer, list ...int32) (to, from, indices device.Operand, by layout.Index, err error) {
	var b []byte
	for _, n := range list {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	if err = p.Queue.Write(at, 0, b); err != nil {
		return
	}
	n := int64(len(list))
	operand := func(b device.Buffer, t layout.DType, strides ...int64) device.Operand {
		l, err := layout.Strided([]int64{n, side}, strides, 0)
		if err != nil {
			panic(err)
		}
		return device.Operand{Buffer: b, Layout: l, Type: t}
	}
	to, from = operand(dst, layout.Float32, side, 1), operand(table, layout.Float32, 0, 1)
	return to, from, operand(at, layout.Int32, 1, 0), layout.Index{Extent: side, Stride: side}, nil
}

// indices gathers and scatters rows.
func (p *Program) indices() error {
	b, err := alloc(p.Device, size, 4*4*side, 64)
	if err != nil {
		return err
	}
	if err := p.Queue.Write(b[0], 0, numbers(6)); err != nil {
		return err
	}
	to, from, at, by, err := p.rows(b[0], b[1], b[2], 3, 63, 0, 17)
	if err == nil {
		err = p.Queue.Take(to, from, at, by)
	}
	if err != nil {
		return err
	}
	if err := p.Read(p.Queue, "gathered rows", b[1]); err != nil {
		return err
	}
	to, from, at, by, err = p.rows(b[0], b[1], b[2], 9, 8, 7, 6)
	if err == nil {
		err = p.Queue.Put(from, to, at, device.ReduceSet, by)
	}
	if err != nil {
		return err
	}
	if err := p.Queue.Wait(); err != nil {
		return err
	}
	return p.Read(p.Queue, "a table with other rows", b[0])
}

// badIndex gathers a row that does not exist: an error, whatever else fails.
func (p *Program) badIndex() error {
	b, err := alloc(p.Device, size, 4*4*side, 64)
	if err != nil {
		return err
	}
	to, from, at, by, err := p.rows(b[0], b[1], b[2], 3, 64, 0, 17)
	if err == nil {
		err = p.Queue.Take(to, from, at, by)
	}
	if err == nil {
		err = p.Queue.Wait()
	}
	if err == nil {
		p.wrong = errors.New("an index out of range gave no error")
	}
	if errors.Is(err, device.ErrInvalid) && !errors.Is(err, device.ErrDriver) {
		return nil
	}
	return err
}

// events puts the work of two queues in order.
func (p *Program) events() error {
	b, err := alloc(p.Device, size, size)
	if err != nil {
		return err
	}
	for i := range 3 {
		if err := p.Queue.Write(b[0], 0, numbers(7+i)); err != nil {
			return err
		}
		if err := follow(p.Other, p.Queue); err != nil {
			return err
		}
		if err := p.Other.Copy(matrix(b[1], layout.Float32, false), matrix(b[0], layout.Float32, true)); err != nil {
			return err
		}
		if err := follow(p.Queue, p.Other); err != nil {
			return err
		}
	}
	return p.Read(p.Other, "the work of two queues", b[1])
}

func follow(later, before device.Queue) error {
	e, err := before.Record()
	if err != nil {
		return err
	}
	return later.WaitFor(e)
}

// reuse frees memory that work still uses, and makes another queue write to its own allocation.
func (p *Program) reuse() error {
	for i := range 4 {
		b, err := alloc(p.Device, size, size)
		if err != nil {
			return err
		}
		if err := p.Queue.Write(b[0], 0, numbers(20+i)); err != nil {
			return err
		}
		for range 25 {
			if err := p.Queue.Copy(matrix(b[1], layout.Float32, true), matrix(b[0], layout.Float32, false)); err != nil {
				return err
			}
		}
		if err := b[0].Free(); err != nil {
			return err
		}
		for range 2 { // the first one polls the work
			other, err := p.Device.Alloc(size)
			if err != nil {
				return err
			}
			if err := p.Other.Fill(matrix(other, layout.Float32, false), []byte{0xff, 0xee, 0xdd, 0xcc}); err != nil {
				return err
			}
			defer func() { _ = other.Free() }()
		}
		if err := p.Read(p.Queue, fmt.Sprintf("a copy of what was freed (%d)", i), b[1]); err != nil {
			return err
		}
		if err := b[1].Free(); err != nil {
			return err
		}
	}
	return p.Other.Wait()
}

// replay runs captured work twice.
func (p *Program) replay() error {
	b, err := alloc(p.Device, size, size, size)
	if err != nil {
		return err
	}
	if err := p.Queue.Write(b[0], 0, numbers(11)); err != nil {
		return err
	}
	r, err := p.capture(func() error {
		if err := p.Queue.Copy(matrix(b[1], layout.Float32, true), matrix(b[0], layout.Float32, false)); err != nil {
			return err
		}
		return p.Queue.Copy(matrix(b[2], layout.Float32, false), matrix(b[1], layout.Float32, false))
	})
	if r == nil || err != nil {
		return err
	}
	for range 2 {
		if err := r.Run(); err != nil {
			return err
		}
	}
	if err := p.Read(p.Queue, "a replay", b[2]); err != nil {
		return err
	}
	return r.Close()
}

// user runs a user's kernel.
func (p *Program) user() error {
	if p.Kernel == nil {
		return nil
	}
	b, err := p.Device.Alloc(256)
	if err != nil {
		return err
	}
	k, err := p.Kernel(p.Device)
	if err != nil {
		return err
	}
	if err := p.Queue.Write(b, 0, numbers(12)[:256]); err != nil {
		return err
	}
	launch := func() error {
		return p.Queue.(device.Launcher).Launch(k, device.Dim3{2}, device.Dim3{32}, b, device.Local(4*32))
	}
	if err := launch(); err != nil {
		return err
	}
	if err := p.Read(p.Queue, "what a kernel of the user's made", b); err != nil {
		return err
	}
	r, err := p.capture(launch)
	if r == nil || err != nil {
		return errors.Join(err, k.Close())
	}
	if err := k.Close(); err != nil { // the replay keeps it
		return err
	}
	if err := r.Run(); err != nil {
		return err
	}
	if err := p.Read(p.Queue, "what a kernel of the user's made in a replay", b); err != nil {
		return err
	}
	return r.Close()
}

// capture captures f; nil: the device does not replay work.
func (p *Program) capture(f func() error) (device.Replay, error) {
	q, ok := p.Queue.(device.Recorder)
	if !ok {
		return nil, nil
	}
	r, err := q.Capture(f)
	if errors.Is(err, device.ErrUnsupported) && !errors.Is(err, device.ErrDriver) {
		return nil, nil
	}
	return r, err
}

// peers copies from another device.
func (p *Program) peers() (err error) {
	if !p.Second {
		return nil
	}
	if p.second, err = p.Open(1); err != nil {
		return err
	}
	if p.peer, err = p.second.NewQueue(); err != nil {
		return err
	}
	here, err := alloc(p.Device, size)
	if err != nil {
		return err
	}
	there, err := alloc(p.second, size)
	if err != nil {
		return err
	}
	if err := p.peer.Write(there[0], 0, numbers(13)); err != nil {
		return err
	}
	if err := p.Queue.(device.PeerQueue).CopyPeer(here[0], 0, there[0], 0, size, p.peer); err != nil {
		return err
	}
	if err := p.peer.Fill(matrix(there[0], layout.Float32, false), []byte{1, 2, 3, 4}); err != nil {
		return err
	}
	if err := p.Read(p.Queue, "what came from the other device", here[0]); err != nil {
		return err
	}
	return p.Read(p.peer, "what went on there", there[0])
}

// tensors moves batches through a pipeline, like repack.
func (p *Program) tensors() error {
	s := tensor.Adopt(p.Device, p.Queue)
	const batches = 5
	read, written := 0, 0
	_, err := pipeline.Run(context.Background(), s, pipeline.Stages{
		Inputs: []pipeline.Input{{Type: layout.Float32, Dims: []int64{side, side}}},
		Source: func(_ context.Context, in []*pipeline.Array) error {
			if read == batches {
				return io.EOF
			}
			read++
			if err := in[0].Resize(side, side); err != nil {
				return err
			}
			copy(in[0].Bytes(), numbers(30+read))
			return nil
		},
		Work: func(_ context.Context, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
			turned, err := in[0].Transpose(1, 0)
			if err != nil {
				return nil, err
			}
			defer turned.Release()
			out, err := turned.Cast(layout.Float16, device.Rounding{})
			return []*tensor.Tensor{out}, err
		},
		Sink: func(_ context.Context, out []*pipeline.Array) error {
			p.Check(fmt.Sprintf("batch %d", written), out[0].Bytes())
			written++
			return nil
		},
	})
	if err == nil && written != batches {
		p.wrong = fmt.Errorf("a pipeline has %d of %d batches", written, batches)
	}
	return err
}

func (p *Program) more() error {
	if p.More == nil {
		return nil
	}
	return p.More(p)
}
