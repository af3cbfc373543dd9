//go:build gogl

package gl

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/go-gl/gl/v4.3-core/gl"
	"github.com/stretchr/testify/require"

	_ "github.com/restride/restride/cuda"
	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/gl/headless"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/opencl"
	"github.com/restride/restride/tensor"
)

// current makes a context current for a test, which fails if it leaves a GL error.
func current(t *testing.T) *headless.Context {
	t.Helper()
	c, err := headless.New()
	devicetest.Require(t, "gl", err)
	t.Cleanup(func() {
		require.NoError(t, failed("the test"))
		require.NoError(t, c.Close())
	})
	require.NoError(t, initialize(c.ProcAddress))
	return c
}

// open returns a stream of a device for a test, which must release everything.
func open(t *testing.T, name string) *tensor.Stream { return openWith(t, name, device.Open) }

func openWith(t *testing.T, name string, open func(name string) (device.Device, error)) *tensor.Stream {
	t.Helper()
	dev, err := open(name)
	driver, index, _ := strings.Cut(name, ":")
	if errors.Is(err, device.ErrUnsupported) || errors.Is(err, device.ErrNoDevice) && index == "1" {
		t.Skip(err)
	}
	devicetest.Require(t, driver, err)
	s, err := tensor.NewStream(dev)
	require.NoError(t, err)
	tensor.CheckLeaks(t, s)
	t.Cleanup(func() { require.NoError(t, errors.Join(s.Close(), dev.Close())) })
	return s
}

// openShared opens a device for sharing with the current context: OpenCL's contexts are made
// for that.
func openShared(name string) (device.Device, error) {
	index, isOpenCL := strings.CutPrefix(name, "opencl:")
	if !isOpenCL {
		return device.Open(name)
	}
	current, err := opencl.CurrentGL()
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(index)
	if err != nil {
		return nil, err
	}
	return opencl.OpenWith(n, opencl.Options{GL: current})
}

var devices = []string{"cpu", "opencl:0", "opencl:1", "cuda:0"}

// eachWay runs a test with every device of the machine, by each of its ways.
func eachWay(t *testing.T, f func(t *testing.T, in *Interop)) {
	for _, name := range devices {
		for way := Shared; way <= Staged; way++ {
			t.Run(fmt.Sprintf("%s/%v", name, way), func(t *testing.T) {
				current(t)
				opened := device.Open
				if way == Shared {
					opened = openShared
				}
				in, err := New(openWith(t, name, opened), Options{Require: way})
				if errors.Is(err, device.ErrUnsupported) {
					t.Skip(err)
				}
				require.NoError(t, err)
				require.Equal(t, way, in.Way())
				f(t, in)
			})
		}
	}
}

// newBuffer is NewBuffer, for a test.
func newBuffer(t *testing.T, in *Interop, use device.GLUse, of layout.DType, dims ...int64) *Buffer {
	t.Helper()
	b, err := in.NewBuffer(use, of, dims...)
	require.NoError(t, err)
	t.Cleanup(func() {
		if !b.closed {
			require.NoError(t, b.Close())
		}
	})
	return b
}

// set and get are GL's own access to a buffer.
func set(name uint32, data []byte) {
	bound(gl.COPY_WRITE_BUFFER, name, func() { gl.BufferSubData(gl.COPY_WRITE_BUFFER, 0, len(data), unsafe.Pointer(&data[0])) })
}

func get(name uint32, n int) []byte {
	data := make([]byte, n)
	bound(gl.COPY_READ_BUFFER, name, func() { gl.GetBufferSubData(gl.COPY_READ_BUFFER, 0, n, unsafe.Pointer(&data[0])) })
	return data
}

// numbered returns bytes that identify their places.
func numbered(n int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i ^ i>>8*37)
	}
	return data
}

func acquire(t *testing.T, b *Buffer) *tensor.Tensor {
	t.Helper()
	x, err := b.Acquire()
	require.NoError(t, err)
	return x
}
