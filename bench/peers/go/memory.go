package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/restride/restride/bench"
	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/device/oracle"
	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/layout"
)

// memory is the buffers of a case that take turns, on huge pages as those of
// Restride's cpu device are: they are its buffers.
type memory struct {
	dev   *cpu.Device
	pairs []struct{ dst, src []byte }
}

func newMemory(e *bench.Entry) (*memory, error) {
	dev, err := cpu.Open()
	if err != nil {
		return nil, err
	}
	m := &memory{dev: dev}
	turns := 1
	if !e.Cached {
		turns = bench.Turns(size(&e.Dst) + size(&e.Src))
	}
	m.pairs = make([]struct{ dst, src []byte }, turns)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range m.pairs {
		p := &m.pairs[i]
		var a, b error
		p.dst, a = m.alloc(size(&e.Dst))
		p.src, b = m.alloc(size(&e.Src))
		if err := errors.Join(a, b); err != nil {
			return nil, errors.Join(err, m.close())
		}
		for j := range p.dst {
			p.dst[j] = 0xa5
		}
		if i > 0 {
			copy(p.src, m.pairs[0].src)
			continue
		}
		for rest := p.src; len(rest) > 0; {
			var word [8]byte
			binary.LittleEndian.PutUint64(word[:], rng.Uint64())
			rest = rest[copy(rest, word[:]):]
		}
	}
	return m, nil
}

func (m *memory) alloc(n int64) ([]byte, error) {
	b, err := m.dev.Alloc(n)
	if err != nil {
		return nil, err
	}
	raw, _ := cpu.Bytes(b) // it is one of this device's
	return raw, nil
}

func (m *memory) close() error { return m.dev.Close() }

// size is the bytes of a place: of all of the tensor that it is a part of.
func size(p *bench.Place) int64 {
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

// check holds as much of a result against the index walk as there is time for, a
// part of the first axis after the other, in a random order; it says how much.
func check(e *bench.Entry, got, src []byte, look time.Duration) (string, error) {
	to, from, err := layouts(e)
	if err != nil {
		return "", err
	}
	types := [2]layout.DType{}
	for i, name := range []string{e.Dst.Type, e.Src.Type} {
		if types[i], err = layout.ParseDType(name); err != nil {
			return "", err
		}
	}
	rows := to.Dim(0)
	part := max(1<<18/max(to.Count()/rows, 1), 1)
	end := time.Now().Add(look)
	var done int64
	for _, i := range rand.New(rand.NewPCG(3, 4)).Perm(int((rows + part - 1) / part)) {
		first := int64(i) * part
		a, err := to.Slice(0, first, first+part, 1)
		if err != nil {
			return "", err
		}
		b, err := from.Slice(0, first, first+part, 1)
		if err != nil {
			return "", err
		}
		dense, err := layout.Contiguous(a.Shape()...)
		if err != nil {
			return "", err
		}
		bytesOf, _ := layout.PackedBytes(dense.Count(), e.Dst.Bits)
		want, have := make([]byte, bytesOf), make([]byte, bytesOf)
		oracle.Copy(have, dense, got, a, e.Dst.Bits)
		if types[0] == types[1] {
			oracle.Copy(want, dense, src, b, e.Dst.Bits)
		} else {
			oracle.Convert(want, dense, types[0], src, b, types[1], device.Rounding{})
			sameNaNs(want, have, types[0], dense.Count())
		}
		if !bytes.Equal(want, have) {
			return "", fmt.Errorf("%w in rows %d to %d", errWrong, first, first+part)
		}
		if done += dense.Count(); time.Now().After(end) {
			break
		}
	}
	if done == to.Count() {
		return "every bit", nil
	}
	return fmt.Sprintf("%.0f%% of the elements", 100*float64(done)/float64(to.Count())), nil
}

// sameNaNs makes the NaNs of the two the same: libraries differ in which they make.
func sameNaNs(want, have []byte, t layout.DType, n int64) {
	if numeric.KindOf(t) != numeric.FloatKind {
		return
	}
	width := int64(t.Bits() / 8)
	for i := range n {
		if math.IsNaN(numeric.Float(t, want, i)) && math.IsNaN(numeric.Float(t, have, i)) {
			copy(want[i*width:][:width], have[i*width:])
		}
	}
}

// layouts are where the elements of a case lie.
func layouts(e *bench.Entry) (dst, src layout.Layout, err error) {
	if len(e.Dst.Dims) == 0 || len(e.Src.Dims) == 0 {
		return dst, src, unsupported("no axes")
	}
	if dst, err = layout.Strided(e.Dst.Dims, e.Dst.Strides, e.Dst.Offset); err == nil {
		src, err = layout.Strided(e.Src.Dims, e.Src.Strides, e.Src.Offset)
	}
	return dst, src, err
}
