//go:build gogl

package gl

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/go-gl/gl/v4.3-core/gl"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// texture makes a texture of a format, with levels.
func texture(t *testing.T, format uint32, width, height, levels int32) (name uint32) {
	t.Helper()
	gl.GenTextures(1, &name)
	gl.BindTexture(gl.TEXTURE_2D, name)
	gl.TexStorage2D(gl.TEXTURE_2D, levels, format, width, height)
	gl.BindTexture(gl.TEXTURE_2D, 0)
	require.NoError(t, failed("glTexStorage2D"))
	t.Cleanup(func() { gl.DeleteTextures(1, &name) })
	return name
}

// Pixels go to a buffer and back unchanged, in every format that has elements.
func TestTextures(t *testing.T) {
	current(t)
	in, err := New(open(t, "cpu"), Options{})
	require.NoError(t, err)
	const width, height = 5, 3 // rows of odd lengths
	for _, c := range []struct {
		format   uint32
		dtype    layout.DType
		channels int64
	}{
		{gl.R8, layout.Uint8, 1}, {gl.RG8, layout.Uint8, 2}, {gl.RGB8, layout.Uint8, 3}, {gl.RGBA8, layout.Uint8, 4},
		{gl.SRGB8, layout.Uint8, 3}, {gl.SRGB8_ALPHA8, layout.Uint8, 4},
		{gl.R16, layout.Uint16, 1}, {gl.RG16, layout.Uint16, 2}, {gl.RGB16, layout.Uint16, 3}, {gl.RGBA16, layout.Uint16, 4},
		{gl.R16F, layout.Float16, 1}, {gl.RG16F, layout.Float16, 2}, {gl.RGB16F, layout.Float16, 3}, {gl.RGBA16F, layout.Float16, 4},
		{gl.R32F, layout.Float32, 1}, {gl.RG32F, layout.Float32, 2}, {gl.RGB32F, layout.Float32, 3}, {gl.RGBA32F, layout.Float32, 4},
		{gl.R8UI, layout.Uint8, 1}, {gl.RG8I, layout.Int8, 2}, {gl.RGB8UI, layout.Uint8, 3}, {gl.RGBA8I, layout.Int8, 4},
		{gl.R16UI, layout.Uint16, 1}, {gl.RG16I, layout.Int16, 2}, {gl.RGB16UI, layout.Uint16, 3}, {gl.RGBA16I, layout.Int16, 4},
		{gl.R32UI, layout.Uint32, 1}, {gl.RG32I, layout.Int32, 2}, {gl.RGB32UI, layout.Uint32, 3}, {gl.RGBA32I, layout.Int32, 4},
	} {
		shape := []int64{height, width, c.channels}
		from, to := newBuffer(t, in, device.GLWrite, c.dtype, shape...), newBuffer(t, in, device.GLRead, c.dtype, shape...)
		data := numbered(width * height * int(c.channels) * c.dtype.Bits() / 8)
		if c.dtype == layout.Float16 || c.dtype == layout.Float32 { // numbers: GL may change NaN
			step := c.dtype.Bits() / 8
			for i := step - 1; i < len(data); i += step {
				data[i] = 0x3c | data[i]&0x81
			}
		}
		x := acquire(t, from)
		require.NoError(t, in.stream.Queue().Write(x.Buffer(), 0, data))
		require.NoError(t, from.Release())
		name := texture(t, c.format, 2*width, 2*height, 2)
		require.NoError(t, from.ToTexture(name, 1))
		require.NoError(t, to.FromTexture(name, 1))
		got, err := acquire(t, to).Bytes()
		require.NoError(t, err)
		require.NoError(t, to.Release())
		assert.Equal(t, data, got, "%#x", c.format)
	}
}

// Rows with gaps between them, behind an offset; GL's own look at the texture.
func TestTextureRows(t *testing.T) {
	eachWay(t, func(t *testing.T, in *Interop) {
		const width, height, pitch, offset = 7, 4, 4 * 10, 24
		var name uint32
		gl.GenBuffers(1, &name)
		bound(gl.COPY_WRITE_BUFFER, name, func() {
			gl.BufferStorage(gl.COPY_WRITE_BUFFER, 256, nil, mappable|gl.DYNAMIC_STORAGE_BIT)
		})
		t.Cleanup(func() { gl.DeleteBuffers(1, &name) })
		l, err := layout.Strided([]int64{height, width, 4}, []int64{pitch, 4, 1}, offset)
		require.NoError(t, err)
		b, err := in.Buffer(name, layout.Uint8, l, device.GLReadWrite)
		require.NoError(t, err)
		defer func() { require.NoError(t, b.Close()) }()
		data := numbered(256)
		set(name, data)
		picture := texture(t, gl.RGBA8, width, height, 1)
		require.NoError(t, b.ToTexture(picture, 0))
		seen := make([]byte, 4*width*height)
		gl.BindTexture(gl.TEXTURE_2D, picture)
		gl.GetTexImage(gl.TEXTURE_2D, 0, gl.RGBA, gl.UNSIGNED_BYTE, unsafe.Pointer(&seen[0]))
		gl.BindTexture(gl.TEXTURE_2D, 0)
		for y := range height {
			require.Equal(t, data[offset+y*pitch:][:4*width], seen[4*width*y:][:4*width])
		}

		x := acquire(t, b)
		require.NoError(t, in.stream.Queue().Fill(x.Operand(), []byte{5}))
		require.NoError(t, b.Release())
		require.NoError(t, b.FromTexture(picture, 0))
		assert.Equal(t, data, get(name, 256))
	})
}

func TestTextureRefusals(t *testing.T) {
	current(t)
	in, err := New(open(t, "cpu"), Options{})
	require.NoError(t, err)
	picture := texture(t, gl.RGBA8, 8, 4, 1)
	b := newBuffer(t, in, device.GLReadWrite, layout.Uint8, 4, 8, 4)
	refused := func(b *Buffer, name uint32, level int, kind error, words ...string) {
		t.Helper()
		for _, err := range []error{b.FromTexture(name, level), b.ToTexture(name, level)} {
			require.ErrorIs(t, err, kind)
			for _, word := range words {
				require.ErrorContains(t, err, word)
			}
		}
	}
	for _, shape := range [][]int64{{8, 4, 4}, {4, 8, 3}, {4, 8}, {128}, {1, 4, 8, 4}} {
		refused(newBuffer(t, in, device.GLReadWrite, layout.Uint8, shape...), picture, 0, device.ErrInvalid, "uint8[4,8,4]", layout.Shape(shape).String())
	}
	refused(newBuffer(t, in, device.GLReadWrite, layout.Int8, 4, 8, 4), picture, 0, device.ErrInvalid, "int8[4,8,4]")
	refused(b, picture, 1, device.ErrInvalid, "no level 1")
	refused(b, picture, -1, device.ErrInvalid, "level -1")
	refused(b, picture, 1<<40, device.ErrInvalid)
	refused(b, 12345, 0, device.ErrInvalid, "no texture 12345")
	refused(b, 0, 0, device.ErrInvalid, "no texture 0")
	refused(nil, picture, 0, device.ErrInvalid, "nil")
	for _, format := range []uint32{gl.RGB565, gl.RGB10_A2, gl.R11F_G11F_B10F, gl.RGB9_E5, gl.RGBA8_SNORM, gl.DEPTH_COMPONENT24, gl.RGBA4} {
		refused(b, texture(t, format, 8, 4, 1), 0, device.ErrUnsupported, fmt.Sprintf("%#x", format))
	}
	var cube uint32
	gl.GenTextures(1, &cube)
	defer gl.DeleteTextures(1, &cube)
	gl.BindTexture(gl.TEXTURE_CUBE_MAP, cube)
	gl.BindTexture(gl.TEXTURE_CUBE_MAP, 0)
	refused(b, cube, 0, device.ErrUnsupported, "two-dimensional")

	acquire(t, b)
	refused(b, picture, 0, device.ErrInvalid, "Release comes first")
	require.NoError(t, b.Release())
	require.NoError(t, b.Close())
	refused(b, picture, 0, device.ErrClosed)

	for _, strides := range [][]int64{{32, 1, 8}, {16, 4, 1}, {-32, 4, 1}, {33, 4, 1}, {32, 4, 0}} {
		l, err := layout.Strided([]int64{4, 8, 4}, strides, 128)
		require.NoError(t, err)
		big := newBuffer(t, in, device.GLReadWrite, layout.Uint8, 512)
		big.layout = l
		refused(big, picture, 0, device.ErrInvalid, "layout")
	}
}

// The program's bindings and modes are preserved.
func TestStateStays(t *testing.T) {
	current(t)
	in, err := New(open(t, "cpu"), Options{Require: Staged})
	require.NoError(t, err)
	b := newBuffer(t, in, device.GLReadWrite, layout.Uint8, 4, 8, 4)
	picture, other := texture(t, gl.RGBA8, 8, 4, 1), texture(t, gl.RGBA8, 8, 4, 1)
	modes := append(append([]uint32{packing.rowLength, unpacking.rowLength}, packing.others...), unpacking.others...)
	gl.BindTexture(gl.TEXTURE_2D, other)
	for target := range bindings {
		gl.BindBuffer(target, b.Name())
	}
	for _, mode := range modes {
		gl.PixelStorei(mode, 1)
	}
	gl.PixelStorei(packing.alignment, 8)
	gl.PixelStorei(unpacking.alignment, 2)
	require.NoError(t, b.ToTexture(picture, 0))
	require.NoError(t, b.FromTexture(picture, 0))
	acquire(t, b)
	require.NoError(t, b.Release())
	value := func(key uint32) (v int32) {
		gl.GetIntegerv(key, &v)
		return v
	}
	assert.EqualValues(t, other, value(gl.TEXTURE_BINDING_2D))
	for _, binding := range bindings {
		assert.EqualValues(t, b.Name(), value(binding))
	}
	for _, mode := range modes {
		assert.EqualValues(t, 1, value(mode), "%#x", mode)
	}
	assert.EqualValues(t, 8, value(packing.alignment))
	assert.EqualValues(t, 2, value(unpacking.alignment))
}

// A frame of 1080p becomes normalised planes of float16 by one kernel and, where it is not
// staged, without a transfer.
func TestFrame(t *testing.T) {
	const width, height = 1920, 1080
	eachWay(t, func(t *testing.T, in *Interop) {
		dev := in.stream.Device()
		if dev.Info().Backend != "cpu" && in.Way() == Staged {
			t.Skip("Mapped and Shared are what is to be shown")
		}
		frame := newBuffer(t, in, device.GLRead, layout.Uint8, height, width, 4)
		data := numbered(4 * width * height)
		set(frame.Name(), data)
		scale, err := tensor.FromSlice(in.stream, []float32{1. / 64, 1. / 128, 1. / 256}, 3, 1, 1)
		require.NoError(t, err)
		defer scale.Release()
		require.NoError(t, in.stream.Wait())

		before := dev.Stats()
		x := acquire(t, frame)
		planes, err := x.Transpose(2, 0, 1)
		require.NoError(t, err)
		defer planes.Release()
		colours, err := planes.Slice(0, 0, 3, 1)
		require.NoError(t, err)
		defer colours.Release()
		y, err := colours.Dequantize(layout.Float16, tensor.Scaling{Scale: scale})
		require.NoError(t, err)
		defer y.Release()
		require.NoError(t, frame.Release())
		now := dev.Stats()
		assert.EqualValues(t, 1, now.Launches-before.Launches)
		if in.Way() != Staged {
			assert.Zero(t, now.HostToDevice-before.HostToDevice)
			assert.Zero(t, now.DeviceToHost-before.DeviceToHost)
			assert.Zero(t, now.Uploads-before.Uploads)
			assert.Zero(t, now.Downloads-before.Downloads)
		}

		floats, err := y.Cast(layout.Float32, device.Rounding{})
		require.NoError(t, err)
		defer floats.Release()
		got, err := tensor.Values[float32](floats)
		require.NoError(t, err)
		wrong := 0
		for c, by := range []float32{1. / 64, 1. / 128, 1. / 256} { // exact
			for i := range width * height {
				if got[c*width*height+i] != by*float32(data[4*i+c]) {
					wrong++
				}
			}
		}
		require.Zero(t, wrong)
	})
}
