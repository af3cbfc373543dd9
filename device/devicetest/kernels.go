package devicetest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// Kernels tests that a device runs kernels of the user's (device.Launcher), also in captures.
// load returns one of
//
//	scale(float *y, long offset, int strides[2], const float *x, long offset, int extents[2], long strides[2], float by)
//
// of matrices, whose parameters are numbers and not arrays, and which the items of a grid of two
// axes scale, and
//
//	turned(uint *y [, local memory])
//
// which reverses the words of each block through local memory, in OpenCL a parameter. Both
// devices are closed by the end of the test.
func Kernels(t *testing.T, dev, other device.Device, load func(dev device.Device, name string) (device.Kernel, error)) {
	u := userKernels{rig: rig{T: t, dev: dev}.fork(t), other: other, load: load}
	var ok bool
	u.launcher, ok = device.As[device.Launcher](u.q)
	require.True(t, ok)
	u.words = make([]byte, 256)
	for i := range 64 {
		binary.LittleEndian.PutUint32(u.words[4*i:], math.Float32bits(float32(i)))
	}
	u.scale, u.turned = u.kernel(dev, "scale"), u.kernel(dev, "turned")
	assert.Equal(t, "scale", u.scale.Name())
	u.x, u.y = u.matrix(1, 4), u.matrix(2, 1)
	u.w = u.buffer(u.words)
	u.scales()
	u.turns()

	u.x = u.matrix(1, 4)
	before, was := dev.Stats().Launches, u.bytes(u.y.Buffer)
	u.refusals()
	for _, none := range []device.Dim3{{}, {0, 3}, {3, 0, 2}} { // no blocks: nothing runs
		require.NoError(t, u.launcher.Launch(u.scale, none, device.Dim3{1, 2}, u.args(float32(1))...), none)
	}
	assert.Equal(t, before, dev.Stats().Launches)
	require.Equal(t, was, u.bytes(u.y.Buffer))
	u.wrongBuffers()
	if recorder, ok := device.As[device.Recorder](u.q); ok {
		u.captures(recorder)
	}
	u.closes()
}

// userKernels is shared by the parts of Kernels.
type userKernels struct {
	rig
	other         device.Device
	load          func(dev device.Device, name string) (device.Kernel, error)
	launcher      device.Launcher
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

// matrix returns one of 3 by 2 floats in a new buffer.
func (u *userKernels) matrix(down, right int64) device.Operand {
	return operand(u.buffer(u.words), layout.Float32, strided([]int64{3, 2}, []int64{down, right}, 0))
}

// args are arguments of scale.
func (u *userKernels) args(by any) []any { return []any{u.y, 5, 2, 1, device.Strided(u.x), by} }

// on returns the same arguments with another y.
func (u *userKernels) on(y any) []any { return append([]any{y}, u.args(float32(1))[1:]...) }

// turn launches turned.
func (u *userKernels) turn(blocks uint32) error {
	return u.launcher.Launch(u.turned, device.Dim3{blocks}, device.Dim3{32}, u.w, device.Local(4*32))
}

// rescale launches scale.
func (u *userKernels) rescale(by float32) error {
	return u.launcher.Launch(u.scale, device.Dim3{3}, device.Dim3{1, 2}, u.args(by)...)
}

// move copies the result of scale behind it.
func (u *userKernels) move() error {
	words := func(from int64) device.Operand { return operand(u.y.Buffer, layout.Uint32, dense(from, 6)) }
	return u.q.Copy(words(20), words(5))
}

// moved checks the result of scale, where move copied it.
func (u *userKernels) moved(by float32) {
	u.Helper()
	got := u.bytes(u.y.Buffer)[80:104]
	for i, x := range []float32{0, 4, 1, 5, 2, 6} {
		assert.Equal(u, x*by, math.Float32frombits(binary.LittleEndian.Uint32(got[4*i:])), i)
	}
}

func (u *userKernels) scales() {
	require.NoError(u, u.rescale(10))
	// In order: the copy sees what the kernel wrote, and its buffer may be freed.
	require.NoError(u, u.x.Buffer.Free())
	require.NoError(u, u.move())
	u.moved(10)
}

func (u *userKernels) turns() {
	require.NoError(u, u.turn(2))
	assert.Equal(u, u.reversed(2), u.bytes(u.w))
	require.NoError(u, u.q.Write(u.w, 0, u.words))
}

// reversed is what turned makes of the first blocks of words.
func (u *userKernels) reversed(blocks int) []byte {
	want := bytes.Clone(u.words)
	for i := range 32 * blocks {
		copy(want[4*i:][:4], u.words[4*(i/32*32+31-i%32):])
	}
	return want
}

func (u *userKernels) refusals() {
	launch := u.launcher.Launch
	foreign, err := u.other.Alloc(64)
	require.NoError(u, err)
	freed := u.buffer(make([]byte, 64))
	require.NoError(u, freed.Free())
	closed := u.kernel(u.dev, "scale")
	require.NoError(u, closed.Close())
	require.ErrorIs(u, closed.Close(), device.ErrClosed)
	one := device.Dim3{1}
	refused := map[string]error{
		"Launch of kernel \"scale\": 4 arguments, which fill 4 parameters; the kernel has 11": launch(u.scale, one, one, u.y, 5, 2, 1),
		"argument 6": launch(u.scale, one, one, append(u.args(float32(1)), 1)...),
		"is one too many: the kernel has 11 parameters": launch(u.scale, one, one, append(u.args(float32(1)), 1)...),
		"is an int":                  launch(u.scale, one, one, u.args(1)...),
		"is float64":                 launch(u.scale, one, one, u.args(1.5)...),
		"is a string: want a tensor": launch(u.scale, one, one, "x"),
		"is a <nil>":                 launch(u.scale, one, one, nil),
		"is the access to a int, which is not mem":  launch(u.scale, one, one, device.ReadOnly(3)),
		"is float32, which that is not":             launch(u.scale, one, one, float32(1)),
		"is memory, which that is not":              launch(u.scale, one, one, u.y, 5, u.y),
		"is int32 of 4 bytes":                       launch(u.scale, one, one, u.y, int32(5)),
		"argument 0, a buffer of size 64, is freed": launch(u.scale, one, one, u.on(freed)...),
		"argument 0 is a buffer of another":         launch(u.scale, one, one, u.on(foreign)...),
		"argument 0 is a <nil>, which is no":        launch(u.scale, one, one, u.on(device.Operand{})...),
		"the kernel is closed":                      launch(closed, one, one, u.args(float32(1))...),
		"the kernel is a <nil>":                     launch(nil, one, one),
		"a block of 0 by 1 by 1 threads has none":   launch(u.scale, one, device.Dim3{}, u.args(float32(1))...),
		"a block of 1 by 0 by 2 threads has none":   launch(u.scale, device.Dim3{}, device.Dim3{1, 0, 2}, u.args(float32(1))...),
		"a buffer of size 64, is freed":             launch(u.scale, device.Dim3{}, one, u.on(freed)...),
	}
	if far := int64(1) << 40; int64(int(far)) == far { // an int has 64 bits
		refused["which 4 bytes do not hold"] = launch(u.scale, one, one, u.y, 5, int(far))
	}
	if u.dev.Info().Backend != "cpu" { // whose kernels are no device's, and whose blocks have no bound
		refused["the kernel is another device's"] = launch(u.kernel(u.other, "scale"), one, one, u.args(float32(1))...)
		refused["a block of 65536 by 65536 by 1 threads"] = launch(u.scale, one, device.Dim3{1 << 16, 1 << 16}, u.args(float32(1))...)
	}
	for says, err := range refused {
		require.ErrorIs(u, err, device.ErrInvalid, says)
		assert.ErrorContains(u, err, says)
	}
}

// spoil makes w depend on an index out of range. False: the device finds that at once.
func (u *userKernels) spoil() bool {
	at := u.buffer(bytes.Repeat([]byte{100, 0, 0, 0}, 64))
	err := u.take(at)
	require.NoError(u, at.Free())
	if err != nil {
		require.ErrorIs(u, err, device.ErrInvalid)
		require.NoError(u, u.q.Write(u.w, 0, u.words))
	}
	return err == nil
}

// take sets w to bytes of x, which indices name.
func (u *userKernels) take(at device.Buffer) error {
	src := operand(u.x.Buffer, layout.Uint32, strided([]int64{64}, []int64{0}, 0))
	return u.q.Take(operand(u.w, layout.Uint32, dense(0, 64)), src, operand(at, layout.Int32, dense(0, 64)), layout.Index{Extent: 64, Stride: 1})
}

// wrongBuffers launches a kernel on a buffer that depends on an index out of range, and again
// after it is overwritten.
func (u *userKernels) wrongBuffers() {
	if !u.spoil() {
		return
	}
	one := device.Dim3{1}
	require.ErrorContains(u, u.turn(1), "index 100 is outside")
	require.ErrorContains(u, u.launcher.Launch(u.scale, one, one, u.on(u.w)...), "index 100 is outside")
	require.ErrorContains(u, u.launcher.Launch(u.scale, one, one, u.on(device.ReadOnly(u.w))...), "index 100 is outside")
	require.NoError(u, u.launcher.Launch(u.scale, one, one, u.args(float32(1))...))
	require.NoError(u, u.launcher.Launch(u.scale, device.Dim3{3, 2}, one, u.on(device.Overwritten(operand(u.w, layout.Float32, dense(5, 6))))...))
	require.NoError(u, u.q.Read(make([]byte, 24), u.w, 20), "what the kernel has overwritten")
	require.ErrorContains(u, u.q.Read(make([]byte, 4), u.w, 44), "index 100 is outside")
	require.NoError(u, u.q.Write(u.w, 0, u.words))
	require.NoError(u, u.turn(1))
	require.NoError(u, u.q.Wait())
}

// captures replays kernels among other work.
func (u *userKernels) captures(recorder device.Recorder) {
	before, was := u.dev.Stats(), u.bytes(u.y.Buffer)
	own := u.kernel(u.dev, "scale")
	u.scale, own = own, u.scale
	r, err := recorder.Capture(func() error { return errors.Join(u.rescale(3), u.move()) })
	if errors.Is(err, device.ErrUnsupported) {
		u.scale = own
		return
	}
	require.NoError(u, err)
	assert.Equal(u, before.Launches, u.dev.Stats().Launches, "nothing has run")
	require.Equal(u, was, u.bytes(u.y.Buffer))
	// The capture keeps the kernel and the buffers.
	require.NoError(u, u.scale.Close())
	require.ErrorIs(u, u.rescale(1), device.ErrClosed)
	u.scale = own
	for range 2 {
		require.NoError(u, u.q.Fill(operand(u.y.Buffer, layout.Uint8, dense(0, 256)), []byte{1}))
		require.NoError(u, r.Run())
		u.moved(3)
	}
	assert.Equal(u, before.Launches+2*3, u.dev.Stats().Launches)
	require.NoError(u, r.Close())

	one := device.Dim3{1}
	for says, args := range map[string][]any{"the kernel has 11": {}, "is a <nil>": {nil}} {
		_, err = recorder.Capture(func() error { return u.launcher.Launch(u.scale, one, one, args...) })
		require.ErrorIs(u, err, device.ErrInvalid)
		assert.ErrorContains(u, err, says)
	}
	u.wrongReplays(recorder)
}

// wrongReplays replays kernels on what depends on an index out of range: one from before the run,
// and one of the run itself.
func (u *userKernels) wrongReplays(recorder device.Recorder) {
	r, err := recorder.Capture(func() error { return u.turn(1) })
	require.NoError(u, err)
	if u.spoil() {
		require.ErrorContains(u, r.Run(), "index 100 is outside")
		require.NoError(u, u.q.Write(u.w, 0, u.words))
	}
	require.NoError(u, r.Run())
	require.Equal(u, u.reversed(1), u.bytes(u.w))
	require.NoError(u, r.Close())

	// What the kernels say that they read and overwrite is right again after the next run.
	at, z := u.buffer(make([]byte, 256)), u.matrix(2, 1)
	z.Layout = dense(0, 3, 2)
	r, err = recorder.Capture(func() error {
		return errors.Join(u.take(at), u.turn(2), u.launcher.Launch(u.scale, device.Dim3{3, 2}, device.Dim3{1},
			device.Overwritten(z), 0, 2, 1, device.ReadOnly(device.Strided(u.x)), float32(1)))
	})
	require.NoError(u, err)
	for i, wrong := range []bool{false, true, false, true, true, false} {
		indices := make([]byte, 256)
		for k := range 64 {
			indices[4*k] = byte(k)
		}
		if wrong {
			indices[4*9] = 77
		}
		require.NoError(u, u.q.Write(at, 0, indices))
		err := r.Run()
		if err == nil {
			err = u.q.Read(make([]byte, 4), u.w, 0)
		}
		require.Equal(u, u.words, u.bytes(u.x.Buffer), "which is only read")
		if wrong {
			require.ErrorContains(u, err, "index 77 is outside", i)
			continue
		}
		require.NoError(u, err, i)
		require.Equal(u, u.reversed(2), u.bytes(u.w), i)
		require.Equal(u, u.words[16:20], u.bytes(z.Buffer)[4:8], i)
	}
	require.NoError(u, r.Close())
}

func (u *userKernels) closes() {
	one := device.Dim3{1}
	require.NoError(u, u.turned.Close())
	require.NoError(u, u.dev.Close())
	require.ErrorIs(u, u.launcher.Launch(u.scale, one, one), device.ErrClosed)
	require.NoError(u, u.other.Close())
}
