package opencl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/internal/gpu/gputest"
)

const userSource = `
	kernel void scale(global float *y, long yOff, int y0, int y1, global const float *x, long xOff, int xRows, int xCols,
		long x0, long x1, float by) {
		size_t i = get_global_id(0), j = get_global_id(1);
		y[yOff + i*y0 + j*y1] = by * x[xOff + i*x0 + j*x1];
	}
	kernel void turned(global uint *y, local uint *room) {
		uint i = get_local_id(0), n = get_local_size(0);
		room[i] = y[get_global_id(0)];
		barrier(CLK_LOCAL_MEM_FENCE);
		y[get_global_id(0)] = room[n - 1 - i];
	}
	typedef struct { int a; float b; } Pair;
	kernel void kinds(global int *y, char c, ushort s, int4 four, Pair p, constant int *table) {
		y[0] = c, y[1] = s, y[2] = four.w, y[3] = p.a, y[4] = (int)p.b, y[5] = table[1];
	}`

func TestUserKernels(t *testing.T) {
	devicetest.Kernels(t, openTest(t, Options{}), openTest(t, Options{}), func(dev device.Device, name string) (device.Kernel, error) {
		return dev.(*Device).Compile(userSource, name, "")
	})
}

func TestCompileKinds(t *testing.T) {
	dev := openTest(t, Options{})
	k, err := dev.Compile(userSource, "kinds", "-cl-std=CL1.2")
	require.NoError(t, err)
	q, y, table := gputest.Queue(t, dev), gputest.Alloc(t, dev, 64), gputest.Alloc(t, dev, 64)
	require.NoError(t, q.Write(table, 0, []byte{1, 0, 0, 0, 7, 0, 0, 0}))
	require.NoError(t, q.Launch(k, device.Dim3{1}, device.Dim3{1}, y, -3, uint16(65535), make([]byte, 16), []byte{4, 0, 0, 0, 0, 0, 0x80, 0x40}, table))
	got := gputest.Read(t, q, y)
	assert.Equal(t, []byte{0xfd, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 7, 0, 0, 0}, got[:24])
	for says, args := range map[string][]any{
		"argument 1 for parameter 1, char c, is an int of value 200, which 1 bytes do not hold":   {y, 200},
		"argument 2 for parameter 2, ushort s, is int32 of 4 bytes; the parameter has 2":          {y, 1, int32(1)},
		"argument 3 for parameter 3, int4 four, is []byte of 4 bytes; the parameter has 16":       {y, 1, 1, []byte{1, 2, 3, 4}},
		"argument 4 for parameter 4, Pair p, is an int, and the driver does not tell of how many": {y, 1, 1, make([]byte, 16), 5},
		"argument 5 for parameter 5, int* table, is float32, which that is not":                   {y, 1, 1, make([]byte, 16), make([]byte, 8), float32(1)},
		"argument 5 for parameter 5, int* table, is local memory, which that is not":              {y, 1, 1, make([]byte, 16), make([]byte, 8), device.Local(4)},
	} {
		err := q.Launch(k, device.Dim3{1}, device.Dim3{1}, args...)
		require.ErrorIs(t, err, device.ErrInvalid)
		assert.ErrorContains(t, err, says)
	}
}

func TestCompileErrors(t *testing.T) {
	dev := openTest(t, Options{})
	_, err := dev.Compile("kernel void f(global int *x) { x[0] = \x1b[31m nonsense; }", "f", "")
	require.ErrorIs(t, err, device.ErrDriver)
	var failed *device.DriverError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, "CL_BUILD_PROGRAM_FAILURE", failed.Name)
	assert.ErrorContains(t, err, "Compile of kernel \"f\": clBuildProgram: CL_BUILD_PROGRAM_FAILURE (-11)\n")
	assert.ErrorContains(t, err, "error")
	assert.NotContains(t, err.Error(), "\x1b")
	_, err = dev.Compile(userSource, "scales", "")
	require.ErrorIs(t, err, device.ErrInvalid)
	assert.ErrorContains(t, err, `the source has no such kernel; it has ["`)
	for _, c := range [][3]string{{userSource, "", ""}, {userSource, "f\x00", ""}, {userSource, "f", "\x00"}} {
		_, err = dev.Compile(c[0], c[1], c[2])
		require.ErrorIs(t, err, device.ErrInvalid)
	}
	_, err = dev.Compile("", "f", "")
	require.Error(t, err)
	require.NoError(t, dev.Close())
	_, err = dev.Compile(userSource, "scale", "")
	require.ErrorIs(t, err, device.ErrClosed)
}

func TestLibrary(t *testing.T) {
	openTest(t, Options{})
	path, handle, err := Library()
	require.NoError(t, err)
	assert.NotEmpty(t, path)
	assert.NotZero(t, handle)
}
