package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/bench/peers"
	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/layout"
)

// buffers are the memory of a case. A fill has no src, and only a take has at.
type buffers struct{ dst, src, at []byte }

// memory is the rotating buffers, on huge pages: buffers of Restride's cpu device.
type memory struct {
	dev device.Device
	all []buffers
}

func newMemory(e *peers.Entry) (*memory, error) {
	if e.Rotation < 1 {
		return nil, fmt.Errorf("%d sets of buffers: want at least 1", e.Rotation)
	}
	dev, err := cpu.Open()
	if err != nil {
		return nil, err
	}
	m := &memory{dev: dev}
	indices := drawn(e)
	for range e.Rotation {
		b, err := m.alloc(e)
		if err != nil {
			return nil, errors.Join(err, m.close())
		}
		for i := range b.dst {
			b.dst[i] = 0xa5
		}
		copy(b.at, indices)
		if m.all = append(m.all, b); len(m.all) > 1 {
			copy(b.src, m.all[0].src)
			continue
		}
		rng := rand.New(rand.NewPCG(1, 2))
		for rest := b.src; len(rest) > 0; {
			var word [8]byte
			binary.LittleEndian.PutUint64(word[:], rng.Uint64())
			rest = rest[copy(rest, word[:]):]
		}
	}
	return m, nil
}

// drawn are a take's indices, of int64, uniform.
func drawn(e *peers.Entry) (raw []byte) {
	if e.At == nil {
		return nil
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for range e.At.Length {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(rng.Int64N(e.Src.Dims[e.At.Axis])))
	}
	return raw
}

func (m *memory) alloc(e *peers.Entry) (b buffers, err error) {
	one := func(p *peers.Location, to *[]byte) {
		if err == nil {
			*to, err = m.bytes(size(p))
		}
	}
	one(&e.Dst, &b.dst)
	if e.Op != "fill" {
		one(&e.Src, &b.src)
	}
	if e.At != nil {
		one(&e.At.Location, &b.at)
	}
	return b, err
}

func (m *memory) bytes(n int64) ([]byte, error) {
	b, err := m.dev.Alloc(n)
	if err != nil {
		return nil, err
	}
	raw, _ := cpu.Bytes(b) // it is a buffer of this device
	return raw, nil
}

func (m *memory) close() error { return m.dev.Close() }

// size is the number of bytes of a place: of the whole tensor that contains it.
func size(p *peers.Location) int64 {
	n := p.Length
	if p.Recipe != nil {
		whole := int64(1)
		for _, d := range p.Recipe.Dims {
			whole *= d
		}
		n = max(n, whole)
	}
	return (n*int64(p.Bits) + 7) / 8
}

var errWrong = errors.New("wrong result")

// check compares as much of a result with the index walk as time allows, in parts along the
// first axis, in a random order; it says how much.
func check(e *peers.Entry, got []byte, b buffers, look time.Duration) (string, error) {
	c, err := parse(e)
	if err != nil {
		return "", err
	}
	rows, width := c.dst.Dim(0), c.dstType.Bits()
	part := max(1<<18/max(c.dst.Count()/rows, 1), 1)
	end := time.Now().Add(look)
	var done int64
	for _, i := range rand.New(rand.NewPCG(3, 4)).Perm(int((rows + part - 1) / part)) {
		first := int64(i) * part
		some, err := c.rows(first, first+part)
		if err != nil {
			return "", err
		}
		dense, err := layout.Contiguous(some.dst.Shape()...)
		if err != nil {
			return "", err
		}
		bytesOf, _ := layout.PackedBytes(dense.Count(), width)
		want, have := make([]byte, bytesOf), make([]byte, bytesOf)
		oracle.Copy(have, dense, got, some.dst, width)
		some.walk(want, dense, b)
		if c.op == "convert" {
			sameNaNs(want, have, c.dstType, dense.Count())
		}
		if !bytes.Equal(want, have) {
			return "", fmt.Errorf("%w in rows %d to %d", errWrong, first, first+part)
		}
		if done += dense.Count(); time.Now().After(end) {
			break
		}
	}
	if done == c.dst.Count() {
		return "every bit", nil
	}
	return fmt.Sprintf("%.0f%% of the elements", 100*float64(done)/float64(c.dst.Count())), nil
}

// sameNaNs makes the NaNs of the two equal, as libraries' NaNs differ.
func sameNaNs(want, have []byte, t layout.DType, n int64) {
	if numeric.KindOf(t) != numeric.FloatKind || t.Bits() < 8 { // below a byte there is no NaN
		return
	}
	width := int64(t.Bits() / 8)
	for i := range n {
		if math.IsNaN(numeric.Float(t, want, i)) && math.IsNaN(numeric.Float(t, have, i)) {
			copy(want[i*width:][:width], have[i*width:])
		}
	}
}
