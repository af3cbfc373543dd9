//go:build gogl

package gl

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// The best way is found, on the drivers of scripts/gogl.sh.
func TestBestWay(t *testing.T) {
	best := map[string]Way{"cpu": Mapped, "opencl:0": Mapped, "cuda:0": Staged}
	if os.Getenv("RESTRIDE_LIBCUDA") != "" {
		best["cuda:0"] = Shared
	}
	if os.Getenv("RESTRIDE_GLSHIM_EVENT") != "" {
		best["opencl:0"] = Shared
	}
	for name, want := range best {
		t.Run(name, func(t *testing.T) {
			current(t)
			opened := device.Open
			if want == Shared {
				opened = openShared
			}
			s := openWith(t, name, opened)
			if s.Device().Info().Kind != device.CPU && want == Mapped {
				t.Skip("an OpenCL device with memory of its own")
			}
			in, err := New(s, Options{})
			require.NoError(t, err)
			assert.Equal(t, want, in.Way(), in.Why())
			assert.Equal(t, want == Shared, in.Why() == nil)
			_, err = New(s, Options{Require: Shared})
			assert.Equal(t, want == Shared, err == nil)
		})
	}
}

// Tensors see GL's writes, and GL sees tensors' writes, repeatedly.
func TestRoundTrip(t *testing.T) {
	eachWay(t, func(t *testing.T, in *Interop) {
		const n = 96
		from, to := newBuffer(t, in, device.GLRead, layout.Float32, n, n), newBuffer(t, in, device.GLWrite, layout.Float32, n, n)
		data := numbered(4 * n * n)
		for round := range 3 {
			data[0] = byte(round)
			set(from.Name(), data)
			x, y := acquire(t, from), acquire(t, to)
			turned, err := x.Transpose(1, 0)
			require.NoError(t, err)
			require.NoError(t, y.CopyFrom(turned))
			require.NoError(t, turned.Release())
			require.NoError(t, from.Release())
			require.NoError(t, to.Release())
			got := get(to.Name(), len(data))
			for i := range n {
				for j := range n {
					require.Equal(t, data[4*(i*n+j):][:4], got[4*(j*n+i):][:4])
				}
			}
		}
	})
}

// Elements of every width.
func TestWidths(t *testing.T) {
	eachWay(t, func(t *testing.T, in *Interop) {
		for of, want := range map[layout.DType][]byte{
			layout.Bit: {0xff, 0x7f}, layout.Int2: {0xff, 0xff, 0xff, 0x3f}, layout.Uint4: {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f},
			layout.Float8E5M2: bytes.Repeat([]byte{0xff}, 15), layout.BFloat16: bytes.Repeat([]byte{0xff}, 30), layout.Complex128: bytes.Repeat([]byte{0xff}, 240),
		} {
			b := newBuffer(t, in, device.GLReadWrite, of, 3, 5)
			set(b.Name(), make([]byte, len(want)))
			require.NoError(t, in.stream.Queue().Fill(acquire(t, b).Operand(), bytes.Repeat([]byte{0xff}, max(1, of.Bits()/8))))
			require.NoError(t, b.Release())
			assert.Equal(t, want, get(b.Name(), len(want)), of)
		}
	})
}

// Only Staged makes transfers, and Stats counts them.
func TestTransfers(t *testing.T) {
	eachWay(t, func(t *testing.T, in *Interop) {
		const size = 4096
		for _, use := range []device.GLUse{device.GLRead, device.GLWrite, device.GLReadWrite} {
			b := newBuffer(t, in, use, layout.Uint8, size)
			before := in.stream.Device().Stats()
			x := acquire(t, b)
			if use != device.GLRead {
				require.NoError(t, in.stream.Queue().Fill(x.Operand(), []byte{7}))
			}
			require.NoError(t, b.Release())
			now := in.stream.Device().Stats()
			var up, down int64
			if in.Way() == Staged && use != device.GLWrite {
				up = size
			}
			if in.Way() == Staged && use != device.GLRead {
				down = size
			}
			assert.Equal(t, up, now.HostToDevice-before.HostToDevice, use)
			assert.Equal(t, down, now.DeviceToHost-before.DeviceToHost, use)
		}
	})
}

// Data outside the declared use does not change: GL's data after GLRead, the rest of the buffer
// after a partial write.
func TestReadWrite(t *testing.T) {
	eachWay(t, func(t *testing.T, in *Interop) {
		data := numbered(256)
		b := newBuffer(t, in, device.GLReadWrite, layout.Uint8, 256)
		set(b.Name(), data)
		x := acquire(t, b)
		part, err := x.Slice(0, 16, 32, 1)
		require.NoError(t, err)
		require.NoError(t, in.stream.Queue().Fill(part.Operand(), []byte{9}))
		require.NoError(t, part.Release())
		require.NoError(t, b.Release())
		for i := 16; i < 32; i++ {
			data[i] = 9
		}
		require.Equal(t, data, get(b.Name(), 256))
	})
}
