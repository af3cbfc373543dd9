package gputest

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
// which reverses the words of each block through local memory, in OpenCL a parameter. Both
// devices are closed by the end of the test.
func UserKernels(t *testing.T, dev, other device.Device, load func(dev device.Device, name string) (device.Kernel, error)) {
	u := userKernels{T: t, dev: dev, other: other, load: load, q: Queue(t, dev), words: make([]byte, 256)}
	for i := range 64 {
		binary.LittleEndian.PutUint32(u.words[4*i:], math.Float32bits(float32(i)))
	}
	u.scale, u.turned = u.kernel(dev, "scale"), u.kernel(dev, "turned")
	assert.Equal(t, "scale", u.scale.Name())
	u.x, u.y = Matrix(Alloc(t, dev, 256), []int64{3, 2}, []int64{1, 4}), Matrix(Alloc(t, dev, 256), []int64{3, 2}, []int64{2, 1})
	u.w = Alloc(t, dev, 256)
	u.scales()
	u.turns()

	u.x = Matrix(Alloc(t, dev, 256), []int64{3, 2}, []int64{1, 4})
	require.NoError(t, u.q.Write(u.x.Buffer, 0, u.words))
	before, was := dev.Stats().Launches, Read(t, u.q, u.y.Buffer)
	u.refusals()
	for _, none := range []device.Dim3{{}, {0, 3}, {3, 0, 2}} { // no blocks: nothing runs
		require.NoError(t, u.q.Launch(u.scale, none, device.Dim3{1, 2}, u.args(float32(1))...), none)
	}
	assert.Equal(t, before, dev.Stats().Launches)
	u.wrongBuffers()
	require.Equal(t, was, Read(t, u.q, u.y.Buffer))
	u.captures()
	u.closes()
}

// userKernels is shared by the parts of UserKernels.
type userKernels struct {
	*testing.T
	dev, other    device.Device
	load          func(dev device.Device, name string) (device.Kernel, error)
	q             *gpu.Queue
	scale, turned device.Kernel
	x, y          device.Operand // matrices that scale reads and writes
	w             device.Buffer  // words that turned reverses
	words         []byte         // 64 floats
}

func (u *userKernels) kernel(of device.Device, name string) device.Kernel {
	k, err := u.load(of, name)
	require.NoError(u, err)
	return k
}

// args are arguments of scale.
func (u *userKernels) args(by any) []any { return []any{u.y, 5, 2, 1, device.Strided(u.x), by} }

// on returns the same arguments with another y.
func (u *userKernels) on(y any) []any { return append([]any{y}, u.args(float32(1))[1:]...) }

// turn launches turned.
func (u *userKernels) turn(blocks uint32) error {
	return u.q.Launch(u.turned, device.Dim3{blocks}, device.Dim3{32}, u.w, device.Local(4*32))
}

func (u *userKernels) scales() {
	require.NoError(u, u.q.Write(u.x.Buffer, 0, u.words))
	require.NoError(u, u.q.Launch(u.scale, device.Dim3{3}, device.Dim3{1, 2}, u.args(float32(10))...))
	// In order: the copy sees what the kernel wrote, and its buffer may be freed.
	require.NoError(u, u.x.Buffer.Free())
	require.NoError(u, u.q.Copy(Words(u.y.Buffer, 20, 6), Words(u.y.Buffer, 5, 6)))
	got := Read(u, u.q, u.y.Buffer)[80:104]
	for i, want := range []float32{0, 40, 10, 50, 20, 60} {
		assert.Equal(u, want, math.Float32frombits(binary.LittleEndian.Uint32(got[4*i:])), i)
	}
}

func (u *userKernels) turns() {
	require.NoError(u, u.q.Write(u.w, 0, u.words))
	require.NoError(u, u.turn(2))
	got := Read(u, u.q, u.w)
	for i := range 64 {
		assert.Equal(u, u.words[4*(i/32*32+31-i%32):][:4], got[4*i:][:4], i)
	}
}

func (u *userKernels) refusals() {
	freed, foreign := Alloc(u, u.dev, 64), Alloc(u, u.other, 64)
	require.NoError(u, freed.Free())
	theirs, closed := u.kernel(u.other, "scale"), u.kernel(u.dev, "scale")
	require.NoError(u, closed.Close())
	require.ErrorIs(u, closed.Close(), device.ErrClosed)
	one := device.Dim3{1}
	for says, err := range map[string]error{
		"Launch of kernel \"scale\": 4 arguments, which fill 4 parameters; the kernel has 11": u.q.Launch(u.scale, one, one, u.y, 5, 2, 1),
		"argument 6": u.q.Launch(u.scale, one, one, append(u.args(float32(1)), 1)...),
		"is one too many: the kernel has 11 parameters": u.q.Launch(u.scale, one, one, append(u.args(float32(1)), 1)...),
		"is an int":                                 u.q.Launch(u.scale, one, one, u.args(1)...),
		"is float64":                                u.q.Launch(u.scale, one, one, u.args(1.5)...),
		"is a string: want a tensor":                u.q.Launch(u.scale, one, one, "x"),
		"is a <nil>":                                u.q.Launch(u.scale, one, one, nil),
		"is float32, which that is not":             u.q.Launch(u.scale, one, one, float32(1)),
		"is memory, which that is not":              u.q.Launch(u.scale, one, one, u.y, 5, u.y),
		"which 4 bytes do not hold":                 u.q.Launch(u.scale, one, one, u.y, 5, 1<<40),
		"is int32 of 4 bytes":                       u.q.Launch(u.scale, one, one, u.y, int32(5)),
		"argument 0, a buffer of size 64, is freed": u.q.Launch(u.scale, one, one, u.on(freed)...),
		"argument 0 is a buffer of another device":  u.q.Launch(u.scale, one, one, u.on(foreign)...),
		"argument 0 is a <nil>, which is no buffer": u.q.Launch(u.scale, one, one, u.on(device.Operand{})...),
		"the kernel is another device's":            u.q.Launch(theirs, one, one, u.args(float32(1))...),
		"the kernel is closed":                      u.q.Launch(closed, one, one, u.args(float32(1))...),
		"the kernel is a <nil>":                     u.q.Launch(nil, one, one),
		"a block of 65536 by 65536 by 1 threads":    u.q.Launch(u.scale, one, device.Dim3{1 << 16, 1 << 16}, u.args(float32(1))...),
		"a block of 0 by 1 by 1 threads has none":   u.q.Launch(u.scale, one, device.Dim3{}, u.args(float32(1))...),
		"a block of 1 by 0 by 2 threads has none":   u.q.Launch(u.scale, device.Dim3{}, device.Dim3{1, 0, 2}, u.args(float32(1))...),
		"a buffer of size 64, is freed":             u.q.Launch(u.scale, device.Dim3{}, one, u.on(freed)...),
	} {
		require.ErrorIs(u, err, device.ErrInvalid, says)
		assert.ErrorContains(u, err, says)
	}
}

// wrongBuffers launches a kernel on a buffer that depends on an index out of range, and again
// after it is overwritten.
func (u *userKernels) wrongBuffers() {
	one := device.Dim3{1}
	spoil(u, u.q, u.w)
	require.ErrorContains(u, u.turn(1), "index 100 is outside")
	require.ErrorContains(u, u.q.Launch(u.scale, one, one, u.on(u.w)...), "index 100 is outside")
	require.NoError(u, u.q.Launch(u.scale, one, one, u.args(float32(1))...))
	require.NoError(u, u.q.Write(u.w, 0, u.words))
	require.NoError(u, u.turn(1))
	require.NoError(u, u.q.Wait())
}

func (u *userKernels) captures() {
	if r, ok := any(u.q).(device.Recorder); ok {
		_, err := r.Capture(func() error {
			return u.q.Launch(u.scale, device.Dim3{1}, device.Dim3{1}, u.args(float32(1))...)
		})
		require.Error(u, err, "a capture has no kernels of the user's")
	}
}

func (u *userKernels) closes() {
	one := device.Dim3{1}
	require.NoError(u, u.turned.Close())
	require.NoError(u, u.dev.Close())
	require.ErrorIs(u, u.scale.Close(), device.ErrClosed)
	require.ErrorIs(u, u.q.Launch(u.scale, one, one), device.ErrClosed)
	var none *gpu.Kernel
	require.ErrorIs(u, Queue(u, u.other).Launch(none, one, one), device.ErrInvalid)
	require.NoError(u, u.other.Close())
}
