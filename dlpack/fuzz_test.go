package dlpack

import (
	"bytes"
	"encoding/binary"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// FuzzImport imports capsules whose fields may be anything, except addresses, which are valid
// or nil. The deleter must be called exactly once, and elements within the producer's memory
// must match an index walk.
func FuzzImport(f *testing.F) {
	add := func(p *producer, as layout.DType) {
		var b bytes.Buffer
		x := &p.versioned.tensor
		for _, v := range []any{
			p.versioned.major, p.versioned.flags, x.device, x.rank, x.code, x.bits, x.lanes, x.byteOffset, as,
			x.data != 0, x.shape != 0, x.strides != 0, p.dims, p.strides,
		} {
			require.NoError(f, binary.Write(&b, binary.LittleEndian, v))
		}
		f.Add(b.Bytes())
	}
	add(produce(f, layout.Float32, make([]byte, 24), 2, 3), layout.Invalid)
	add(produce(f, layout.Int16, make([]byte, 24), 2, 3).strided(10, -3, 1), layout.Invalid)
	add(produce(f, layout.Uint4, make([]byte, 24), 2, 3).strided(3, 0, -2), layout.Bit)
	f.Fuzz(func(t *testing.T, raw []byte) {
		const room = 256
		p := produce(t, layout.Uint8, count(3*room))
		r := bytes.NewReader(raw)
		read := func(into any) { _ = binary.Read(r, binary.LittleEndian, into) } // missing bytes are 0
		x := &p.versioned.tensor
		var as layout.DType
		var has [3]bool
		for _, into := range []any{&p.versioned.major, &p.versioned.flags, &x.device, &x.rank, &x.code, &x.bits, &x.lanes, &x.byteOffset, &as, &has} {
			read(into)
		}
		// The arrays have the length of the rank, if it is valid.
		p.dims, p.strides = make([]int64, layout.MaxRank), make([]int64, layout.MaxRank)
		n := max(0, min(int(x.rank), layout.MaxRank))
		read(p.dims[:n])
		read(p.strides[:n])
		x.data, x.shape, x.strides = 0, 0, 0
		if has[0] {
			x.data = uintptr(unsafe.Pointer(&p.data[room]))
		}
		if has[1] {
			x.shape = p.pin(p.dims)
		}
		if has[2] {
			x.strides = p.pin(p.strides)
		}
		c := p.capsule()
		forget(c)
		y, err := Import(tensor.Host(), c, ImportOptions{As: as, ReadOnly: true})
		if err == nil {
			check(t, p, y, room)
			require.NoError(t, y.Release())
		} else {
			require.True(t, device.ErrInvalid == unwrap(err) || device.ErrUnsupported == unwrap(err), "%v", err)
		}
		require.EqualValues(t, 1, deletions(c))
	})
}

func unwrap(err error) error {
	if e, ok := err.(interface{ Unwrap() error }); ok {
		return e.Unwrap()
	}
	return err
}

// check compares an imported tensor with a walk over the producer's own bits, if they exist:
// data points to the room-th of its bytes.
func check(t *testing.T, p *producer, y *tensor.Tensor, room int64) {
	x := &p.versioned.tensor
	if y.Count() == 0 || y.Count() > 1<<12 || x.byteOffset > uint64(room) {
		return
	}
	pitch := int64(x.bits)
	if p.versioned.flags&flagPadded != 0 && pitch < 8 {
		pitch = 8
	}
	dims := p.dims[:x.rank]
	strides := make([]int64, x.rank)
	step := int64(1)
	for i := len(dims) - 1; i >= 0; i-- {
		strides[i], step = step, step*dims[i]
		if x.strides != 0 {
			strides[i] = p.strides[i]
		}
	}
	var want []byte
	bit := func(at int64) bool { // appends a bit of the producer's
		if at < 0 || at >= int64(len(p.data))*8 {
			return false
		}
		want = append(want, p.data[at/8]>>(at%8)&1)
		return true
	}
	for k := range step {
		at := int64(0)
		for i, left := len(dims)-1, k; i >= 0; i-- {
			at += left % dims[i] * strides[i]
			left /= dims[i]
		}
		for lane := range int64(x.lanes) {
			for b := range int64(x.bits) {
				if !bit((room+int64(x.byteOffset))*8 + (at*int64(x.lanes)+lane)*pitch + b) {
					return
				}
			}
		}
	}
	packed, err := y.Bytes()
	require.NoError(t, err)
	got := make([]byte, len(want))
	for i := range got {
		got[i] = packed[i/8] >> (i % 8) & 1
	}
	require.Equal(t, want, got)
}
