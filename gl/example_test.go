//go:build gogl

package gl_test

import (
	"fmt"
	"os"
	"testing"

	opengl "github.com/go-gl/gl/v4.3-core/gl"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/gl"
	"github.com/restride/restride/gl/headless"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/opencl"
	"github.com/restride/restride/tensor"
)

// The pixels of a texture as planes of colours.
func Example() {
	c := must(headless.New()) // or a window's context: its thread is locked
	defer c.Close()
	s := must(tensor.Open("cpu"))
	defer s.Close()
	in := must(gl.New(s, gl.Options{ProcAddress: c.ProcAddress}))

	var texture uint32
	opengl.GenTextures(1, &texture)
	opengl.BindTexture(opengl.TEXTURE_2D, texture)
	opengl.TexStorage2D(opengl.TEXTURE_2D, 1, opengl.RGBA8, 2, 1)
	opengl.TexSubImage2D(opengl.TEXTURE_2D, 0, 0, 0, 2, 1, opengl.RGBA, opengl.UNSIGNED_BYTE, opengl.Ptr([]byte{10, 20, 30, 255, 11, 21, 31, 255}))

	frame := must(in.NewBuffer(device.GLRead, layout.Uint8, 1, 2, 4)) // height, width, channels
	check(frame.FromTexture(texture, 0))
	x := must(frame.Acquire())
	planes := must(x.Transpose(2, 0, 1)) // a view
	fmt.Println(in.Way(), planes.Shape(), must(tensor.Values[uint8](planes)))
	check(planes.Release())
	check(frame.Release()) // it is GL's again
	check(frame.Close())
	// prints: mapped [4,1,2] [10 11 20 21 30 31 255 255]
}

// An OpenCL device that shares buffers with the current context. It is compiled, and not run:
// not every driver can.
func Example_shared() {
	current := must(opencl.CurrentGL())
	dev := must(opencl.OpenWith(0, opencl.Options{GL: current}))
	s := must(tensor.NewStream(dev))

	check(s.Close())
}

// The example ends the test binary if it fails.
func TestExample(t *testing.T) {
	c, err := headless.New()
	devicetest.Require(t, "gl", err)
	require.NoError(t, c.Close())
	stdout := os.Stdout
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	os.Stdout = w
	defer func() { os.Stdout = stdout }()
	Example()
	require.NoError(t, w.Close())
	said := make([]byte, 100)
	n, err := r.Read(said)
	require.NoError(t, err)
	source, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	assert.Contains(t, string(source), "// prints: "+string(said[:n]))
}

func must[T any](x T, err error) T {
	check(err)
	return x
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
