package gputest

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu"
)

// UserKernels tests that a device runs kernels of the user's. load returns one of
//
//	scale(float *y, offset, strides, const float *x, offset, extents, strides, float by)
//
// of matrices, which the items of a grid of two axes scale, and
//
//	turned(uint *y [, local memory])
//
// which turns the words of each block around by way of local memory, in OpenCL a
// parameter. Both devices are closed by the end of the test.
func UserKernels(t *testing.T, dev, other device.Device, load func(dev device.Device, name string) (device.Kernel, error)) {
	scale, err := load(dev, "scale")
	require.NoError(t, err)
	assert.Equal(t, "scale", scale.Name())
	q := Queue(t, dev)
	x, y := Matrix(Alloc(t, dev, 256), []int64{3, 2}, []int64{1, 4}), Matrix(Alloc(t, dev, 256), []int64{3, 2}, []int64{2, 1})
	words := make([]byte, 256)
	for i := range 64 {
		binary.LittleEndian.PutUint32(words[4*i:], math.Float32bits(float32(i)))
	}
	require.NoError(t, q.Write(x.Buffer, 0, words))
	args := func(by any) []any { return []any{y, 5, 2, 1, device.Strided(x), by} }
	require.NoError(t, q.Launch(scale, device.Grid{3}, device.Grid{1, 2}, args(float32(10))...))
	// In order: the copy sees what the kernel wrote, and its buffer may be freed.
	require.NoError(t, x.Buffer.Free())
	require.NoError(t, q.Copy(Words(y.Buffer, 20, 6), Words(y.Buffer, 5, 6)))
	got := Read(t, q, y.Buffer)[80:104]
	for i, want := range []float32{0, 40, 10, 50, 20, 60} {
		assert.Equal(t, want, math.Float32frombits(binary.LittleEndian.Uint32(got[4*i:])), i)
	}

	turned, err := load(dev, "turned")
	require.NoError(t, err)
	room := []any{device.Local(4 * 32)}
	w := Alloc(t, dev, 4*64)
	require.NoError(t, q.Write(w, 0, words))
	require.NoError(t, q.Launch(turned, device.Grid{2}, device.Grid{32}, append([]any{w}, room...)...))
	got = Read(t, q, w)
	for i := range 64 {
		assert.Equal(t, words[4*(i/32*32+31-i%32):][:4], got[4*i:][:4], i)
	}

	x = Matrix(Alloc(t, dev, 256), []int64{3, 2}, []int64{1, 4})
	require.NoError(t, q.Write(x.Buffer, 0, words))
	freed, foreign := Alloc(t, dev, 64), Alloc(t, other, 64)
	require.NoError(t, freed.Free())
	theirs, err := load(other, "scale")
	require.NoError(t, err)
	closed, err := load(dev, "scale")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	require.ErrorIs(t, closed.Close(), device.ErrClosed)
	host, err := cpu.Open()
	require.NoError(t, err)
	defer func() { require.NoError(t, host.Close()) }()
	before := dev.Stats().Launches
	one := device.Grid{1}
	for says, err := range map[string]error{
		"Launch of kernel \"scale\": 4 arguments, which fill 4 parameters; the kernel has 11": q.Launch(scale, one, one, y, 5, 2, 1),
		"argument 6": q.Launch(scale, one, one, append(args(float32(1)), 1)...),
		"is one too many: the kernel has 11 parameters": q.Launch(scale, one, one, append(args(float32(1)), 1)...),
		"is an int":                                 q.Launch(scale, one, one, args(1)...),
		"is float64":                                q.Launch(scale, one, one, args(1.5)...),
		"is a string: want a tensor":                q.Launch(scale, one, one, "x"),
		"is a <nil>":                                q.Launch(scale, one, one, nil),
		"is float32, which that is not":             q.Launch(scale, one, one, float32(1)),
		"is memory, which that is not":              q.Launch(scale, one, one, y, 5, y),
		"which 4 bytes do not hold":                 q.Launch(scale, one, one, y, 5, 1<<40),
		"is int32 of 4 bytes":                       q.Launch(scale, one, one, y, int32(5)),
		"argument 0, a buffer of size 64, is freed": q.Launch(scale, one, one, append([]any{freed}, args(float32(1))[1:]...)...),
		"argument 0 is a buffer of another device":  q.Launch(scale, one, one, append([]any{foreign}, args(float32(1))[1:]...)...),
		"argument 0 is a <nil>, which is no buffer": q.Launch(scale, one, one, append([]any{device.Operand{}}, args(float32(1))[1:]...)...),
		"the kernel is another device's":            q.Launch(theirs, one, one, args(float32(1))...),
		"the kernel is closed":                      q.Launch(closed, one, one, args(float32(1))...),
		"the kernel is a <nil>":                     q.Launch(nil, one, one),
		"a block of 65536 by 65536 by 1 threads":    q.Launch(scale, one, device.Grid{1 << 16, 1 << 16}, args(float32(1))...),
		"a block of 0 by 1 by 1 threads has none":   q.Launch(scale, one, device.Grid{}, args(float32(1))...),
		"a block of 1 by 0 by 2 threads has none":   q.Launch(scale, device.Grid{}, device.Grid{1, 0, 2}, args(float32(1))...),
		"a buffer of size 64, is freed":             q.Launch(scale, device.Grid{}, one, append([]any{freed}, args(float32(1))[1:]...)...),
	} {
		require.ErrorIs(t, err, device.ErrInvalid, says)
		assert.ErrorContains(t, err, says)
	}
	was := Read(t, q, y.Buffer)
	for _, none := range []device.Grid{{}, {0, 3}, {3, 0, 2}} { // no blocks: nothing runs
		require.NoError(t, q.Launch(scale, none, device.Grid{1, 2}, args(float32(1))...), none)
	}
	assert.Equal(t, before, dev.Stats().Launches)
	spoil(t, q, w)
	require.ErrorContains(t, q.Launch(turned, device.Grid{1}, device.Grid{32}, append([]any{w}, room...)...), "index 100 is outside")
	require.ErrorContains(t, q.Launch(scale, one, one, append([]any{w}, args(float32(1))[1:]...)...), "index 100 is outside")
	require.NoError(t, q.Launch(scale, one, one, args(float32(1))...))
	require.NoError(t, q.Write(w, 0, words))
	require.NoError(t, q.Launch(turned, device.Grid{1}, device.Grid{32}, append([]any{w}, room...)...))
	require.NoError(t, q.Wait())
	require.Equal(t, was, Read(t, q, y.Buffer))
	if r, ok := any(q).(device.Recorder); ok {
		_, err = r.Capture(func() error { return q.Launch(scale, one, one, args(float32(1))...) })
		require.Error(t, err, "a capture has no kernels of the user's")
	}
	require.NoError(t, turned.Close())
	require.NoError(t, dev.Close())
	require.ErrorIs(t, scale.Close(), device.ErrClosed)
	require.ErrorIs(t, q.Launch(scale, one, one), device.ErrClosed)
	var none *gpu.Kernel
	q = Queue(t, other)
	require.ErrorIs(t, q.Launch(none, one, one), device.ErrInvalid)
	require.NoError(t, other.Close())
}
