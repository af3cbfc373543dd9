//go:build gogl

package gl

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/go-gl/gl/v4.3-core/gl"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// side is the side of a picture whose fragments are slow.
const side = 256

// slowly is a program that writes a number to a buffer, for each fragment.
func slowly(t *testing.T) (program uint32) {
	t.Helper()
	program = gl.CreateProgram()
	t.Cleanup(func() { gl.DeleteProgram(program) })
	for kind, source := range map[uint32]string{
		gl.VERTEX_SHADER: `#version 430
			void main() { gl_Position = vec4(gl_VertexID == 1 ? 3 : -1, gl_VertexID == 2 ? 3 : -1, 0, 1); }` + "\x00",
		gl.FRAGMENT_SHADER: `#version 430
			layout(std430, binding = 0) buffer Numbers { uint numbers[]; };
			layout(location = 0) uniform uint first;
			out vec4 color;
			void main() {
				uint i = uint(gl_FragCoord.y) * 256u + uint(gl_FragCoord.x), x = i;
				for (int k = 0; k < 2000; k++) x = x * 1664525u + 1013904223u;
				numbers[i] = first + i + (x == 1u && i == 7u ? 1u : 0u);
				color = vec4(0);
			}` + "\x00",
	} {
		shader := gl.CreateShader(kind)
		text, free := gl.Strs(source)
		gl.ShaderSource(shader, 1, text, nil)
		free()
		gl.CompileShader(shader)
		gl.AttachShader(program, shader)
		gl.DeleteShader(shader)
	}
	gl.LinkProgram(program)
	var linked int32
	gl.GetProgramiv(program, gl.LINK_STATUS, &linked)
	require.EqualValues(t, gl.TRUE, linked)
	return program
}

// Work given to GL before Acquire is done before tensors read, and tensors' writes are done
// before GL reads, however long either lasts.
func TestOrder(t *testing.T) {
	eachWay(t, func(t *testing.T, in *Interop) {
		b := newBuffer(t, in, device.GLReadWrite, layout.Uint32, side, side)
		var framebuffer, vertices uint32
		gl.GenFramebuffers(1, &framebuffer)
		gl.BindFramebuffer(gl.FRAMEBUFFER, framebuffer)
		gl.FramebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, texture(t, gl.RGBA8, side, side, 1), 0)
		gl.GenVertexArrays(1, &vertices)
		gl.BindVertexArray(vertices)
		gl.Viewport(0, 0, side, side)
		gl.UseProgram(slowly(t))
		big, err := tensor.New(in.stream, layout.Uint32, 1024, 1024)
		require.NoError(t, err)
		defer big.Release()
		for first := range uint32(3) {
			gl.BindBufferBase(gl.SHADER_STORAGE_BUFFER, 0, b.Name())
			gl.Uniform1ui(0, first)
			gl.DrawArrays(gl.TRIANGLES, 0, 3)

			x := acquire(t, b)
			turned, err := x.Transpose(1, 0)
			require.NoError(t, err)
			copied, err := turned.Clone()
			require.NoError(t, err)
			busy(t, big)
			require.NoError(t, x.CopyFrom(copied))
			for _, one := range []*tensor.Tensor{turned, copied} {
				require.NoError(t, one.Release())
			}
			require.NoError(t, b.Release())
			got := get(b.Name(), 4*side*side)
			for i := range uint32(side * side) {
				require.Equal(t, first+i%side*side+i/side, binary.LittleEndian.Uint32(got[4*i:]))
			}
		}
	})
}

// busy gives the stream some milliseconds of work.
func busy(t *testing.T, big *tensor.Tensor) {
	t.Helper()
	turned, err := big.Transpose(1, 0)
	require.NoError(t, err)
	for range 4 {
		again, err := turned.Clone()
		require.NoError(t, err)
		require.NoError(t, again.Release())
	}
	require.NoError(t, turned.Release())
}

// Work of other streams is done before GL reads, too, except where the host copies.
func TestOtherStreams(t *testing.T) {
	eachWay(t, func(t *testing.T, in *Interop) {
		if in.Way() == Staged {
			t.Skip("the stream's own work is what the copy follows")
		}
		other, err := tensor.NewStream(in.stream.Device())
		require.NoError(t, err)
		big, err := tensor.New(other, layout.Uint32, 1024, 1024)
		require.NoError(t, err)
		b := newBuffer(t, in, device.GLReadWrite, layout.Uint8, 4096)
		for value := range byte(3) {
			x := acquire(t, b)
			ready, err := in.stream.Queue().Record()
			require.NoError(t, err)
			require.NoError(t, other.Queue().WaitFor(ready))
			busy(t, big)
			require.NoError(t, other.Queue().Fill(x.Operand(), []byte{value}))
			require.NoError(t, b.Release())
			require.Equal(t, bytes.Repeat([]byte{value}, 4096), get(b.Name(), 4096))
		}
		require.NoError(t, errors.Join(big.Release(), other.Close()))
	})
}
