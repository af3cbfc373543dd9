package bench

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/layout"
)

// contents are the contents of operands before a run.
type contents struct {
	noise []byte
	seed  uint64

	// For GPUs, where a copy is a thousand times faster than a write from the host:
	mirror device.Buffer     // begins with the noise; nil: it is written each time
	kept   map[string][]byte // indices and conditions, by operation; nil: they are made each time
	room   int64             // for more of these, in bytes
}

// mostKept is the most bytes of indices and conditions that a run keeps.
const mostKept = 1 << 30

// putNoise fills a buffer with noise.
func (c *contents) putNoise(q device.Queue, b device.Buffer) error {
	if c.mirror == nil {
		return q.Write(b, 0, c.noise[:b.Size()])
	}
	from := dense(b)
	from.Buffer = c.mirror
	return q.Copy(dense(b), from)
}

// putMade fills a buffer with the indices or the conditions of an operation, copied from
// another buffer that has them, if any.
func (c *contents) putMade(q device.Queue, b, other device.Buffer, o *oracle.Case) error {
	if other != nil {
		return q.Copy(dense(b), dense(other))
	}
	return q.Write(b, 0, c.made(o, b.Size()))
}

// made returns n bytes of the indices of an operation, otherwise of its conditions.
func (c *contents) made(o *oracle.Case, size int64) []byte {
	if c.kept == nil {
		return c.make(o, size)
	}
	name := o.String()
	data, ok := c.kept[name]
	if !ok {
		if data = c.make(o, size); size <= c.room {
			c.kept[name] = data
			c.room -= size
		}
	}
	return data
}

func (c *contents) make(o *oracle.Case, size int64) []byte {
	if o.Op != oracle.OpWhere {
		return indices(*o, size, c.seed)
	}
	set := make([]byte, size)
	for i := range set {
		set[i] = c.noise[i] & 1
	}
	return set
}

// hold makes at least the given number of bytes of noise, on a GPU in its memory, too.
func (r *runner) hold(bytes int64) error {
	if int64(len(r.noise)) >= bytes {
		return nil
	}
	r.noise = oracle.RandomBytes(rand.New(rand.NewPCG(r.Seed, 2)), bytes)
	if r.kept == nil { // not a GPU
		return nil
	}
	if err := r.dropMirror(); err != nil || r.scarce {
		return err
	}
	b, err := r.dev.Alloc(bytes)
	switch {
	case errors.Is(err, device.ErrOutOfMemory):
		r.scarce = true
		return nil
	case err != nil:
		return err
	}
	r.mirror = b
	return r.q.Write(b, 0, r.noise)
}

func (r *runner) dropMirror() (err error) {
	if r.mirror != nil {
		err = r.mirror.Free()
		r.mirror = nil
	}
	return err
}

// roomy calls a function that allocates, and repeats it without the mirror of the noise if
// memory is short.
func (r *runner) roomy(call func() error) error {
	err := call()
	if r.mirror == nil || !errors.Is(err, device.ErrOutOfMemory) {
		return err
	}
	r.scarce = true
	if err := r.dropMirror(); err != nil {
		return err
	}
	return call()
}

// indices are the given number of bytes of indices.
func indices(o oracle.Case, size int64, seed uint64) []byte {
	rng := rand.New(rand.NewPCG(seed, 3))
	at := make([]byte, 0, size)
	for int64(len(at)) < size {
		if i := uint64(rng.Int64N(o.By[0].Extent)); o.AtType == layout.Int32 {
			at = binary.LittleEndian.AppendUint32(at, uint32(i))
		} else {
			at = binary.LittleEndian.AppendUint64(at, i)
		}
	}
	return at
}
